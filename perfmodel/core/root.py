"""The one root finder: bisection."""

from __future__ import annotations

from collections.abc import Callable

HALVINGS = 60
"""Enough to narrow an interval as wide as its ends to the last digit of a float."""


def bisect(
    is_below: Callable[[float], bool], low: float, high: float, halvings: int = HALVINGS
) -> tuple[float, float]:
    """Return the ends of an interval around a root, after halving it repeatedly.

    Parameters
    ----------
    is_below : whether a value is below the root; called with the middle of the interval
    low, high : one value below and one above the root
    halvings : times the interval is halved

    Examples
    --------
    The square root of two, between 1 and 2: 1.375 is below it, 1.5 is not.

    >>> bisect(lambda x: x * x < 2, 1.0, 2.0, halvings=3)
    (1.375, 1.5)
    """
    for _ in range(halvings):
        middle = (low + high) / 2
        low, high = (middle, high) if is_below(middle) else (low, middle)
    return low, high
