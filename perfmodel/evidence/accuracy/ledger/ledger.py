"""The ledger: errors of shipped versions on rows that no fit had seen, and interval scales learned from them.

``validation/ledger.csv`` only grows.  The current version predicts each new measured row before any fit
learns from it; the error and the stated half-width are recorded permanently.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from functools import cache
from pathlib import Path
from typing import NamedTuple

from perfmodel.core.errors import refusal
from perfmodel.core.files.resources import folder
from perfmodel.core.files.templating import render
from perfmodel.evidence.accuracy.by_source import COVERED, JudgedRow, Summary, by_source, quantile, summarise
from perfmodel.evidence.accuracy.measured_table import records
from perfmodel.model.fitted.calibration import NORMAL_80
from perfmodel.model.fitted.ledger_scales import (
    ANCHORED,
    COLLECTIVES,
    DATA_PARALLEL,
    EXPERTS,
    KNOWN,
    NEW,
    ONE,
    SEVERAL,
    SMALL,
    TOGETHER,
    TRANSFORMERS,
    Open,
    left_open,
    worth_stating,
)

NAME = "ledger.csv"
SHRINKAGE = 3.0
"""Weight of the scale of all classes, in sources, when the scale of one class is drawn towards it (a
choice)."""
MISREAD, NO_TIME, NOT_NEW = "misread", "no measured time", "source not new"
"""Classes of entries that no scale is learned from: the row was read as another job; its time was derived
from a batch size that its source does not state; or the fit had learned from other rows of the source."""
EXCLUDED = (MISREAD, NO_TIME, NOT_NEW)
CLASSES: dict[str, tuple[str, Callable[[str], str]]] = {
    "transformers, from specs": (TRANSFORMERS, lambda name: name),
    "collectives, several nodes, from 1 MiB": (COLLECTIVES, lambda name: SEVERAL),
    "collectives, one node, from 1 MiB": (COLLECTIVES, lambda name: ONE),
    "collectives, below 1 MiB": (COLLECTIVES, lambda name: SMALL),
    "data parallel, from specs, one accelerator": (DATA_PARALLEL, lambda name: name),
    "data parallel, from specs, several accelerators": (DATA_PARALLEL, lambda name: TOGETHER),
    "data parallel, anchored on one accelerator": (DATA_PARALLEL, lambda name: ANCHORED),
}
"""Kind of an entry -> kind of its scale, and function from the entry's class to the class of its scale.

Collectives have no class for a new transport: its interval is already three times as wide."""
COLUMNS = (
    "kind",
    "source",
    "id",
    "class",
    "log_measured_over_predicted",
    "log_half_width_80",
    "version",
    "scale",
)
WORDS = {"novel": NEW}
"""Word of the file -> class, where they differ."""


class Entry(NamedTuple):
    """One row of the ledger."""

    version: str
    """Version of perfmodel that predicted the row."""
    kind: str
    source: str
    id: str
    """Id of the measured row; empty if the source has no name."""
    job: str
    """Class: ``known``, ``new``, ``experts``, or why the error is not one of the model."""
    error: float
    """ln(measured / predicted)."""
    half_width: float
    """Half-width of the stated 80 % interval, in the logarithm of the time."""
    scale: float = 1.0
    """Factor of the ledger that ``half_width`` includes; 1 for version 0.2.0, which had none."""

    def cells(self) -> tuple[str, ...]:
        """Return the cells of the entry's line in the file, in the order of ``COLUMNS``."""
        words = {ours: theirs for theirs, ours in WORDS.items()}
        name = words.get(self.job, self.job)
        numbers = str(self.error), str(self.half_width)
        return self.kind, self.source, self.id, name, *numbers, self.version, f"{self.scale:g}"

    @property
    def scaled_as(self) -> tuple[str, str] | None:
        """Kind and class of the scale that the entry belongs to; None if it belongs to none."""
        if self.kind not in CLASSES or self.job in EXCLUDED:
            return None
        kind, class_of = CLASSES[self.kind]
        return kind, class_of(self.job)

    @property
    def ratio(self) -> float:
        """Absolute error over the stated half-width without its scale."""
        return abs(self.error) * self.scale / self.half_width


