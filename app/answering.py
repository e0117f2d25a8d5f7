"""Who answers what a page asks: the model in this process, or the service of ``perfmodel app --server``.

Pages ask ``answering()`` and do not know which it is; the session's own hardware and files go along.
"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import streamlit as st

from app import bounded, layout_work, quote_work, searches, session_hardware, walks
from app.goal_keywords import keywords_of
from app.search_worker import Searched, counted
from perfmodel.core.errors import InputError
from perfmodel.decide.comparison import Comparison, case_of, compare
from perfmodel.decide.planning import Goal
from perfmodel.decide.planning.caveats import harder
from perfmodel.decide.quote import Checked, Quote
from perfmodel.hardware.catalogue.store import Catalogue
from perfmodel.interfaces.api.layouts import Layouts
from perfmodel.interfaces.api.predict import predicted
from perfmodel.interfaces.calls import learning_rate, stragglers
from perfmodel.interfaces.cli.app import SERVER, TOKEN
from perfmodel.interfaces.client import Client, ServiceError
from perfmodel.interfaces.client.connection import refusal_of
from perfmodel.interfaces.command import Command, Context
from perfmodel.interfaces.function import request_of
from perfmodel.model.collectives.place import Point
from perfmodel.model.options.conditions import Conditions
from perfmodel.model.options.scenario import Scenario
from perfmodel.model.prediction import Prediction, predict
from perfmodel.model.prediction.collectives.collective import Collective, algorithms, collective
from perfmodel.model.prediction.training.learning_rates import LearningRates
from perfmodel.model.prediction.training.stragglers import Stragglers


class Compared(NamedTuple):
    """Jobs side by side."""

    comparison: Comparison
    predictions: dict[str, Prediction]
    """By the names of the jobs, in order."""


class Answering:
    """Answers of the model in this process; an InputError says why there is none."""

    place = ""
    """Where they come from, for who keeps them: the address of a service."""

    def __init__(self, catalogue: Catalogue) -> None:
        """Take the hardware to choose from."""
        self.catalogue = catalogue

    def predict(self, scenario: Scenario) -> Prediction:
        """Return a prediction."""
        return predict(scenario, self.catalogue)

    def answer(self, one: Command, given: Mapping[str, Any]) -> Any:
        """Return the answer of a command of the register, whose fields were given."""
        return one.run(request_of(one, (), given), Context(self.catalogue))

    def predict_each(self, scenarios: Sequence[Scenario]) -> list[Prediction]:
        """Return a prediction of each scenario."""
        return [self.predict(each) for each in scenarios]

    def to_target(self, scenario: Scenario, recipe: str) -> tuple[Prediction, dict[str, Any] | None]:
        """Return a prediction, and the time to the target of a recipe."""
        answer = predicted(scenario, self.catalogue, recipe=recipe)
        return answer.prediction, answer.time_to_target

    def explain(self, scenario: Scenario) -> Any:
        """Return the equations of a prediction."""
        from perfmodel.decide.explanations import explain

        return explain(scenario, self.catalogue)

    def compare(self, scenarios: Mapping[str, Scenario], conditions: Conditions) -> Compared:
        """Return jobs side by side, by their names."""
        cases = [case_of(name, each, self.catalogue, conditions) for name, each in scenarios.items()]
        return Compared(compare(cases), {case.name: case.prediction for case in cases})

    def sensitivity(self, scenario: Scenario, conditions: Conditions) -> Any:
        """Return what ``perfmodel sensitivity --json`` prints."""
        question = (repr(scenario), repr(conditions), *session_hardware.own_texts())
        return bounded.answer(question, walks.work(scenario, self.catalogue, conditions))

    def check_quote(self, quote: Quote, calibration: str | None) -> list[Checked]:
        """Return the claims of a quote with their verdicts, by a file of one's own calibration."""
        work = quote_work.work(quote, self.catalogue, calibration)
        if work.is_quick:
            return work.call(*work.arguments)  # type: ignore[no-any-return]
        answer: list[Checked] = bounded.answer((repr(quote), *session_hardware.own_texts()), work)
        return answer

    def layouts(self, **options: Any) -> Layouts:
        """Return layouts of a transformer, as ``perfmodel.layouts`` does; quick ones are not kept."""
        work = layout_work.work(options, self.catalogue)
        if work.is_quick:
            with bounded.slot():
                return work.call(*work.arguments)  # type: ignore[no-any-return]
        answer: Layouts = bounded.answer((repr(options), *session_hardware.own_texts()), work)
        return answer

    def plan(self, goal: Goal) -> Searched:
        """Return what ``perfmodel plan --json`` prints, with what is said of its convergence."""
        return searches.answer((repr(goal), *session_hardware.own_texts()), goal, self.catalogue)

    def collective(
        self, name: str, fabric: Point, options: Mapping[str, Any], sizes: Sequence[float]
    ) -> list[Collective]:
        """Return a collective as its library runs it, at each message size [B].

        Parameters
        ----------
        fabric : where its ranks lie
        options : that say the same, by the parameters of ``perfmodel.collective``
        """
        return [collective(name, "auto", fabric, size) for size in sizes]

    def collective_times(
        self,
        name: str,
        fabric: Point,
        options: Mapping[str, Any],
        sizes: Sequence[float],
        wanted: Sequence[str],
    ) -> dict[str, list[float]]:
        """Return its time at each size [s] by every wanted algorithm that the ranks can use."""
        able = algorithms(name, fabric)
        return {known: [float(able[known](size)) for size in sizes] for known in wanted if known in able}

    def stragglers(self, **options: Any) -> Stragglers:
        """Return every variant of SGD, as ``perfmodel.stragglers`` does."""
        answer: Stragglers = stragglers(**options)
        return answer

    def learning_rate(self, *sizes: float, **options: Any) -> LearningRates:
        """Return rates, as ``perfmodel.learning_rate`` does."""
        return learning_rate(*sizes, **options)  # type: ignore[arg-type]  # it checks what they are


