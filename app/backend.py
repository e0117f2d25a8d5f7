"""Backends that answer pages: the model in this process, or a service (``perfmodel app --server``).

Pages call ``backend()`` and do not know which it is; it includes the session's own hardware and files.
"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import streamlit as st

from app import bounded, layout_work, session_hardware
from perfmodel.core.errors import InputError
from perfmodel.core.records.options import Described
from perfmodel.hardware.catalogue.store import Catalogue
from perfmodel.interfaces.api.predict import predicted
from perfmodel.interfaces.calls import learning_rate, stragglers
from perfmodel.interfaces.cli.app import SERVER, TOKEN
from perfmodel.interfaces.client import Client, ServiceError
from perfmodel.interfaces.command import Command, Context
from perfmodel.interfaces.jobs import all_conditions, with_own
from perfmodel.model.collectives.place import Point
from perfmodel.model.options.conditions import Conditions
from perfmodel.model.options.scenario import Scenario
from perfmodel.model.prediction import Prediction, predict
from perfmodel.model.prediction.collectives.collective import Collective, algorithms, collective
from perfmodel.model.prediction.training.learning_rates import LearningRates
from perfmodel.model.prediction.training.stragglers import Stragglers

if TYPE_CHECKING:  # else loaded with the first page that asks
    from app.search_worker import PlanAnswer
    from perfmodel.decide.comparison import Comparison
    from perfmodel.decide.planning import Goal
    from perfmodel.decide.quote import Checked, Quote
    from perfmodel.interfaces.api.layouts import Layouts


class ComparisonAnswer(NamedTuple):
    """A comparison of jobs, with the prediction of each."""

    comparison: Comparison
    predictions: dict[str, Prediction]
    """Name of a job -> its prediction, in the order of the comparison."""


class Backend:
    """Answers by the model in this process; every method raises InputError for a wrong request."""

    place = ""
    """Address of the service that answers, for keys of caches; empty for this process."""

    def __init__(self, catalogue: Catalogue) -> None:
        """Answer with the hardware of a catalogue."""
        self.catalogue = catalogue

    def predict(self, scenario: Scenario) -> Prediction:
        """Return the prediction of a scenario."""
        return predict(scenario, self.catalogue)

    def answer(self, one: Command, given: Mapping[str, Any], request: Described) -> Any:
        """Return the answer of a registered command.

        Parameters
        ----------
        one : the command
        given : fields of its request, which a service gets
        request : the request that they make
        """
        return one.run(request, Context(self.catalogue))

    def predict_each(self, scenarios: Sequence[Scenario]) -> list[Prediction]:
        """Return the predictions of several scenarios, in order."""
        return [self.predict(each) for each in scenarios]

    def to_target(self, scenario: Scenario, recipe: str) -> tuple[Prediction, dict[str, Any] | None]:
        """Return the prediction of a scenario, and the table of its time to a recipe's target."""
        answer = predicted(scenario, self.catalogue, recipe=recipe)
        return answer.prediction, answer.time_to_target

    def explain(self, scenario: Scenario) -> Any:
        """Return the explanation of a prediction: its equations with numbers."""
        from perfmodel.decide.explanations import explain

        return explain(scenario, self.catalogue)

    def compare(
        self,
        scenarios: Mapping[str, Scenario],
        conditions: Conditions,
        own: Sequence[Mapping[str, Any]],
        confidence: float,
    ) -> ComparisonAnswer:
        """Return the comparison of scenarios, given by name, with their costs.

        Parameters
        ----------
        conditions, own : of all cases, and of each by itself
        confidence : as of ``compare``
        """
        from perfmodel.decide.comparison import case_of, compare

        under = all_conditions(own, conditions)
        cases = [
            case_of(name, each, self.catalogue, at)
            for (name, each), at in zip(scenarios.items(), under, strict=True)
        ]
        return ComparisonAnswer(compare(cases, confidence), {case.name: case.prediction for case in cases})

    def sensitivity(self, scenario: Scenario, conditions: Conditions) -> Any:
        """Return the sensitivity report of a scenario, as ``perfmodel sensitivity --json`` prints it."""
        from app import sensitivity_work

        question = (repr(scenario), repr(conditions), *session_hardware.own_texts())
        return bounded.answer(question, sensitivity_work.work(scenario, self.catalogue, conditions))

    def check_quote(self, quote: Quote, calibration: str | None) -> list[Checked]:
        """Return the claims of a quote with verdicts, by a user's calibration file if there is one."""
        from app import quote_work

        work = quote_work.work(quote, self.catalogue, calibration)
        if work.is_quick:
            return work.call(*work.arguments)  # type: ignore[no-any-return]
        answer: list[Checked] = bounded.answer((repr(quote), *session_hardware.own_texts()), work)
        return answer

    def layouts(self, **options: Any) -> Layouts:
        """Return the layouts of a transformer, as ``perfmodel.layouts``; quick searches are not cached."""
        work = layout_work.work(options, self.catalogue)
        if work.is_quick:
            with bounded.slot():
                return work.call(*work.arguments)  # type: ignore[no-any-return]
        answer: Layouts = bounded.answer((repr(options), *session_hardware.own_texts()), work)
        return answer

    def plan(self, goal: Goal) -> PlanAnswer:
        """Return the report of a search for plans."""
        from app import searches

        return searches.answer((repr(goal), *session_hardware.own_texts()), goal, self.catalogue)

    def collective(
        self, name: str, fabric: Point, options: Mapping[str, Any], sizes: Sequence[float]
    ) -> list[Collective]:
        """Return predictions of a collective by the library's own choice of algorithm, at each size [B].

        Parameters
        ----------
        fabric : placement of the ranks, as the model has it
        options : the same placement as parameters of ``perfmodel.collective``
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
        """Return the times at each size [s] of every wanted algorithm that the ranks can use."""
        able = algorithms(name, fabric)
        return {known: [float(able[known](size)) for size in sizes] for known in wanted if known in able}

    def stragglers(self, **options: Any) -> Stragglers:
        """Return the straggler predictions of all SGD variants, as ``perfmodel.stragglers`` does."""
        answer: Stragglers = stragglers(**options)
        return answer

    def learning_rate(self, *sizes: float, **options: Any) -> LearningRates:
        """Return learning rates by all rules, as ``perfmodel.learning_rate`` does."""
        return learning_rate(*sizes, **options)  # type: ignore[arg-type]  # it checks the types


class _ServiceBackend(Backend):
    """Answers by a service; raises InputError also if the service does not answer."""

    def __init__(self, catalogue: Catalogue, client: Client) -> None:
        """Answer by a client; the catalogue is for lists of hardware."""
        super().__init__(catalogue)
        self._client, self.place = client, client.url

    def predict(self, scenario: Scenario) -> Prediction:
        return self._client.predict(scenario)

    def answer(self, one: Command, given: Mapping[str, Any], request: Described) -> Any:
        return self._client.answer_of(one.name, given)

    def predict_each(self, scenarios: Sequence[Scenario]) -> list[Prediction]:
        return self._client.predict_each(scenarios)

    def to_target(self, scenario: Scenario, recipe: str) -> tuple[Prediction, dict[str, Any] | None]:
        answer = self._client.predicted(scenario, recipe=recipe)
        return answer.prediction, answer.time_to_target

    def explain(self, scenario: Scenario) -> Any:
        return self._client.explain(scenario)

    def compare(
        self,
        scenarios: Mapping[str, Scenario],
        conditions: Conditions,
        own: Sequence[Mapping[str, Any]],
        confidence: float,
    ) -> ComparisonAnswer:
        jobs = list(scenarios.values())
        asked = [with_own(*each) for each in zip(jobs, own, strict=True)]
        comparison = self._client.compare(
            *asked, names=list(scenarios), conditions=conditions, confidence=confidence
        )
        return ComparisonAnswer(comparison, dict(zip(scenarios, self.predict_each(jobs), strict=True)))

    def sensitivity(self, scenario: Scenario, conditions: Conditions) -> Any:
        with st.spinner("Changing every input ..."):
            return self._client.sensitivity(scenario, conditions=conditions)

    def check_quote(self, quote: Quote, calibration: str | None) -> list[Checked]:
        with st.spinner("Checking every claim ..."):
            answer: Any = self._client.check_quote(quote, calibration=calibration)  # of one quote
            return list(answer.claims)

    def layouts(self, **options: Any) -> Layouts:
        return self._client.layouts(**options)

    def plan(self, goal: Goal) -> PlanAnswer:
        from app.goal_keywords import keywords_of
        from app.search_worker import PlanAnswer

        with st.spinner("Trying every machine, count and batch ..."):
            answer = self._client.plan(**keywords_of(goal), conditions=goal.conditions).report()
        return PlanAnswer(answer, None)

    def collective(
        self, name: str, fabric: Point, options: Mapping[str, Any], sizes: Sequence[float]
    ) -> list[Collective]:
        body: Any = {"name": name, "size": list(sizes), **options}
        return list(self._client.collective(**body).rows)

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


class _PageClient(Client):
    """A client that raises every error as InputError, which pages show."""

    def ask(self, command: str, body: Mapping[str, Any]) -> Any:
        """Return the service's answer to a command; any failure is an InputError."""
        try:
            return super().ask(command, body)
        except ServiceError as error:
            raise InputError(str(error)) from None


def backend() -> Backend:
    """Return the backend of this session."""
    server, catalogue = os.environ.get(SERVER), session_hardware.catalogue()
    if server is None:
        return Backend(catalogue)
    client = _PageClient(server, token=os.environ.get(TOKEN), specs=session_hardware.tables())
    return _ServiceBackend(catalogue, client)
