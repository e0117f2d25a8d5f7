"""The register of what the service answers: a command's name, what it takes, what it answers, and how."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path
from typing import Any, Literal, NamedTuple

from perfmodel.core.candidates import TooManyCandidates, at_most
from perfmodel.core.errors import InputError
from perfmodel.core.files.attachments import content_of, only_attached
from perfmodel.decide.planning.fleets import Fleets
from perfmodel.hardware.catalogue.store import Catalogue
from perfmodel.interfaces.command import Command as Record
from perfmodel.interfaces.command import Context
from perfmodel.interfaces.commands import predict
from perfmodel.interfaces.http import body_of
from perfmodel.interfaces.register import commands
from perfmodel.interfaces.service import answer_types as types
from perfmodel.interfaces.service import answers, requests
from perfmodel.interfaces.service import other_requests as other
from perfmodel.interfaces.service.batches import BESIDE, error_row, is_batch, place_of_rows, rows_of
from perfmodel.interfaces.service.fewer import too_many
from perfmodel.interfaces.service.problems import Mistake, Refused, below, refused, shown
from perfmodel.interfaces.service.settings import Settings
from perfmodel.interfaces.service.shares import WHOLE, Share

LARGEST_CHEAP = 8192
"""Bytes of a body whose answer takes no longer than that of a line; more are specs, files or batches."""
LONGEST_NUMBER = 100
"""Letters of a number with a point or an exponent; 17 digits are read."""
Cost = Literal["cheap", "costly"]
"""cheap: under 5 ms, answered together with others; costly: in its turn, by a process of its own."""
SLOW_KEYS = frozenset({"specs", "files", "scenarios", "columns", "time_to_loss", "time_to_target", "recipe"})
"""Of a body whose answer is costly, whatever the command."""


class Command(NamedTuple):
    """One command of the service, at ``/v1/NAME``."""

    name: str
    summary: str
    request: Any
    """The record that a body is checked as."""
    answer: Any
    """The type of the answer: what ``--json`` prints."""
    function: Callable[[Any, Catalogue], bytes]
    """From a checked request to the JSON of its answer."""
    cost: Cost
    examples: Mapping[str, Mapping[str, Any]]
    """Bodies that are answered, by a word or two."""


_EXAMPLES: dict[str, dict[str, dict[str, Any]]] = json.loads(
    Path(__file__).with_name("examples.json").read_text("utf-8")
)
_SUMMARIES = (
    Command(
        "sweep",
        "Every combination of options given as lists.",
        other.SweepRequest,
        types.SweepAnswer,
        answers.sweep,
        "costly",
        _EXAMPLES["sweep"],
    ),
    Command(
        "plan",
        "What to hire: the cheapest in time, the fastest within budget, and why not others.",
        requests.PlanRequest,
        types.PlanAnswer | Fleets,
        answers.plan,
        "costly",
        _EXAMPLES["plan"],
    ),
)


def _of_record(one: Record) -> Command:
    """Return how the service answers a command of the register."""

    def answer(request: Any, catalogue: Catalogue) -> bytes:
        result = one.run(request, Context(catalogue))
        return answers.written(result) if one.table is None else answers.encoded(one.table(result, request))

    return Command(one.path, one.summary, body_of(one.request), one.answer_json, answer, one.cost, one.bodies)


COMMANDS: dict[str, Command] = {each.name: each for each in _SUMMARIES} | {
    one.path: _of_record(one) for one in commands() if "http" not in one.without
}


def answer(name: str, body: bytes, candidates: int = Settings.candidates, share: Share = WHOLE) -> bytes:
    """Return the JSON that a command answers to the body of a request: a pure function of both.

    No file of this machine is opened but those that come with the package, whatever the body says.

    Parameters
    ----------
    candidates : that searches and sweeps may try for it
    share : of the rows of a batch; of any other body the first share is the answer, the others are nothing

    Raises
    ------
    Refused : the body is no JSON, or not what the command takes; one that may be sent to another process
    """
    return answered(COMMANDS[name], table_of(body), candidates, share)


def is_cheap(command: Command, body: bytes) -> bool:
    """Whether an answer is most likely quick: a cheap command's that asks for nothing slow."""
    return (
        command.cost == "cheap" and len(body) <= LARGEST_CHEAP and not any(key in body for key in _SLOW_WORDS)
    )


