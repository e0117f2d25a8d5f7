"""Which layouts tie with the first, and why a named one is slower, in sentences."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from perfmodel.core.units import per_cent, percent, show
from perfmodel.model.prediction.layout_order import NEARLY
from perfmodel.model.prediction.memory_odds import short_verdict, verdict
from perfmodel.model.step.terms import TERMS

if TYPE_CHECKING:
    from perfmodel.interfaces.api.layout_row import LayoutRow
    from perfmodel.interfaces.api.layouts import Layouts

MOST_TERMS = 5
"""Terms of a difference that are named, the largest."""


def tie_lines(answer: Layouts) -> list[str]:
    """Return how many layouts tie with the first, within which interval, and which of them to take."""
    ties = answer.ties
    which = "the first itself" if ties.preferred.slower_than_first is None else _with_figures(ties.preferred)
    able = f"of those that fit with {percent(ties.confidence)}"
    if ties.preferred.memory["fits_probability"] < ties.confidence:
        able = "of those that fit most surely"
    taken = (
        f"to take: {able} and are at most {percent(NEARLY - 1)} slower than their fastest, the one with the "
        f"smallest product of degrees: {which}"
    )
    if ties.layouts == 1:
        return ["no other layout that fits ties with the first at 80 % confidence", taken]
    least, largest = f"{ties.least_factor:.2f}", f"{ties.largest_factor:.2f}"
    factor = least if least == largest else f"{least} to {largest}"
    return [
        f"{ties.layouts:,} of {answer.fitting:,} layouts tie with the first, itself included: the ratio of "
        f"their times is known to a factor of {factor} (80 %)",
        taken,
    ]


def against_lines(answer: Layouts) -> list[str]:
    """Return how a named layout compares with the first: rank, differing terms, and whether it fits."""
    against = answer.against
    if against is None:
        return []
    row, first = against.row, answer.rows[0]
    low, high = (f"{row.time_ratio[end]:.2f}" for end in ("low_80", "high_80"))
    return [
        f"against the first: {full_name(row)}: {show(row.iteration_time, 's')}, "
        f"{row.time_ratio['value']:.2f} times as long (80 %: {low} to {high}), {_tie_or_not(row)}",
        f"{_rank(against.rank)} of {answer.fitting:,} that fit"
        + (f"; not among them: {against.not_listed}" if against.not_listed else ""),
        *difference_lines(against.difference, row.iteration_time - first.iteration_time),
        f"memory {row.memory['bytes'] / 2**30:.1f} of {answer.capacity / 2**30:.1f} GiB: "
        f"{verdict(row.memory['fits_probability'])}",
    ]


def _tie_or_not(row: LayoutRow) -> str:
    """Return whether a layout ties with the first, and how surely it is slower or faster."""
    chance = row.slower_than_first
    if chance is None:
        return "the first itself"
    order = f"slower: {percent(chance)}" if chance >= 0.5 else f"faster: {percent(1 - chance)}"
    return f"a tie ({order})" if row.ties_with_first else order


def _rank(rank: int) -> str:
    """Return how many layouts are faster, in words.

    >>> _rank(1), _rank(2), _rank(12)
    ('faster than any', 'slower than 1', 'slower than 11')
    """
    return "faster than any" if rank == 1 else f"slower than {rank - 1:,}"


def difference_lines(difference: Mapping[str, float], whole: float) -> list[str]:
    """Return which terms make the difference of two layouts' times.

    Parameters
    ----------
    difference : seconds by term, the largest difference first
    whole : seconds in all

    >>> difference_lines({"bubble_time": 2.0, "recomputation_time": -0.5}, 1.5)
    ['difference of +1.5 s: pipeline bubble +2 s, recomputation -500 ms']
    """
    if not difference:
        return []
    terms = (f"{TERMS[name].label} {_signed(by)}" for name, by in list(difference.items())[:MOST_TERMS])
    return [f"difference of {_signed(whole)}: {', '.join(terms)}"]


def _signed(seconds: float) -> str:
    """Return seconds with their sign.

    >>> _signed(2.0), _signed(-0.004)
    ('+2 s', '-4 ms')
    """
    return f"{'-' if seconds < 0 else '+'}{show(abs(seconds), 's')}"


def _with_figures(row: LayoutRow) -> str:
    """Return a layout with its time over that of the first, and its memory."""
    memory = row.memory
    fits = short_verdict(memory["fits_probability"])
    slower = per_cent(row.time_ratio["value"] - 1, signed=True)
    return (
        f"{full_name(row)}, {show(row.iteration_time, 's')} ({slower}), "
        f"{memory['bytes'] / 2**30:.1f} GiB, fits: {fits}"
    )


def full_name(row: LayoutRow) -> str:
    """Return layout, micro-batch and passes in words."""
    return f"{row.words}, {row.layout['micro_batch_size']} x {row.layout['accumulation_steps']}"