def read_ledger(path: Path) -> tuple[Entry, ...]:
    """Return the entries of a ledger, oldest first; none if the file does not exist.

    Raises
    ------
    InputError : the file cannot be read, or has other columns than a ledger
    """
    if not path.exists():
        return ()
    rows = records(path)
    if rows and tuple(rows[0]) != COLUMNS:
        raise refusal("ledger.malformed", known=tuple(COLUMNS)).under(path)
    return tuple(
        Entry(version, kind, source, id, WORDS.get(job, job), float(error), float(half), float(scale))
        for kind, source, id, job, error, half, version, scale in map(dict.values, rows)
    )


@cache
def ledger() -> tuple[Entry, ...]:
    """Return the entries of the shipped ledger; the file is read once."""
    return read_ledger(folder("validation") / NAME)


def _shrunken_quantile(values: dict[str, list[float]], towards: float) -> float:
    """Return the 80 % quantile of values by source, shrunk towards another value.

    The mean is taken of logarithms, as if ``SHRINKAGE`` more sources had the value ``towards``.
    """
    if not values:
        return towards
    n = len(values)
    return math.exp(
        (n * math.log(quantile(values, COVERED)) + SHRINKAGE * math.log(towards)) / (n + SHRINKAGE)
    )


def scales(entries: Sequence[Entry]) -> dict[str, dict[str, tuple[float, int]]]:
    """Return by kind and class the factor that scales intervals, and the number of sources behind it.

    The factor of a class is shrunk towards that of its kind, and that towards the factor of all kinds.  The
    factor of ``new`` is at least that of ``known``.
    """
    used = [each for each in entries if each.scaled_as is not None]
    pooled = quantile(by_source((each.source, each.ratio) for each in used), COVERED)
    result: dict[str, dict[str, tuple[float, int]]] = {}
    for kind, job in _classes():
        of_kind = [each for each in used if each.scaled_as and each.scaled_as[0] == kind]
        towards = _shrunken_quantile(by_source((each.source, each.ratio) for each in of_kind), pooled)
        own = by_source((each.source, each.ratio) for each in of_kind if each.scaled_as == (kind, job))
        result.setdefault(kind, {})[job] = _shrunken_quantile(own, towards), len(own)
    for of in result.values():
        if NEW in of:
            of[NEW] = max(of[NEW][0], of[KNOWN][0]), of[NEW][1]
    return result


def _classes() -> list[tuple[str, str]]:
    """Return the kind and class of every scale."""
    jobs = {
        TRANSFORMERS: (KNOWN, NEW, EXPERTS),
        COLLECTIVES: (SEVERAL, ONE, SMALL),
        DATA_PARALLEL: (KNOWN, NEW, TOGETHER, ANCHORED),
    }
    return [(kind, job) for kind, several in jobs.items() for job in several]


class Judged(NamedTuple):
    """An entry of the ledger, and the half-width that the entries of other sources give its interval."""

    entry: Entry
    half_width: float
    constant: float
    """One half-width for all entries of its kind, from the other sources; not a number if there are none."""

    @property
    def source(self) -> str:
        """Source of the measured row."""
        return self.entry.source


def left_out(entries: Sequence[Entry]) -> list[Judged]:
    """Return each entry with the half-width that the scales of all other sources give it."""
    used = [each for each in entries if each.scaled_as is not None]
    result = []
    for source in dict.fromkeys(each.source for each in used):
        others = [each for each in used if each.source != source]
        by_others = scales(others)
        own = [each for each in used if each.source == source]
        constant = {kind: _constant(others, kind) for kind in dict.fromkeys(each.kind for each in own)}
        for each in own:
            assert each.scaled_as is not None
            kind, job = each.scaled_as
            factor = by_others[kind][job][0]
            result.append(Judged(each, factor * each.half_width / each.scale, constant[each.kind]))
    return result


