"""``perfmodel.Client``: the calls of ``import perfmodel``, answered by a service elsewhere."""

from __future__ import annotations

import http.client
import json
import os
import threading
import time
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from perfmodel.arguments import NUMBER, TABLE, TEXT, expect
from perfmodel.errors import InputError
from perfmodel.prediction import Prediction
from perfmodel.specs.keywords import scenario_from
from perfmodel.specs.scenario import AnyScenario, Scenario

if TYPE_CHECKING:
    from typing import Unpack

    from perfmodel.api.collective import Collectives
    from perfmodel.api.layouts import Layouts
    from perfmodel.api.scale import Scaling
    from perfmodel.comparison import Comparison
    from perfmodel.equations.sgd_variants import StragglerPrediction
    from perfmodel.explanations.equations import Explanation
    from perfmodel.planning.fleets import Fleets
    from perfmodel.prediction.collective import Collective
    from perfmodel.prediction.learning_rates import LearningRates
    from perfmodel.sensitivity.until import Enough
    from perfmodel.specs.keywords import Options, SizedOptions

ATTEMPTS = 4
"""Of a request that a full service turns away."""
LONGEST_WAIT = 10.0
"""Seconds between two of them."""
NAMING_FILES = ("workload", "profile", "calibration")
"""Options of a scenario that may name a file of this machine, which then travels with the request."""
OF_SEVERAL = {
    "strategy": "strategies",
    "algorithm": "algorithms",
    "precision": "precisions",
    "local_batch_size": "local_batch_sizes",
}
"""What a plan may choose from, and a fleet has one of."""
_ENDINGS = (".csv", ".json")
"""Of files of networks, which are text."""


class ServiceError(Exception):
    """The service did not answer, or not to this request; ``status`` is that of HTTP, None without any."""

    def __init__(self, message: str, status: int | None = None) -> None:
        """Take what happened, and the status of the answer."""
        super().__init__(message)
        self.status = status


class Report(dict[str, Any]):
    """An answer by its keys, which are attributes too."""

    def __getattr__(self, name: str) -> Any:
        if name not in self:
            raise AttributeError(f"the answer has no {name}; it has {', '.join(self)}")
        return self[name]

    def to_json(self) -> str:
        """Return what the command prints with ``--json``."""
        return json.dumps(self)


