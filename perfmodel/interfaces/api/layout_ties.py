"""Layouts that tie with the first, and a layout that somebody names against it."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from perfmodel.hardware.software import Release
from perfmodel.interfaces.api.layout_row import LayoutRow
from perfmodel.model.options.layout import Layout
from perfmodel.model.prediction.layout_order import Order
from perfmodel.model.prediction.memory_odds import CERTAIN
from perfmodel.model.transformers.search import SearchResult

SAME_TIME = 1e-8
"""Relative difference of times that are the same."""
SMALL = 1e-3
"""Difference of a term over the time of the first, below which it explains nothing."""
FITS_NOT, NOT_TRIED = "it does not fit", "the search does not try it"
"""Reasons why a layout is not among those listed."""
NO_POWER = "micro-batches are powers of 2"


@dataclass(frozen=True)
class Ties:
    """Layouts of which the model cannot tell whether they or the first are faster."""

    layouts: int
    """Their number, with the first."""
    least_factor: float
    """The 80 % interval of the ratio of such a time to the first's is this factor either way, of the layouts
    that are most like the first; 1 without another tie."""
    largest_factor: float
    """The same of those least like the first."""
    preferred: LayoutRow
    """The one to take: of those that fit with the confidence and take at most 3 % longer than their fastest
    the one with the smallest product of degrees."""
    confidence: float = CERTAIN
    """Least probability of fitting of the one to take, where any layout has it."""

    @classmethod
    def of(cls, order: Order, preferred: LayoutRow, confidence: float) -> Ties:
        """Return the ties of some layouts of which the first is the fastest."""
        factors = np.exp(order.half_width[order.is_tie & ~order.is_first])
        least, largest = (float(factors.min()), float(factors.max())) if len(factors) else (1.0, 1.0)
        return cls(int(order.is_tie.sum()), least, largest, preferred, confidence)


@dataclass(frozen=True)
class AgainstFirst:
    """A layout that was named, against the first."""

    row: LayoutRow
    """What it takes; it need not fit."""
    rank: int
    """1 more than the number of layouts that fit and are faster."""
    not_listed: str
    """Why it is not among the layouts that fit; empty if it is."""
    difference: dict[str, float]
    """Its terms less those of the first [s], the largest difference first; without what explains nothing."""

    @classmethod
    def of(
        cls, row: LayoutRow, layout: Layout, software: Release, first: LayoutRow, result: SearchResult
    ) -> AgainstFirst:
        """Return a layout against the first of a search.

        Parameters
        ----------
        row, layout, software : of the named layout
        first, result : of the search
        """
        is_listed = np.logical_and.reduce([a == b for a, b in zip(result.layouts, layout, strict=True)]).any()
        fits = row.memory["bytes"] <= row.memory["capacity"]
        difference = {name: row.terms[name] - time for name, time in first.terms.items()}
        largest = sorted(difference.items(), key=lambda item: -abs(item[1]))
        return cls(
            row,
            1 + int((result.iteration_time < row.iteration_time * (1 - SAME_TIME)).sum()),
            "" if is_listed else _why_untried(row, software) if fits else FITS_NOT,
            {name: by for name, by in largest if abs(by) > SMALL * first.iteration_time},
        )


def _why_untried(row: LayoutRow, software: Release) -> str:
    """Return why a search does not try a layout that fits."""
    micro, sharding = int(row.layout["micro_batch_size"]), row.layout["sharding"]
    stages = int(row.layout["pipeline_parallel"])
    if micro & (micro - 1):
        return f"{NOT_TRIED}: {NO_POWER}"
    if sharding not in (software.shardings if stages == 1 else software.pipelined_shardings):
        return f"{NOT_TRIED}: the software is not known to share {sharding} there"
    return NOT_TRIED
