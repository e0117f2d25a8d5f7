"""Intervals drawn as a line of characters."""

from __future__ import annotations

from collections.abc import Iterable

WIDTH = 40
"""Characters of a line."""
POINT, MARK, LINE = "●", "◆", "│"
"""The value itself, a value to compare it with, and a value that all lines share."""


def drawn(interval: tuple[float, float] | None, signs: Iterable[tuple[float | None, str]]) -> str:
    """Return an axis of ``WIDTH`` characters with an interval and signs on it.

    Parameters
    ----------
    interval : shares of the axis at which it begins and ends; None for none
    signs : share of the axis and sign of each, a later one over an earlier one; a share of None is left out

    Examples
    --------
    >>> drawn((0.5, 1.0), [(0.75, POINT)])
    '····················──────────●─────────'
    """

    def cell(share: float) -> int:
        return min(WIDTH - 1, int(WIDTH * share))

    cells = ["·"] * WIDTH
    if interval is not None:
        for index in range(cell(interval[0]), cell(interval[1]) + 1):
            cells[index] = "─"
    for share, sign in signs:
        if share is not None:
            cells[cell(share)] = sign
    return "".join(cells)
