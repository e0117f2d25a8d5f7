"""How surely the fastest predicted layout of a transformer is the fastest, and which others tie with it.

Layouts of one job share most of their error; what two of them do not share widens the ratio of their times.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from perfmodel.equations.ratio import ratio_half_width
from perfmodel.model.fitted.calibration import NORMAL_80
from perfmodel.model.options.layout import Layout
from perfmodel.model.prediction.intervals.ratio import chance_above_one
from perfmodel.model.transformers.levels import Traits, apart, is_same, learned

NEARLY = 1.03
"""Ratio of the times of two layouts up to which the simpler is taken (a choice)."""


class Timed(NamedTuple):
    """A layout with its predicted time and interval, or several as arrays."""

    traits: Traits
    iteration_time: Any
    half_width: Any
    """Half-width of its 80 % interval in log time, without the ledger's scale, which layouts share."""

    def at(self, row: int) -> Timed:
        """Return one of several layouts."""
        layout = Layout(*(np.asarray(column)[row] for column in self.traits.layout))
        traits = self.traits._replace(layout=layout)
        return Timed(traits, self.iteration_time[row], self.half_width[row])


class Order(NamedTuple):
    """Layouts against the first; shape (layouts,) each."""

    ratio: Any
    """Time over that of the first."""
    half_width: Any
    """Half-width of the ratio's 80 % interval, as a logarithm; 0 of the first itself."""
    slower: Any
    """Probability that the layout is slower than the first."""

    @property
    def is_first(self) -> Any:
        """Whether the layout is the first itself."""
        return self.half_width == 0

    @property
    def is_tie(self) -> Any:
        """Whether 1 is inside the interval: the model does not tell which of the two is faster."""
        return np.abs(np.log(self.ratio)) <= self.half_width


def order_of(first: Timed, others: Timed) -> Order:
    """Return how layouts compare with the first one of the same job.

    Parameters
    ----------
    first : one layout
    others : any number of them, shape (layouts,)
    """
    levels = learned()
    shared = levels.shared(0.0, 1.0, apart(first.traits, others.traits))
    one, other = first.half_width, others.half_width
    unshared = NORMAL_80**2 * (levels.within - shared) / (one * other)
    unshared = np.where(is_same(first.traits, others.traits), 0.0, unshared)
    ratio = np.asarray(others.iteration_time / first.iteration_time)
    half = np.broadcast_to(ratio_half_width(one, other, unshared), ratio.shape)
    chances = [chance_above_one(*pair) for pair in zip(ratio.tolist(), half.tolist(), strict=True)]
    return Order(ratio, half, np.array(chances))


def preferred(order: Order, odds: Any, layouts: Layout, confidence: float) -> int:
    """Return the row of the layout to take.

    Of those that fit as surely as asked, or where none does, of those that fit most surely, it is the
    simplest of at most ``NEARLY`` the time of their fastest: that with the smallest product of degrees
    (``Layout.complexity``), then the fastest.  How surely another is slower does not count: the model seldom
    tells layouts apart by less than 15 %, and who takes the simplest of those gives most of that away.

    Parameters
    ----------
    order : of the layouts
    odds : probability that each fits into memory
    layouts : shape (layouts,) each
    confidence : least probability of fitting
    """
    able = odds >= min(confidence, odds.max())
    near = able & (order.ratio <= NEARLY * order.ratio[able].min())
    return int(np.lexsort((order.ratio, layouts.complexity, ~near))[0])
