"""Leave-out tests: rows predicted by a fit that has seen no row of their category."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from functools import cache
from typing import Any, NamedTuple

import numpy as np

from perfmodel.core.arrays import Array, Flags
from perfmodel.core.errors import refusal, unknown_name
from perfmodel.core.files.resources import folder
from perfmodel.evidence.accuracy.by_source import JudgedRow, Summary, summarise
from perfmodel.evidence.accuracy.measured_table import records

CATEGORIES = ("source", "publisher", "network", "accelerator", "software", "fabric")
"""Categories of a leave-out test: all rows that share a row's category are left out of the fit with it."""
FIRST_YEAR, LAST_YEAR = 2000, 2100
LEAST_SOURCES = 3
"""Least number of sources that a fit must have seen for its left-out rows to be judged."""
BEFORE = "0.2.0"
"""Earlier version that leave-out tests compare with; it predicted each source by a fit to the others."""


class Fold(NamedTuple):
    """One fit of a leave-out test: which rows it predicts and which it learns from; shape (rows,) each."""

    judged: Flags
    seen: Flags


class Judged(NamedTuple):
    """Errors and interval widths of the rows that a fold judges, in their order."""

    errors: Array
    """ln(measured / predicted)."""
    half_80: Array
    """Half-width of the 80 % interval, in the logarithm of the time."""
    half_95: Array
    """Half-width of the 95 % interval, in the logarithm of the time."""


class Facts(NamedTuple):
    """Categories, year and size of a measured row; an empty text means no category."""

    id: str
    source: str
    network: str
    accelerator: str
    software: str
    fabric: str
    year: int
    size: float
    """Number of accelerators."""
    is_judged: bool = True
    """Whether tests judge the row; fits only learn from a row of another kind."""

    @property
    def publisher(self) -> str:
        """Publisher of the row's source; the source itself if it is the publisher's only one."""
        return publishers().get(self.source, self.source)


class Evidence(NamedTuple):
    """Measured rows of one kind, and the fit that judges them."""

    kind: str
    rows: Sequence[Facts]
    judge: Callable[[Fold], Judged]

    def of(self, fact: str) -> Any:
        """Return the field ``fact`` of ``Facts`` for each row, shape (rows,)."""
        return np.array([getattr(row, fact) for row in self.rows])


def check_test(name: str) -> None:
    """Check the name of a leave-out test.

    Raises
    ------
    InputError : the name is neither a category, nor ``year:Y``, nor ``size``
    """
    if name in (*CATEGORIES, "size"):
        return
    if not name.startswith("year:"):
        raise unknown_name("leave-out test", name, (*CATEGORIES, "year:2024", "size"))
    year = name.removeprefix("year:")
    if not (re.fullmatch(r"[0-9]{4}", year) and FIRST_YEAR <= int(year) <= LAST_YEAR):
        raise refusal(
            "validate.leave_out_year", "leave_out", name=name[:60], first_year=FIRST_YEAR, last_year=LAST_YEAR
        )


def folds(evidence: Evidence, test: str) -> dict[str, Fold]:
    """Return the folds of a leave-out test by category; none if rows of this kind have no such category.

    In ``year:Y`` the fit sees the rows published before Y and judges the others.  In ``size`` the fit sees
    the half with the fewest accelerators and judges the rows with more than twice as many as the largest of
    those.  Folds with no judged row, or with fewer than ``LEAST_SOURCES`` sources to learn from, are dropped.
    """
    is_judged = evidence.of("is_judged")
    if test == "size":
        sizes = evidence.of("size")
        half = sizes <= np.median(sizes[is_judged])
        whole = {test: Fold(sizes > 2 * sizes[half].max(), half)}
    elif test.startswith("year:"):
        before = evidence.of("year") < int(test.removeprefix("year:"))
        whole = {test: Fold(~before, before)}
    else:
        names = evidence.of(test)
        whole = {name: Fold(names == name, names != name) for name in np.unique(names).tolist() if name}
    sources = evidence.of("source")
    judged = {name: fold._replace(judged=fold.judged & is_judged) for name, fold in whole.items()}
    return {
        name: fold
        for name, fold in judged.items()
        if fold.judged.any() and len(np.unique(sources[fold.seen])) >= LEAST_SOURCES
    }


def leave_out(evidence: Evidence, test: str) -> list[JudgedRow]:
    """Return errors and interval widths of the judged rows, each by a fit without its category."""
    by, result = test if test in CATEGORIES else "source", []
    for fold in folds(evidence, test).values():
        places = np.flatnonzero(fold.judged).tolist()
        for place, *numbers in zip(places, *(each.tolist() for each in evidence.judge(fold)), strict=True):
            row = evidence.rows[place]
            result.append(JudgedRow(row.id, getattr(row, by), *numbers))
    return result


def compare_with_before(kind: str, rows: Sequence[JudgedRow]) -> list[Summary]:
    """Return the summary of judged rows and, if known, that of the same rows predicted by ``BEFORE``."""
    known = _before().get(kind, {})
    before = [JudgedRow(row.id, row.category, **known[row.id]) for row in rows if row.id in known]
    result = [summarise(kind, "now", rows)]
    return [*result, summarise(kind, BEFORE, before)] if before else result


@cache
def _before() -> dict[str, dict[str, dict[str, float]]]:
    """Return error and half-widths of rows as version ``BEFORE`` predicted them, by kind and id."""
    result: dict[str, dict[str, dict[str, float]]] = defaultdict(dict)
    for row in records(folder("validation") / f"out_of_sample_{BEFORE}.csv"):
        kind, id = row.pop("kind"), row.pop("id")
        result[kind][id] = {name: float(value) for name, value in row.items()}
    return result


@cache
def publishers() -> Mapping[str, str]:
    """Return the publisher by source, for publishers of several sources."""
    return {row["source"]: row["publisher"] for row in records(folder("validation") / "publishers.csv")}


_PREFIXES = re.compile(r"^(se|wide|wide-se)-")
_FAMILY = re.compile(r"m?t5|mt-nlg|gpt oss|[a-z]+?(?=v?[0-9]|[^a-z]|$)")


def network_family(name: str) -> str:
    """Return the family that a network's name belongs to, without size, version and tuning.

    >>> [network_family(name) for name in ("Llama 3.1 8B", "LLAMA2-70B", "GPT3 175B", "mT5 3B", "DeepSeekV3")]
    ['llama', 'llama', 'gpt', 'mt5', 'deepseek']
    >>> [network_family(name) for name in ("resnet50-v1.5", "wide-resnet50-2", "se-resnext50-32x4d", "vgg16")]
    ['resnet', 'resnet', 'resnext', 'vgg']
    """
    word = _PREFIXES.sub("", name.lower())
    family = _FAMILY.match(word)
    return family[0] if family else word
