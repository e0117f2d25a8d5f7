"""``validation/leave_out.csv``: the latest results of the leave-out tests and the learning curve."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from perfmodel.core.files.resources import folder
from perfmodel.core.files.tables import Record
from perfmodel.core.files.templating import render
from perfmodel.evidence.accuracy.by_source import Summary
from perfmodel.evidence.accuracy.measured_table import records, write_records

NAME = "leave_out.csv"
LEARNING_CURVE = "learning-curve"
COLUMNS = ("test", *Summary._fields)
TEXTS = ("test", "kind", "by")
TITLES = {
    "source": "Each source left out",
    "publisher": "All sources of a publisher left out",
    "network": "Each family of networks left out",
    "accelerator": "Each generation of accelerators left out",
    "software": "Each family of software left out",
    "fabric": "Each kind of link left out, between nodes or inside one",
    "size": "Jobs of more than twice the accelerators of those fitted to",
    LEARNING_CURVE: "0, 1, 3, 6 runs of the same source given, drawn at random three times; others judged",
}


def title(test: str) -> str:
    """Return the heading of a test: the rows that it leaves out, in words.

    >>> title("year:2024")
    'Rows from 2024 on, by a fit to those before'
    """
    return TITLES.get(test) or f"Rows from {test.removeprefix('year:')} on, by a fit to those before"


def write_lines(path: Path, lines: Sequence[Record]) -> None:
    """Write summaries of tests to a CSV file; they replace earlier ones of the same tests.

    Raises
    ------
    InputError : the file cannot be read or written; it is then unchanged
    """
    tests = {line["test"] for line in lines}
    written = records(path) if path.exists() else []
    every: list[Mapping[str, object]] = [*(line for line in written if line["test"] not in tests), *lines]
    write_records(path, COLUMNS, ([_cell(line[name]) for name in COLUMNS] for line in every))


def _cell(value: object) -> object:
    return f"{value:.4g}" if isinstance(value, float) else value


def summaries(lines: Iterable[dict[str, str]]) -> dict[str, list[Summary]]:
    """Return the summaries in the lines of a file, by test, in the file's order."""
    result: dict[str, list[Summary]] = {}
    for line in lines:
        numbers: dict[str, Any] = {
            name: float(line[name]) if line[name] else None for name in Summary._fields if name not in TEXTS
        }
        counts = {name: int(numbers[name] or 0) for name in ("categories", "rows")}
        result.setdefault(line["test"], []).append(
            Summary(**numbers | counts, kind=line["kind"], by=line["by"])
        )
    return result


def section() -> str:
    """Return the report's section on leave-out tests as Markdown."""
    return render("leave_out.md.j2", tests=summaries(records(folder("validation") / NAME)), title=title)