def _constant(entries: Iterable[Entry], kind: str) -> float:
    """Return the half-width that covers 80 % of the errors of a kind; every source has the same weight."""
    errors = by_source((each.source, abs(each.error)) for each in entries if each.kind == kind)
    return quantile(errors, COVERED) if errors else math.nan


class Line(NamedTuple):
    """One line of the report's table of the ledger: the same rows with intervals of three origins."""

    kind: str
    job: str | None
    """Class of the rows; None for all classes of the kind."""
    stated: Summary
    """With the intervals stated at the time."""
    today: Summary
    """With intervals scaled by the entries of the other sources."""
    constant: Summary
    """With one half-width for all, from the other sources; none if the kind has one source."""

    @property
    def name(self) -> str:
        """Label of the line: the kind, or the class indented below its kind."""
        return f"- {self.job}" if self.job else self.kind

    @property
    def half_width(self) -> float:
        """Median half-width of today's 80 % intervals, in the logarithm of the time."""
        return self.today.half_width or 0.0

    @property
    def factor(self) -> float:
        """The median half-width as a factor by which a time may be longer or shorter."""
        return math.exp(self.half_width)


def lines() -> list[Line]:
    """Return the lines of the report's table: one for each kind of entries, and for each of its classes."""
    judged = left_out(ledger())
    result = []
    for kind in dict.fromkeys(each.entry.kind for each in judged):
        of_kind = [each for each in judged if each.entry.kind == kind]
        jobs = dict.fromkeys(each.entry.job for each in of_kind)
        result.append(_line(kind, None, of_kind))
        if len(jobs) > 1:
            result += [_line(kind, job, [each for each in of_kind if each.entry.job == job]) for job in jobs]
    return result


def _line(kind: str, job: str | None, judged: list[Judged]) -> Line:
    def by(half_width: Callable[[Judged], float]) -> Summary:
        rows = [
            JudgedRow(each.entry.id, each.source, each.entry.error, half_width(each), half_width(each))
            for each in judged
        ]
        return summarise(kind, "", rows)

    return Line(
        kind,
        job,
        by(lambda each: each.entry.half_width),
        by(lambda each: each.half_width),
        by(lambda each: each.constant),
    )


def section() -> str:
    """Return the report's section on the ledger, as Markdown."""
    entries, rows = ledger(), lines()
    return render(
        "ledger.md.j2",
        entries=len(entries),
        sources=len({each.source for each in entries}),
        apart=sum(each.job in EXCLUDED for each in entries),
        lines=rows,
        widest=_widest(rows),
        facts=_facts(rows),
        scales=scales(entries),
    )


def _widest(rows: Sequence[Line]) -> list[Line]:
    """Return the lines of classes, and of kinds with a single class, the widest intervals first."""
    of_classes = {row.kind for row in rows if row.job}
    every = (row for row in rows if row.job or row.kind not in of_classes)
    return sorted(every, key=lambda row: -row.half_width)


def _facts(rows: Sequence[Line]) -> list[tuple[str, Open, float, float]]:
    """Return by how much stating an option narrows an interval, the most first.

    Each entry has the kind of prediction, the option, and the half-widths without and with it.
    """
    result = []
    for kind in (TRANSFORMERS, DATA_PARALLEL):
        known = next(row for row in rows if row.kind.startswith(kind) and row.job == KNOWN)
        for option in worth_stating(kind):
            half = known.half_width
            (one,) = left_open(kind, {option: True}, half / NORMAL_80)
            result.append((known.kind, one, half * one.factor, half))
    return sorted(result, key=lambda each: each[2] / each[3], reverse=True)
