"""The ledger: errors of shipped versions on rows that nothing had learned from, and what they teach.

``validation/ledger.csv`` only grows.  Each row that comes new is predicted by the version at hand before
anything learns from it, and its error and the half-width that was stated are kept for ever.
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
"""Sources that the scale of all classes counts for, beside those of one class (a choice)."""
MISREAD, NO_TIME, NOT_NEW = "misread", "no measured time", "source not new"
"""Classes of entries that teach nothing here: the row was read as another job; its time was worked out from a
batch that nobody stated; or its source has other rows, which the fit learned from."""
APART = (MISREAD, NO_TIME, NOT_NEW)
CLASSES: dict[str, tuple[str, Callable[[str], str]]] = {
    "transformers, from specs": (TRANSFORMERS, lambda name: name),
    "collectives, several nodes, from 1 MiB": (COLLECTIVES, lambda name: SEVERAL),
    "collectives, one node, from 1 MiB": (COLLECTIVES, lambda name: ONE),
    "collectives, below 1 MiB": (COLLECTIVES, lambda name: SMALL),
    "data parallel, from specs, one accelerator": (DATA_PARALLEL, lambda name: name),
    "data parallel, from specs, several accelerators": (DATA_PARALLEL, lambda name: TOGETHER),
    "data parallel, anchored on one accelerator": (DATA_PARALLEL, lambda name: ANCHORED),
}
"""Kind of an entry -> kind of its scale, and class by the entry's own.

What is new of a collective's path is in the shape of its interval already, three times as wide."""
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
"""Classes by what the ledger calls them, where that is another word."""


class Entry(NamedTuple):
    """One row of the ledger."""

    version: str
    """Of perfmodel, which predicted it."""
    kind: str
    source: str
    id: str
    """Of the measured row; empty where the source has no name."""
    job: str
    """Class: ``known``, ``new``, ``experts``, or why it is no error of the model."""
    error: float
    """ln(measured / predicted)."""
    half_width: float
    """Of the stated 80 % interval, in log time."""
    scale: float = 1.0
    """Factor of the ledger in that: version 0.2.0 had none."""

    def cells(self) -> tuple[str, ...]:
        """Return its line in the file."""
        words = {ours: theirs for theirs, ours in WORDS.items()}
        name = words.get(self.job, self.job)
        numbers = str(self.error), str(self.half_width)
        return self.kind, self.source, self.id, name, *numbers, self.version, f"{self.scale:g}"

    @property
    def scaled_as(self) -> tuple[str, str] | None:
        """Kind and class of its scale; None of what has none."""
        if self.kind not in CLASSES or self.job in APART:
            return None
        kind, class_of = CLASSES[self.kind]
        return kind, class_of(self.job)

    @property
    def ratio(self) -> float:
        """Error over the half-width that was stated, its scale apart."""
        return abs(self.error) * self.scale / self.half_width


def read_ledger(path: Path) -> tuple[Entry, ...]:
    """Return every entry of a ledger, oldest first; none where there is no file yet.

    Raises
    ------
    InputError : the file cannot be read, or is no ledger
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
    """Return every entry of the ledger that comes along."""
    return read_ledger(folder("validation") / NAME)


def shrunk(values: dict[str, list[float]], towards: float) -> float:
    """Return the quantile of a class, drawn to another value as if ``SHRINKAGE`` sources had that."""
    if not values:
        return towards
    n = len(values)
    return math.exp(
        (n * math.log(quantile(values, COVERED)) + SHRINKAGE * math.log(towards)) / (n + SHRINKAGE)
    )


def scales(entries: Sequence[Entry]) -> dict[str, dict[str, tuple[float, int]]]:
    """Return the factor of each class and its sources, by kind.

    A class is drawn to its kind, a kind to all kinds.  What is new is never narrower than what is known.
    """
    used = [each for each in entries if each.scaled_as is not None]
    pooled = quantile(by_source((each.source, each.ratio) for each in used), COVERED)
    result: dict[str, dict[str, tuple[float, int]]] = {}
    for kind, job in _classes():
        of_kind = [each for each in used if each.scaled_as and each.scaled_as[0] == kind]
        towards = shrunk(by_source((each.source, each.ratio) for each in of_kind), pooled)
        own = by_source((each.source, each.ratio) for each in of_kind if each.scaled_as == (kind, job))
        result.setdefault(kind, {})[job] = shrunk(own, towards), len(own)
    for of in result.values():
        if NEW in of:
            of[NEW] = max(of[NEW][0], of[KNOWN][0]), of[NEW][1]
    return result


def _classes() -> list[tuple[str, str]]:
    jobs = {
        TRANSFORMERS: (KNOWN, NEW, EXPERTS),
        COLLECTIVES: (SEVERAL, ONE, SMALL),
        DATA_PARALLEL: (KNOWN, NEW, TOGETHER, ANCHORED),
    }
    return [(kind, job) for kind, several in jobs.items() for job in several]


class Judged(NamedTuple):
    """An entry, and the half-width that the other sources' entries give it."""

    entry: Entry
    half_width: float
    constant: float
    """Half-width of its kind, the same for all, from the other sources; not a number where there is none."""

    @property
    def source(self) -> str:
        """Who measured it."""
        return self.entry.source


def left_out(entries: Sequence[Entry]) -> list[Judged]:
    """Judge each entry by the scales of all sources but its own."""
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
    errors = by_source((each.source, abs(each.error)) for each in entries if each.kind == kind)
    return quantile(errors, COVERED) if errors else math.nan


class Line(NamedTuple):
    """One line of the ledger's table: the same rows with three kinds of intervals."""

    kind: str
    job: str | None
    """Its class; None of the line of all."""
    stated: Summary
    today: Summary
    """By the scales of the other sources."""
    constant: Summary
    """By one width, which a single source has none of."""

    @property
    def name(self) -> str:
        """What it is of, below the line of its kind."""
        return f"- {self.job}" if self.job else self.kind

    @property
    def half_width(self) -> float:
        """Median, of today's intervals."""
        return self.today.half_width or 0.0

    @property
    def factor(self) -> float:
        """Either way, that the half-width is."""
        return math.exp(self.half_width)


def lines() -> list[Line]:
    """Return the table: each kind of entries, and each class of it."""
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
        apart=sum(each.job in APART for each in entries),
        lines=rows,
        widest=_widest(rows),
        facts=_facts(rows),
        scales=scales(entries),
    )


def _widest(rows: Sequence[Line]) -> list[Line]:
    """Return the classes of each kind, or the kind where it has one alone, the widest first."""
    of_classes = {row.kind for row in rows if row.job}
    every = (row for row in rows if row.job or row.kind not in of_classes)
    return sorted(every, key=lambda row: -row.half_width)


def _facts(rows: Sequence[Line]) -> list[tuple[str, Open, float, float]]:
    """Return what stating an option is worth: the kind, the option, and half-widths without and with it."""
    result = []
    for kind in (TRANSFORMERS, DATA_PARALLEL):
        known = next(row for row in rows if row.kind.startswith(kind) and row.job == KNOWN)
        for option in worth_stating(kind):
            half = known.half_width
            (one,) = left_open(kind, {option: True}, half / NORMAL_80)
            result.append((known.kind, one, half * one.factor, half))
    return sorted(result, key=lambda each: each[2] / each[3], reverse=True)
