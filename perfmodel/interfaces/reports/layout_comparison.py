"""Which layouts tie with the first, and why a named one is slower, in sentences."""

from __future__ import annotations

from typing import TYPE_CHECKING

from perfmodel.core.units import show
from perfmodel.model.prediction.memory_odds import short_verdict

if TYPE_CHECKING:
    from perfmodel.interfaces.api.layout_row import LayoutRow
    from perfmodel.interfaces.api.layouts import Layouts


def tie_lines(answer: Layouts) -> list[str]:
    """Return how many layouts tie with the first, within which interval, and which of them to take."""
    ties = answer.ties
    if ties.layouts == 1:
        return ["no other layout that fits ties with the first at 80 % confidence"]
    least, largest = f"{ties.least_factor:.2f}", f"{ties.largest_factor:.2f}"
    factor = least if least == largest else f"{least} to {largest}"
    which = "the first itself" if ties.preferred.slower_than_first is None else _with_figures(ties.preferred)
    return [
        f"{ties.layouts:,} of {answer.fitting:,} layouts tie with the first, itself included: the ratio of "
        f"their times is known to a factor of {factor} (80 %)",
        f"of the ties, by spare memory until it surely fits, then by fewest degrees in use: {which}",
    ]


def _with_figures(row: LayoutRow) -> str:
    """Return a layout with its time over that of the first, and its memory."""
    memory = row.memory
    fits = short_verdict(memory["fits_probability"])
    return (
        f"{full_name(row)}, {show(row.iteration_time, 's')} ({row.time_ratio['value'] - 1:+.1%}), "
        f"{memory['bytes'] / 2**30:.1f} GiB, fits: {fits}"
    )


def full_name(row: LayoutRow) -> str:
    """Return layout, micro-batch and passes in words."""
    return f"{row.words}, {row.layout['micro_batch_size']} x {row.layout['accumulation_steps']}"
