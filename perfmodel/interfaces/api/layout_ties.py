"""Layouts that tie with the first, and a layout that somebody names against it."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from perfmodel.interfaces.api.layout_row import LayoutRow
from perfmodel.model.prediction.layout_order import Order

SMALL = 1e-3
"""Difference of a term, over the time of the first, below which it explains nothing."""


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
    """The one to take: of most spare memory, until it fits with a probability of 95 %; of those the one with
    fewest degrees in use; of those the fastest."""

    @classmethod
    def of(cls, order: Order, preferred: LayoutRow) -> Ties:
        """Return the ties of some layouts of which the first is the fastest."""
        factors = np.exp(order.half_width[order.is_tie & ~order.is_first])
        least, largest = (float(factors.min()), float(factors.max())) if len(factors) else (1.0, 1.0)
        return cls(int(order.is_tie.sum()), least, largest, preferred)
