"""Measured collectives by size of message, those nearest to one that is predicted."""

from __future__ import annotations

import math
from collections import defaultdict
from functools import cache
from statistics import median
from typing import NamedTuple

from perfmodel.evidence.accuracy.collectives.collective_rows import Measurement, shipped_measurements
from perfmodel.model.collectives.place import Point
from perfmodel.model.prediction.collectives.collective_spread import transport_of

SHOWN = 3
"""At most so many, each of another source."""
FEWEST_SIZES = 4
"""Less is no curve."""


class MeasuredCurve(NamedTuple):
    """One source's collective at one place."""

    source: str
    accelerator: str
    point: Point
    """Of one of its sizes."""
    sizes: tuple[float, ...]
    """[B], ascending."""
    times: tuple[float, ...]
    """[s]; of several at one size the median."""


def nearest_curves(point: Point) -> list[MeasuredCurve]:
    """Return measured curves of the same collective over the same kind of link, the nearest first.

    Near is in ranks, nodes and the rate of the links; a factor of each counts alike.
    """
    alike = [
        curve
        for curve in _curves()
        if curve.point.collective == point.collective
        and (curve.point.nodes > 1) == (point.nodes > 1)
        and transport_of(curve.point) == transport_of(point)
    ]
    nearest: dict[str, MeasuredCurve] = {}
    for curve in sorted(alike, key=lambda curve: _apart(curve.point, point)):
        nearest.setdefault(curve.source, curve)
    return list(nearest.values())[:SHOWN]


def _apart(one: Point, other: Point) -> float:
    ratios = one.group_size / other.group_size, one.nodes / other.nodes, _rate(one) / _rate(other)
    return sum(abs(math.log(ratio)) for ratio in ratios)


def _rate(point: Point) -> float:
    """What joins a node to others, or inside one node an accelerator to its peers, nominal [B/s]."""
    if point.nodes > 1 and point.inter_link is not None:
        return point.nics * point.inter_link.bandwidth.value
    return point.link.bandwidth.value


@cache
def _curves() -> tuple[MeasuredCurve, ...]:
    """Every measured curve that comes with the package."""
    rows: dict[tuple[object, ...], list[tuple[Measurement, Point]]] = defaultdict(list)
    for row in shipped_measurements():
        if row.point is not None and not math.isnan(row.time):
            rows[row.source, row.accelerator, row.point.place].append((row, row.point))
    curves = (_curve(group) for group in rows.values())
    return tuple(curve for curve in curves if len(curve.sizes) >= FEWEST_SIZES)


def _curve(rows: list[tuple[Measurement, Point]]) -> MeasuredCurve:
    times: dict[float, list[float]] = defaultdict(list)
    for row, at in rows:
        times[at.message_bytes].append(row.time)
    first, point = rows[0]
    sizes = tuple(sorted(times))
    return MeasuredCurve(
        first.source, first.accelerator, point, sizes, tuple(map(median, map(times.__getitem__, sizes)))
    )