class _AnsweringByService(Answering):
    """Answers of a service; that it does not answer is an InputError too."""

    def __init__(self, catalogue: Catalogue, client: Client) -> None:
        """Take the hardware that lists offer, and where to ask."""
        super().__init__(catalogue)
        self._client, self.place = client, client.url

    def predict(self, scenario: Scenario) -> Prediction:
        return self._client.predict(scenario)

    def answer(self, one: Command, given: Mapping[str, Any]) -> Any:
        return self._client.answer_of(one.name, given)

    def predict_each(self, scenarios: Sequence[Scenario]) -> list[Prediction]:
        rows = self._client.predict_many(scenarios)
        for row in rows:
            if "error" in row:
                raise refusal_of(row.error)
        return [Prediction.model_validate(row) for row in rows]

    def to_target(self, scenario: Scenario, recipe: str) -> tuple[Prediction, dict[str, Any] | None]:
        answer = self._client.predicted(scenario, recipe=recipe)
        return answer.prediction, answer.time_to_target

    def explain(self, scenario: Scenario) -> Any:
        return self._client.explain(scenario)

    def compare(self, scenarios: Mapping[str, Scenario], conditions: Conditions) -> Compared:
        jobs = list(scenarios.values())
        comparison = self._client.compare(*jobs, names=list(scenarios), conditions=conditions)
        return Compared(comparison, dict(zip(scenarios, self.predict_each(jobs), strict=True)))

    def sensitivity(self, scenario: Scenario, conditions: Conditions) -> Any:
        with st.spinner("Changing every input ..."):
            return self._client.sensitivity(scenario, conditions=conditions)

    def check_quote(self, quote: Quote, calibration: str | None) -> list[Checked]:
        with st.spinner("Checking every claim ..."):
            answer: Any = self._client.check_quote(quote, calibration=calibration)  # of one quote
            return list(answer.claims)

    def layouts(self, **options: Any) -> Layouts:
        return self._client.layouts(**options)

    def plan(self, goal: Goal) -> Searched:
        with st.spinner("Trying every machine, count and batch ..."):
            answer = self._client.plan(**keywords_of(goal), conditions=goal.conditions).report()
        chosen, target = answer["chosen"], answer["target"]
        if target is not None:
            lines = [counted(chosen, target)] if chosen else []
        else:
            published = goal.by_id(self.catalogue).published()
            lines = harder(published, chosen, answer["fastest"], answer["front"], goal.budget is not None)
        return Searched(answer | {"convergence": lines}, None)

    def collective(
        self, name: str, fabric: Point, options: Mapping[str, Any], sizes: Sequence[float]
    ) -> list[Collective]:
        asked: Any = {"name": name, "size": list(sizes), **options}
        return list(self._client.collective(**asked).rows)

    def collective_times(
        self,
        name: str,
        fabric: Point,
        options: Mapping[str, Any],
        sizes: Sequence[float],
        wanted: Sequence[str],
    ) -> dict[str, list[float]]:
        able = algorithms(name, fabric)
        return {
            known: [row.time for row in self.collective(name, fabric, {**options, "algorithm": known}, sizes)]
            for known in wanted
            if known in able
        }

    def stragglers(self, **options: Any) -> Stragglers:
        answer: Stragglers = self._client.stragglers(**options)
        return answer

    def learning_rate(self, *sizes: float, **options: Any) -> LearningRates:
        return self._client.learning_rate(*sizes, **options)  # type: ignore[arg-type]


class _Asked(Client):
    """A client whose every mistake is one that pages show."""

    def ask(self, command: str, body: Mapping[str, Any]) -> Any:
        """Return what the service answers."""
        try:
            return super().ask(command, body)
        except ServiceError as error:
            raise InputError(str(error)) from None


def answering() -> Answering:
    """Return who answers this session."""
    server, catalogue = os.environ.get(SERVER), session_hardware.catalogue()
    if server is None:
        return Answering(catalogue)
    client = _Asked(server, token=os.environ.get(TOKEN), specs=session_hardware.tables())
    return _AnsweringByService(catalogue, client)