_SLOW_WORDS = tuple(f'"{key}"'.encode() for key in sorted(SLOW_KEYS))


def answered(
    command: Command,
    table: dict[str, Any],
    candidates: int = Settings.candidates,
    share: Share = WHOLE,
) -> bytes:
    """Return the JSON that a command answers to a body that was read.

    Raises
    ------
    Refused : it is not what the command takes
    """
    try:
        with only_attached(files_of(table)), at_most(candidates):
            if command.name == "predict" and is_batch(table):
                return _results(command, table, share)
            if share.number:
                return b""
            request = command.request(**table)
            specs = getattr(request, "specs", None)
            catalogue = Catalogue.with_tables(specs) if specs else Catalogue.built_in()
            return command.function(request, catalogue)
    except InputError as error:
        raise refused(error, table, command.request) from None
    except TooManyCandidates as error:
        raise too_many(error, command.name, table) from None
    except (MemoryError, RecursionError) as error:
        words = "too large a job for this service" if isinstance(error, MemoryError) else "nested too deeply"
        raise Refused(words) from None


def _results(command: Command, table: dict[str, Any], share: Share) -> bytes:
    """Answer every row of a share of a batch, a bad one by its error; only the text of each is kept."""
    rows = rows_of(table)
    every = {key: table[key] for key in BESIDE if key in table}
    beside = command.request(**every)
    predict.check_fields(beside.fields)
    shared = Catalogue.with_tables(beside.specs) if beside.specs else Catalogue.built_in()
    place = place_of_rows(table)
    texts = [
        answers.encoded(_result(command, rows[index], every.get("fields"), shared, partial(place, index)))
        for index in share.rows(len(rows))
    ]
    return share.joined(texts, len(rows))


def _result(
    command: Command,
    row: Any,
    fields: Any,
    shared: Catalogue,
    place: Callable[[str | None], str | None],
) -> Any:
    options = row if isinstance(row, dict) else {}
    try:
        if not isinstance(row, dict):
            raise Refused("expected options by name", [Mistake(None, shown(row), "expected an object")])
        if own := [key for key in ("specs", "files") if row.get(key) is not None]:
            raise Refused(
                f"{own[0]}: give it once, beside the rows", [Mistake(own[0], None, "not of one row")]
            )
        request = command.request(**(row if fields is None else {"fields": fields, **row}))
        return {**predict.table(predict.run(request, Context(shared)), request)}
    except InputError as error:
        return error_row(below(refused(error, options, command.request), place))


def table_of(body: bytes) -> dict[str, Any]:
    """Return the JSON object of a body.

    Raises
    ------
    Refused : no JSON, or none that is an object
    """
    try:
        table = json.loads(
            body or b"{}", parse_constant=_refuse_constant, parse_float=_number, object_pairs_hook=_once
        )
    except (ValueError, RecursionError) as error:
        raise Refused(f"the body is not JSON: {error}", status=400) from None
    if not isinstance(table, dict):
        raise Refused(
            'the body is no JSON object; expected options by name, e.g. {"gpus": 32}',
            [Mistake(None, None, "expected an object")],
        )
    return table


def _once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    table = dict(pairs)
    if len(table) < len(pairs):
        seen: set[str] = set()
        twice = next(key for key, _ in pairs if key in seen or seen.add(key))  # type: ignore[func-returns-value]
        raise ValueError(f"the key {twice!r:.99} stands twice in one object; expected once")
    return table


def _number(text: str) -> float:
    """Return a number with a point or an exponent, unless it has far more digits than are read."""
    if len(text) > LONGEST_NUMBER:
        words = f"{text[:20]}... is a number of {len(text):,} letters"
        raise ValueError(f"{words}; expected at most {LONGEST_NUMBER}")
    return float(text)


def _refuse_constant(constant: str) -> float:
    raise ValueError(f"{constant} is no number of JSON")


def files_of(table: Mapping[str, Any]) -> dict[str, bytes]:
    """Return the files that a body brings along."""
    files = table.get("files")
    if not isinstance(files, dict):
        return {}  # what else it may be is refused with the request
    contents = {name: content_of(sent) for name, sent in files.items()}
    return {name: content for name, content in contents.items() if content is not None}
