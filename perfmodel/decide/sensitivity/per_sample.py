"""What an input changes of the time per sample: a larger batch takes longer, and also does more work."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

BATCHES = ("local_batch_size", "global_batch_size", "micro_batch_size")
"""Inputs that change the samples of an iteration in proportion."""
STEP = 0.25
"""Change of an input behind ``at_-25%`` and ``at_+25%``."""


class Effect(NamedTuple):
    """What a change of an input does to the time per sample, as a share of it; None where it is not known."""

    row: Mapping[str, Any]
    """The input, as a row of ``perfmodel sensitivity --json``."""
    one_percent: float | None
    """Of 1 % more of it [%]."""
    less: float | None
    """Of a quarter less."""
    more: float | None
    """Of a quarter more."""

    @property
    def most(self) -> float:
        """The larger of ``less`` and ``more``, without its sign; 0 where they are not known."""
        return max((abs(each) for each in (self.less, self.more) if each is not None), default=0.0)

    @property
    def saving(self) -> tuple[float, str]:
        """The share of the time per sample that a quarter less or more saves, 0 for neither; and which."""
        return max(
            (0.0, "more"),
            *((-(change or 0.0), way) for change, way in ((self.less, "less"), (self.more, "more"))),
        )


def effects(inputs: Sequence[Mapping[str, Any]], iteration_time: float) -> list[Effect]:
    """Return what every input changes of the time per sample, the strongest first.

    Parameters
    ----------
    inputs : rows of ``perfmodel sensitivity --json``
    iteration_time : of the unchanged job [s]

    Examples
    --------
    A batch of 25 % more that takes 20 % longer takes 1.2 / 1.25 - 1 = 4 % less for each sample.

    >>> sides = {"elasticity": 0.8, "below": 0.8, "above": 0.8}
    >>> batch = {"name": "local_batch_size", "time": sides, "at_-25%": 0.8, "at_+25%": 1.2}
    >>> (effect,) = effects([batch], 1.0)
    >>> round(effect.one_percent, 6), round(effect.less, 6), round(effect.more, 6)
    (-0.2, 0.066667, -0.04)
    """
    return sorted((_effect(row, iteration_time) for row in inputs), key=lambda each: -each.most)


def _effect(row: Mapping[str, Any], time: float) -> Effect:
    is_batch = row["name"] in BATCHES
    less, more = (
        None if row[key] is None else row[key] / time / (1 + sign * STEP * is_batch) - 1
        for sign, key in ((-1, "at_-25%"), (1, "at_+25%"))
    )
    sides = row["time"]
    one = sides["above"] if sides["elasticity"] is None else sides["elasticity"]
    return Effect(row, None if one is None else one - is_batch, less, more)
