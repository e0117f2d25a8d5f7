"""The calls of ``import perfmodel``, each of which asks a service and returns what the function does."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from pkgutil import resolve_name
from typing import TYPE_CHECKING, Any

from perfmodel.core.errors import InputError
from perfmodel.core.files.tables import Report
from perfmodel.core.records.arguments import NUMBER, TABLE, TEXT, expect
from perfmodel.interfaces.calls import Calls
from perfmodel.interfaces.client.bodies import body_of, conditions_of, scenario_options
from perfmodel.interfaces.client.connection import Connection, refusal_of
from perfmodel.interfaces.client.files import Files
from perfmodel.interfaces.function import request_of
from perfmodel.interfaces.register import command
from perfmodel.model.options.keywords import scenario_from
from perfmodel.model.options.scenario import AnyScenario, Scenario, options_of
from perfmodel.model.prediction import Prediction

if TYPE_CHECKING:
    from typing import Unpack

    from perfmodel.decide.planning.fleets import Fleets
    from perfmodel.evidence.traces.answer import TraceSummary
    from perfmodel.interfaces.api.predict import Predicted
    from perfmodel.model.options.conditions import Conditions
    from perfmodel.model.options.keywords import SizedOptions
    from perfmodel.model.prediction.scaling import Scaling

    AnyConditions = Conditions | Mapping[str, Any] | None


class Client(Calls):
    """A service elsewhere, asked as ``import perfmodel`` is.

    Every call takes what the function of its name takes, but ``catalogue`` and ``constants``, and returns
    the same.  Files that options name are read on this machine and travel with the request.  One client may
    serve several threads; each has a connection of its own, which stays open.

    Parameters
    ----------
    url : where the service listens, e.g. ``http://127.0.0.1:8080``
    token : bearer token, where the service takes one
    timeout : seconds to wait for an answer
    specs : hardware of your own, as tables: ``{"links": {"mine": {...}}}``

    Raises
    ------
    InputError : no such address; of its methods, what the function would refuse
    ServiceError : of its methods: nobody answers, or not to this request

    Examples
    --------
    >>> client = Client("http://127.0.0.1:8080")
    >>> client.predict(workload="vgg16", gpus=8)  # doctest: +SKIP
    """

    def __init__(
        self,
        url: str,
        *,
        token: str | None = None,
        timeout: float = 60.0,
        specs: Mapping[str, Any] | None = None,
    ) -> None:
        """Take the address; nothing is sent yet."""
        expect(TEXT, url=url)
        expect(TEXT.or_none, token=token)
        expect(NUMBER, timeout=timeout)
        expect(TABLE.or_none, specs=specs)
        self.url, self._specs = url, specs
        self._connection = Connection(url, token, timeout)

    def predict(
        self,
        scenario: AnyScenario | None = None,
        *,
        confidence: float | None = None,
        **options: Unpack[SizedOptions],
    ) -> Prediction:
        """Return what ``perfmodel.predict`` does."""
        job = scenario_from(scenario, options)
        return Prediction.model_validate(self._of_scenario("predict", job, confidence=confidence))

    def predicted(
        self,
        scenario: AnyScenario | None = None,
        *,
        target: bool = False,
        recipe: str | None = None,
        tokens: float | None = None,
        loss: float | None = None,
        conditions: AnyConditions = None,
        confidence: float | None = None,
    ) -> Predicted:
        """Return a prediction with what is asked beside it: time to a target, to a loss, and money."""
        from perfmodel.interfaces.api.predict import BESIDE, Predicted

        beside = {"time_to_target": target or None, "recipe": recipe, "tokens": tokens, "time_to_loss": loss}
        beside["confidence"] = confidence
        answer = self._of_scenario(
            "predict", scenario_from(scenario, {}), **beside, conditions=conditions_of(conditions)
        )
        extras = {name: answer.pop(name, None) for name in BESIDE}
        extras |= {} if confidence is None else {"confidence": confidence}
        return Predicted(Prediction.model_validate(answer), **extras)

    def predict_many(
        self, scenarios: Iterable[AnyScenario], fields: Sequence[str] | None = None
    ) -> list[Report]:
        """Return a report of each scenario, in one request; of a bad one ``error``.

        Parameters
        ----------
        fields : keys to send; by default all of a prediction
        """
        files = Files()
        rows = [
            scenario_options(each, files)
            if isinstance(each, Scenario)
            else body_of(files.of_scenario(options_of(each)))  # which the service looks at: it may be bad
            for each in scenarios
        ]
        answer = self._asked("predict", files, scenarios=rows, fields=fields and list(fields))
        return [Report(each) for each in answer["results"]]

    def predict_each(self, scenarios: Sequence[AnyScenario]) -> list[Prediction]:
        """Return the predictions of several scenarios, in order and in one request."""
        results = self.predict_many(scenarios)
        for each in results:
            if "error" in each:
                raise refusal_of(each.error)
        return [Prediction.model_validate(each) for each in results]

    def scale(self, scenario: AnyScenario | None = None, **options: Any) -> Scaling:
        """Return what ``perfmodel.scale`` does: a prediction of each row, which the answer to it lacks."""
        from perfmodel.model.prediction.scaling import scaling_of

        request: Any = request_of(command("scale"), (scenario,), options)
        return scaling_of(request.jobs(), self.predict_each)

    def fleets(self, have: str, buy: str | Sequence[str] = (), **options: Any) -> Fleets:
        """Return what ``perfmodel.fleets`` does."""
        from perfmodel.interfaces.commands.plan import ONE_OF

        several = {many: options.pop(one) for many, one in ONE_OF.items() if one in options}
        return self.plan(have=have, buy=buy, **several, **options)

    def trace_summary(  # type: ignore[override]  # files one after another
        self, *files: str | Path, **options: Any
    ) -> TraceSummary:
        """Return what ``perfmodel.trace_summary`` does of files or folders of this machine."""
        answer: TraceSummary = self.answer_of("trace summary", {"traces": files, **options})
        return answer

    workloads = Calls.networks  # as /v1 calls it

    def answer_of(self, name: str, given: Mapping[str, Any]) -> Any:
        """Return the answer to a command of the register, whose fields were given.

        Raises
        ------
        InputError : what the function would refuse
        """
        one, files = command(name), Files()
        request = one.request(**given)  # refuses here what needs no service
        answer = self._asked(one.path, files, **files.of_request(one.request, given))
        if one.of_client:
            return resolve_name(one.of_client)(answer)
        return _typed(one.answer, answer) if one.read is None else one.read(answer, request)

    def ask(self, command: str, body: Mapping[str, Any]) -> Any:
        """Return what a command answers to a body, which is sent as it is.

        Raises
        ------
        InputError : the command cannot be answered so; the service's words
        ServiceError : nobody answers, or not to this request
        """
        import json

        return json.loads(self._connection.post(command, json.dumps(body).encode()))

    def _of_scenario(self, command: str, scenario: Scenario, **beside: Any) -> Any:
        files = Files()
        return self._asked(command, files, **scenario_options(scenario, files), **beside)

    def _asked(self, command: str, files: Files, **options: Any) -> Any:
        """Ask with the files and the hardware of this machine; None leaves an option out."""
        body = body_of(options)
        if files.contents:
            body["files"] = files.contents
        if self._specs is not None:
            body["specs"] = dict(self._specs)
        try:
            return files.in_answer(self.ask(command, body))
        except InputError as error:
            raise InputError(
                *(replace(each, said=files.in_answer(each.said)) for each in error.problems)
            ) from None


def _typed(kind: Any, table: Any) -> Any:
    import json

    from pydantic import TypeAdapter

    return TypeAdapter(kind).validate_json(json.dumps(table))  # of Python, a date is no text
