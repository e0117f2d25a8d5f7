"""Probability that the fastest predicted layout of a transformer is faster than the others."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from perfmodel.equations.ratio import ratio_half_width
from perfmodel.model.prediction.intervals.ratio import SHARED_OUT, Job, chance_above_one, unshared_of


class Timed(NamedTuple):
    """A layout with its predicted time and interval."""

    layout: Mapping[str, int | str]
    """Options of the layout by name, as in a prediction."""
    iteration_time: float
    half_width: float
    """Half-width of its 80 % interval in log time, without the ledger's scale, which layouts share."""


def slower_than_first(
    network: str, length: int, where: tuple[str, str, str], timed: Sequence[Timed]
) -> list[float]:
    """Return, for each layout after the first, the probability that it is slower than the first.

    Parameters
    ----------
    network, length : the network, and the tokens of a sample
    where : accelerator, software and precision
    timed : layouts of one job, the fastest first
    """
    accelerator, software, precision = where

    def job(one: Timed) -> Job:
        batch = float(one.layout["micro_batch_size"])
        start: tuple[str, ...] = ()
        return Job(
            SHARED_OUT, (network, length), accelerator, software, precision, {}, start, one.layout, 1, batch
        )

    def chance(other: Timed) -> float:
        halves = timed[0].half_width, other.half_width
        half = float(ratio_half_width(*halves, unshared_of(job(timed[0]), job(other), halves)))
        return chance_above_one(other.iteration_time / timed[0].iteration_time, half)

    return [chance(other) for other in timed[1:]]
