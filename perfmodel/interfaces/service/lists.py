"""The catalogue by GET: paged lists and single entries, as JSON or CSV, which clients may cache."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from functools import cache
from typing import Any, NamedTuple

from perfmodel.core.errors import unknown_name
from perfmodel.core.files.attachments import only_attached
from perfmodel.core.files.tables import csv_text
from perfmodel.hardware.accelerator import Accelerator
from perfmodel.hardware.catalogue.kinds import KINDS
from perfmodel.hardware.catalogue.store import Catalogue
from perfmodel.hardware.link import Link
from perfmodel.hardware.node import Node
from perfmodel.hardware.numbers import numbers_of
from perfmodel.hardware.software import Software
from perfmodel.interfaces.service.answers import encoded
from perfmodel.interfaces.service.problems import Mistake, Refused
from perfmodel.workloads import workload
from perfmodel.workloads.listing import NetworkSummary, NetworkTable, listed, summary_of, table_of

USUAL, MOST = 100, 1000
"""Default and largest number of entries of a page."""


class Entries(NamedTuple):
    """A list of the catalogue, with functions that return its entries."""

    name: str
    """Part of its addresses: ``/v1/NAME`` lists, ``/v1/NAME/{name}`` shows."""
    summary: str
    parameter: str
    """Query parameter that selects entries."""
    schema: Mapping[str, Any]
    """Schema of the parameter."""
    item: Any
    """Type of an entry of a list."""
    shown: Any
    """Type of one entry."""
    rows: Callable[[str | None], list[tuple[Any, Mapping[str, Any]]]]
    """Function from the parameter to every entry as JSON and as a row of CSV."""
    show: Callable[[str], tuple[Any, Iterable[Mapping[str, Any]]]]
    """Function from a name to one entry as JSON and as rows of CSV."""


def page(
    entries: Entries, which: str | None, limit: int, offset: int, as_csv: bool
) -> tuple[bytes, int | None]:
    """Return a page of a list, and the offset of the next; None after the last.

    Raises
    ------
    InputError : an unknown value of the parameter
    """
    with only_attached({}):
        rows = entries.rows(which)
    some = rows[offset : offset + limit]
    after = offset + len(some) if offset + len(some) < len(rows) else None
    if as_csv:
        return csv_text([row for _, row in some]).encode(), after
    return encoded({"items": [one for one, _ in some], "total": len(rows), "next_offset": after}), after


def entry(entries: Entries, name: str, as_csv: bool) -> bytes:
    """Return one entry as JSON or CSV.

    Raises
    ------
    InputError : an unknown name
    """
    with only_attached({}):
        shown, rows = entries.show(name)
    return csv_text(rows).encode() if as_csv else encoded(shown)


def number(text: str | None, name: str, usual: int, least: int, most: int) -> int:
    """Return a number of a query, or its default.

    Raises
    ------
    Refused : a text that is not a number, or one out of range
    """
    if text is None:
        return usual
    if not (text.isascii() and text.isdecimal() and len(text) < 16 and least <= int(text) <= most):
        words = f"{name}: expected a whole number of {least} to {most:,}"
        raise Refused(words, [Mistake(name, text[:99], words)])
    return int(text)


@cache
def _specs(kind: str | None) -> list[tuple[Any, Mapping[str, Any]]]:
    """Return the entries of a part of the hardware catalogue."""
    known: Any = kind or "accelerators"
    if known not in KINDS:
        raise unknown_name("kind", known, KINDS)
    catalogue = Catalogue.built_in()
    several: list[Any] = [catalogue.spec(known, id) for id in catalogue.ids(known)]
    return [(_written(spec), numbers_of(spec)) for spec in several]


def _spec(name: str) -> tuple[Any, Iterable[Mapping[str, Any]]]:
    """Return one entry of the hardware catalogue."""
    spec: Any = Catalogue.built_in().find(name)[1]
    return _written(spec), [numbers_of(spec)]


def _written(spec: Any) -> Any:
    """Return a spec as JSON, without defaults."""
    return spec.model_dump(mode="json", exclude_defaults=True)


def _networks(word: str | None) -> list[tuple[Any, Mapping[str, Any]]]:
    """Return the networks whose name contains a word."""
    names = [name for members in listed(word).values() for name in members]
    return [(_summary(name), vars(_summary(name))) for name in names]


@cache
def _summary(name: str) -> Any:
    """Return the summary of a network."""
    return summary_of(workload(name))


def _network(name: str) -> tuple[Any, Iterable[Mapping[str, Any]]]:
    """Return one network, layer by layer."""
    table = table_of(workload(name))
    return table, table.records()


LISTS = (
    Entries(
        "specs",
        "The hardware catalogue",
        "kind",
        {"type": "string", "enum": list(KINDS), "default": "accelerators"},
        Accelerator | Node | Link | Software,
        Accelerator | Node | Link | Software,
        _specs,
        _spec,
    ),
    Entries(
        "workloads",
        "The networks",
        "word",
        {"type": "string", "minLength": 1, "description": "Only networks whose name contains it."},
        NetworkSummary,
        NetworkTable,
        _networks,
        _network,
    ),
)
