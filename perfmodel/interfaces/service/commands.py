"""The commands of the service: name, request and answer of each, and the function that answers."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from functools import partial
from typing import Any, Literal, NamedTuple

from perfmodel.core.candidates import TooManyCandidates, at_most
from perfmodel.core.errors import InputError
from perfmodel.core.files.attachments import content_of, only_attached
from perfmodel.hardware.catalogue.store import Catalogue
from perfmodel.interfaces.command import Command as Record
from perfmodel.interfaces.command import Context
from perfmodel.interfaces.commands import predict
from perfmodel.interfaces.http import body_of
from perfmodel.interfaces.register import commands
from perfmodel.interfaces.service import answers
from perfmodel.interfaces.service.batches import COMMON, error_row, is_batch, place_of_rows, rows_of
from perfmodel.interfaces.service.fewer import refuse_too_long, too_many
from perfmodel.interfaces.service.problems import Mistake, Refused, below, refused, shown
from perfmodel.interfaces.service.settings import Settings
from perfmodel.interfaces.service.shares import WHOLE, Share

LARGEST_CHEAP = 8192
"""Largest body of a cheap request [B]; larger ones have specs, files or batches."""
LONGEST_NUMBER = 100
"""Largest number of characters of a number with a point or exponent; 17 digits are used."""
Cost = Literal["cheap", "costly"]
"""``cheap``: under 5 ms, answered in groups; ``costly``: queued, in a process of its own."""
SLOW_KEYS = frozenset({"specs", "files", "scenarios", "columns", "time_to_loss", "time_to_target", "recipe"})
"""Keys of a body whose answer is costly with any command."""


class Command(NamedTuple):
    """A command of the service, at ``/v1/NAME``."""

    name: str
    summary: str
    request: Any
    """The record with which a body is validated."""
    answer: Any
    """The type of the answer: what ``--json`` prints."""
    function: Callable[[Any, Catalogue], bytes]
    """Function from a validated request to the JSON of its answer."""
    cost: Cost
    examples: Mapping[str, Mapping[str, Any]]
    """Examples of bodies, by a short description."""
    parts: Callable[[Any, Catalogue], Any] | None = None
    """Function from a validated request to an answer that is read in parts, of a command with streams."""


def _of_record(one: Record) -> Command:
    """Return the service's command for a command of the register."""

    def run(request: Any, catalogue: Catalogue) -> Any:
        return one.run(request, Context(catalogue))

    def answer(request: Any, catalogue: Catalogue) -> bytes:
        result = run(request, catalogue)
        if one.streams:
            refuse_too_long(result)
        return answers.written(result) if one.table is None else answers.encoded(one.table(result, request))

    return Command(
        one.path,
        one.summary,
        body_of(one.request, hardware=one.hardware),
        one.answer_json,
        answer,
        one.cost,
        one.bodies,
        run if one.streams else None,
    )


COMMANDS: dict[str, Command] = {one.path: _of_record(one) for one in commands() if "http" not in one.without}


def answer(name: str, body: bytes, candidates: int = Settings.candidates, share: Share = WHOLE) -> bytes:
    """Return the JSON answer of a command to the body of a request: a pure function of both.

    No files of this machine are opened except those of the package.

    Parameters
    ----------
    candidates : limit for searches and sweeps
    share : of the rows of a batch; of any other body the first share is the answer, the others are empty

    Raises
    ------
    Refused : a body that is not JSON or not valid for the command
    """
    return answered(COMMANDS[name], table_of(body), candidates, share)


def is_cheap(command: Command, body: bytes) -> bool:
    """Return whether an answer is most likely quick: of a cheap command, without slow keys."""
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
    """Return the JSON answer of a command to a parsed body.

    Raises
    ------
    Refused : a body that is not valid for the command
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
    """Return the answers to a share of a batch, an invalid row by its error."""
    rows = rows_of(table)
    every = {key: table[key] for key in COMMON if key in table}
    common = command.request(**every)
    predict.check_fields(common.fields)
    shared = Catalogue.with_tables(common.specs) if common.specs else Catalogue.built_in()
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
    """Return the answer to one row of a batch, or its error."""
    options = row if isinstance(row, dict) else {}
    try:
        if not isinstance(row, dict):
            raise Refused("expected options by name", [Mistake(None, shown(row), "expected an object")])
        if own := [key for key in ("specs", "files") if row.get(key) is not None]:
            raise Refused(
                f"{own[0]}: give it once, next to the rows", [Mistake(own[0], None, "not of one row")]
            )
        request = command.request(**(row if fields is None else {"fields": fields, **row}))
        return {**predict.table(predict.run(request, Context(shared)), request)}
    except InputError as error:
        return error_row(below(refused(error, options, command.request), place))


def table_of(body: bytes) -> dict[str, Any]:
    """Return the JSON object of a body.

    Raises
    ------
    Refused : a body that is not JSON, or not an object
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
    """Return pairs as a dictionary; a repeated key is a ValueError."""
    table = dict(pairs)
    if len(table) < len(pairs):
        seen: set[str] = set()
        twice = next(key for key, _ in pairs if key in seen or seen.add(key))  # type: ignore[func-returns-value]
        raise ValueError(f"the key {twice!r:.99} stands twice in one object; expected once")
    return table


def _number(text: str) -> float:
    """Return a number with a point or an exponent; a ValueError for one of far too many digits."""
    if len(text) > LONGEST_NUMBER:
        words = f"{text[:20]}... is a number of {len(text):,} letters"
        raise ValueError(f"{words}; expected at most {LONGEST_NUMBER}")
    return float(text)


def _refuse_constant(constant: str) -> float:
    """Raise a ValueError for NaN and infinities, which JSON does not have."""
    raise ValueError(f"{constant} is no number of JSON")


def files_of(table: Mapping[str, Any]) -> dict[str, bytes]:
    """Return the files in a body, by name."""
    files = table.get("files")
    if not isinstance(files, dict):
        return {}  # what else it may be is refused with the request
    contents = {name: content_of(sent) for name, sent in files.items()}
    return {name: content for name, content in contents.items() if content is not None}
