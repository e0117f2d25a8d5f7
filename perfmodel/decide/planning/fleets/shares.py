"""Samples of each kind of machine in proportion to its speed, as whole numbers."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any, NamedTuple

from perfmodel.core.errors import refusal
from perfmodel.decide.planning.fleets.job import Layout
from perfmodel.decide.planning.fleets.written import Fleet, Group
from perfmodel.model.prediction import Prediction

UNBOUNDED = 10**9
EVERY_MICRO_BATCH = {
    "zero2": "gradients are scattered",
    "zero3": "weights are gathered and gradients scattered",
}
"""Sharding for which replicas communicate in every micro-batch, and what they exchange."""


class Units(NamedTuple):
    """Units that are distributed: samples over accelerators, or micro-batches over replicas."""

    equal: int
    """Units of each where all have the same number."""
    takers: Mapping[Group, int]
    """Number of accelerators, or replicas, of each kind."""
    most: Mapping[Group, int]
    """Largest number of units of one accelerator or replica of each kind."""
    step: int = 1
    """Shares are multiples of it."""

    @property
    def total(self) -> int:
        """Units of the whole fleet."""
        return self.equal * sum(self.takers.values())


def units_of(fleet: Fleet, predictions: Mapping[Group, Prediction], layout: Layout | None) -> Units:
    """Return the units that a fleet can distribute over its kinds of machines.

    Interleaved stages (Megatron-LM's virtual ones) take micro-batches in groups of as many as there are
    stages, so that the number of each replica is a multiple of that.

    Parameters
    ----------
    fleet : of several kinds
    predictions : of each kind, with equal shares
    layout : of a model-parallel transformer, else None

    Raises
    ------
    InputError : replicas that communicate at every micro-batch, so that all need the same number
    """
    first = next(iter(predictions.values()))
    if layout is None:
        most = {group: max(1, one.memory.largest_local_batch_size) for group, one in predictions.items()}
        return Units(
            int(first.scenario["local_batch_size"]), {group: group.gpus for group in fleet.groups}, most
        )
    if (together := EVERY_MICRO_BATCH.get(layout["sharding"])) is not None:
        raise refusal("fleet.shares", together=together, sharding=layout["sharding"])
    words: Mapping[str, Any] = first.layout or {}
    ranks = fleet.gpus // int(words["data_parallel"])
    count = {group: group.gpus // ranks for group in fleet.groups}
    step = int(layout["pipeline_parallel"]) if int(layout["virtual_stages"]) > 1 else 1
    return Units(int(layout["accumulation_steps"]), count, dict.fromkeys(fleet.groups, UNBOUNDED), step)


def whole_shares(wanted: Mapping[Group, float], units: Units) -> dict[Group, int]:
    """Return possible shares that sum to the total: rounded down, the rest to those that lost most."""
    step, count = units.step, units.takers
    shares = {
        group: min(units.most[group], max(step, step * math.floor(share / step + 1e-9)))
        for group, share in wanted.items()
    }

    def left() -> int:
        return units.total - sum(shares[group] * count[group] for group in shares)

    while left() < 0:  # a share may not be less than one unit
        most = max((one for one in shares if shares[one] > step), key=lambda one: shares[one] - wanted[one])
        shares[most] -= step
    for group in sorted(shares, key=lambda one: shares[one] - wanted[one]):
        more = min(units.most[group] - shares[group], left() // count[group])
        shares[group] += step * max(0, more // step)
    return shares


def shares_beside(shares: Mapping[Group, int], units: Units) -> list[dict[Group, int]]:
    """Return the possible shares with one unit more or less for one kind, balanced by the others."""
    neighbours = []
    for one in shares:
        others = sum(count for group, count in units.takers.items() if group != one)
        for more in (-units.step, units.step):
            compensation = more * units.takers[one] / others
            wanted = {
                group: share + more if group == one else share - compensation
                for group, share in shares.items()
            }
            neighbours.append(whole_shares(wanted, units))
    return neighbours