class Client:
    """A service elsewhere, asked as ``import perfmodel`` is.

    Files that options name are read on this machine and travel with the request.  One client may serve
    several threads; each has a connection of its own, which stays open.

    Parameters
    ----------
    url : where the service listens, e.g. ``http://127.0.0.1:8080``
    token : bearer token, where the service takes one
    timeout : seconds to wait for an answer
    specs : hardware of your own, as tables: ``{"links": {"mine": {...}}}``

    Raises
    ------
    InputError : no such address; of its methods, what the command would refuse
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
        if token is not None and not (token.isascii() and token.isprintable()):
            raise InputError("token: expected printable letters of ASCII, on one line")
        if not timeout > 0:
            raise InputError(f"timeout = {timeout!r}: expected seconds above 0")
        try:
            parts = urlsplit(url)
            self._place = (parts.hostname or "", parts.port)
        except ValueError:
            raise InputError(f"{url!r:.99}: expected an address such as http://127.0.0.1:8080") from None
        if parts.scheme not in ("http", "https") or not parts.hostname:
            raise InputError(f"{url!r:.99}: expected an address such as http://127.0.0.1:8080")
        self.url, self._secure, self._path = url, parts.scheme == "https", parts.path.rstrip("/")
        self._token, self._timeout, self._specs = token, timeout, specs
        self._own = threading.local()

    def predict(self, scenario: AnyScenario | None = None, **options: Unpack[SizedOptions]) -> Prediction:
        """Return what ``perfmodel.predict`` does."""
        return Prediction.model_validate(self.ask("predict", self._body(scenario_from(scenario, options))))

    def predict_many(
        self, scenarios: Iterable[AnyScenario], fields: Sequence[str] | None = None
    ) -> list[Report]:
        """Return a report of each scenario, in one request; of a bad one ``error``.

        Parameters
        ----------
        fields : keys to send; by default all of a prediction
        """
        body: dict[str, Any] = {"scenarios": [_options(scenario_from(each, {})) for each in scenarios]}
        if fields is not None:
            body["fields"] = list(fields)
        return [Report(each) for each in self.ask("predict", self._with_specs(body))["results"]]

    def scale(
        self, scenario: AnyScenario | None = None, *, gpus: Iterable[int] = (), **options: Unpack[Options]
    ) -> Scaling:
        """Return what ``perfmodel.scale`` does."""
        from perfmodel.api.scale import COUNTS, scaling_of

        counts = [each.item() if hasattr(each, "item") else each for each in gpus] or list(COUNTS)
        body = self._body(scenario_from(scenario, options))
        files = body.pop("files", None)
        body.pop("specs", None)
        rows = [{**body, "world_size": count} for count in counts]
        asked = self._with_specs({"scenarios": rows} | ({"files": files} if files else {}))
        results = self.ask("predict", asked)["results"]
        for each in results:
            if "error" in each:
                raise InputError(each["error"]["detail"])
        return scaling_of(counts, tuple(map(Prediction.model_validate, results)))

    def compare(
        self,
        *scenarios: AnyScenario,
        names: Sequence[str] | None = None,
        conditions: Mapping[str, Any] | None = None,
    ) -> Comparison:
        """Return what ``perfmodel.compare`` does; ``conditions`` are a table."""
        from perfmodel.comparison import Comparison

        body = {"scenarios": [_options(scenario_from(each, {})) for each in scenarios]}
        given = {"names": None if names is None else list(names), "conditions": conditions}
        return Comparison.model_validate(self._asked("compare", **body, **given))

    def collective(self, name: str = "all-reduce", **options: Any) -> Collective | Collectives:
        """Return what ``perfmodel.collective`` does."""
        from perfmodel.api.collective import Collectives
        from perfmodel.prediction.collective import Collective

        answer = self._asked("collective", name=name, **options)
        if isinstance(answer, list):
            return Collectives(tuple(map(Collective.model_validate, answer)))
        return Collective.model_validate(answer)

    def layouts(self, workload: str, **options: Any) -> Layouts:
        """Return what ``perfmodel.layouts`` does."""
        from perfmodel.api.layouts import Layouts

        answer = dict(self._asked("layouts", workload=workload, **options))
        answer["rows"] = answer.pop("layouts")
        return _typed(Layouts, answer)  # type: ignore[no-any-return]

    def stragglers(
        self, variant: str = "all", **options: Any
    ) -> list[StragglerPrediction] | StragglerPrediction:
        """Return the rows of ``perfmodel.stragglers``, or its answer of one variant."""
        from perfmodel.equations.sgd_variants import StragglerPrediction

        answer = self._asked("stragglers", variant=variant, **options)
        kind: Any = list[StragglerPrediction] if isinstance(answer, list) else StragglerPrediction
        return _typed(kind, answer)  # type: ignore[no-any-return]

    def learning_rate(
        self, base: float = 0.1, base_batch: int = 256, global_batch_size: int = 256, **options: Any
    ) -> LearningRates:
        """Return what ``perfmodel.learning_rate`` does."""
        from perfmodel.prediction.learning_rates import LearningRates

        given = {"base": base, "base_batch": base_batch, "global_batch_size": global_batch_size}
        return _typed(LearningRates, self._asked("learning-rate", **given, **options))  # type: ignore[no-any-return]

    def explain(
        self,
        scenario: AnyScenario | None = None,
        conditions: Mapping[str, Any] | None = None,
        **options: Unpack[SizedOptions],
    ) -> Explanation:
        """Return what ``perfmodel.explain`` does; ``conditions`` are a table."""
        from perfmodel.explanations.equations import Explanation

        body = self._body(scenario_from(scenario, options))
        return _typed(Explanation, self.ask("explain", _given(body, conditions=conditions)))  # type: ignore[no-any-return]

    def sensitivity(
        self,
        scenario: AnyScenario | None = None,
        conditions: Mapping[str, Any] | None = None,
        **options: Unpack[SizedOptions],
    ) -> Report:
        """Return what ``perfmodel sensitivity --json`` prints; ``conditions`` are a table."""
        body = self._body(scenario_from(scenario, options))
        return Report(self.ask("sensitivity", _given(body, conditions=conditions)))

    def enough(
        self,
        vary: str,
        scenario: AnyScenario | None = None,
        *,
        until: float | str | None = None,
        values: Sequence[int | str] | None = None,
        **options: Unpack[SizedOptions],
    ) -> Enough:
        """Return what ``perfmodel.enough`` does."""
        from perfmodel.sensitivity.until import Enough

        asked = {"vary": vary, "until": until, "values": None if values is None else list(values)}
        body = self._body(scenario_from(scenario, options))
        return Enough.model_validate(self.ask("sensitivity", _given(body, **asked)))

    def sweep(self, **options: Any) -> Report:
        """Return what ``perfmodel sweep --json`` prints: ``rows``, ``scenarios``, ``refused``, ``notes``."""
        return Report(self._asked("sweep", **options))

    def plan(self, workload: str = "resnet50", **options: Any) -> Report:
        """Return what ``perfmodel plan --json`` prints, of the parameters of ``perfmodel.plan``."""
        return Report(self._asked("plan", workload=workload, **options))

    def fleets(self, have: str, buy: str | Sequence[str] = (), **options: Any) -> Fleets:
        """Return what ``perfmodel.fleets`` does; ``conditions`` are a table."""
        from perfmodel.planning.fleets import Fleets

        wanted = [buy] if isinstance(buy, str) else list(buy)
        several = {many: [options.pop(one)] for one, many in OF_SEVERAL.items() if one in options}
        return Fleets.model_validate(self._asked("plan", have=have, buy=wanted, **several, **options))

    def check_quote(self, quote: str | Mapping[str, Any]) -> Report:
        """Return what ``perfmodel check-quote --json`` prints, of a quote's table or an example's name."""
        return Report(self._asked("check-quote", quote=quote))

    def trace_summary(self, *files: str | Path, **options: Any) -> Report:
        """Return what ``perfmodel trace summary --json`` prints of files of this machine, which are text."""
        traces = {Path(file).name: _text(file) for file in files}
        return Report(self._asked("trace/summary", traces=traces, **options))

    def validate(self, kind: str = "training", **options: Any) -> Report:
        """Return what ``perfmodel validate --json`` prints."""
        return Report(self.ask("validate", _given({"kind": kind}, **options)))

    def specs(self, kind: str = "accelerators", name: str | None = None) -> Any:
        """Return what ``perfmodel specs list --json`` prints, or of a name ``specs show``."""
        return self._asked("specs", kind=kind, name=name)

    def workloads(self, word: str | None = None, **options: Any) -> Any:
        """Return what ``perfmodel workloads list --json`` prints, or of ``name=`` ``workloads show``."""
        return self._asked("workloads", word=word, **options)

    def ask(self, command: str, body: Mapping[str, Any]) -> Any:
        """Return what a command answers to a body.

        Raises
        ------
        InputError : the command cannot be answered so; the service's words
        ServiceError : nobody answers, or not to this request
        """
        content = json.dumps(body).encode()
        for attempt in range(ATTEMPTS):
            status, headers, answer = self._sent(f"{self._path}/v1/{command}", content)
            if status not in (429, 503) or attempt == ATTEMPTS - 1:
                break
            time.sleep(min(_seconds(headers.get("retry-after")) * 2**attempt, LONGEST_WAIT))
        if status == 200:
            return json.loads(answer)
        detail = _detail(answer) or f"{self.url} answered {status}"
        raise InputError(detail) if status in (400, 422) else ServiceError(detail, status)

    def _asked(self, command: str, **options: Any) -> Any:
        return self.ask(command, self._with_specs(_given({}, **options)))

    def _with_specs(self, body: dict[str, Any]) -> dict[str, Any]:
        return body if self._specs is None else {**body, "specs": dict(self._specs)}

    def _body(self, scenario: Scenario) -> dict[str, Any]:
        """A scenario with the files of this machine that it names."""
        body, files = _options(scenario), dict[str, str]()
        for option in NAMING_FILES:
            value = body.get(option)
            if isinstance(value, str) and _is_file(option, value):
                body[option] = name = Path(value).name
                files[name] = _text(value)
        law, _, path = str(body.get("jitter", "")).partition(":")
        if law == "empirical" and path:
            path = path.removeprefix("file=")
            body["jitter"], files[Path(path).name] = f"empirical:{Path(path).name}", _text(path)
        return self._with_specs(body | ({"files": files} if files else {}))

    def _sent(self, path: str, content: bytes) -> tuple[int, dict[str, str], bytes]:
        """Send a body on this thread's connection, on a new one where the service has closed it."""
        headers = {"content-type": "application/json", "accept": "application/json"}
        if self._token is not None:
            headers["authorization"] = f"Bearer {self._token}"
        for last in (False, True):
            connection = self._connection(new=last)
            try:
                connection.request("POST", path, content, headers)
                response = connection.getresponse()
                body = response.read()
                return response.status, {name.lower(): value for name, value in response.getheaders()}, body
            except (OSError, http.client.HTTPException) as error:
                connection.close()
                if last or isinstance(error, TimeoutError):
                    raise ServiceError(f"{self.url}: no answer: {error or type(error).__name__}") from None
        raise AssertionError

    def _connection(self, new: bool) -> http.client.HTTPConnection:
        known: http.client.HTTPConnection | None = getattr(self._own, "connection", None)
        if known is None or new:
            kind = http.client.HTTPSConnection if self._secure else http.client.HTTPConnection
            known = self._own.connection = kind(*self._place, timeout=self._timeout)
        return known


def _options(scenario: Scenario) -> dict[str, Any]:
    return {
        name: value
        for name, value in scenario.model_dump(mode="json", exclude_unset=True).items()
        if value is not None
    }


def _given(body: dict[str, Any], **options: Any) -> dict[str, Any]:
    return body | {name: value for name, value in options.items() if value is not None}


def _is_file(option: str, value: str) -> bool:
    return option != "workload" or value.endswith(_ENDINGS) or os.sep in value


def _text(path: str | Path) -> str:
    from perfmodel.reading import read_text

    return read_text(path)


def _typed(kind: Any, table: Any) -> Any:
    from pydantic import TypeAdapter

    return TypeAdapter(kind).validate_python(table)


def _detail(answer: bytes) -> str:
    try:
        return str(json.loads(answer)["detail"])
    except (ValueError, KeyError, TypeError):
        return ""


def _seconds(text: str | None) -> float:
    try:
        return max(0.1, float(text or 1))
    except ValueError:
        return 1.0
