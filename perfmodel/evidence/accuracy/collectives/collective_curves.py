"""Measured times of a collective against message size, for the fabrics most similar to a predicted one."""

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
"""Largest number of curves returned, each from another source."""
FEWEST_SIZES = 4
"""Least number of message sizes that make a curve."""


class MeasuredCurve(NamedTuple):
    """Times that one source measured for a collective on one fabric, by message size."""

    source: str
    accelerator: str
    point: Point
    """Collective and fabric; its message size is one of ``sizes``."""
    sizes: tuple[float, ...]
    """Message sizes [B], ascending."""
    times: tuple[float, ...]
    """Time at each size [s]; the median of several measurements."""


def nearest_curves(point: Point) -> list[MeasuredCurve]:
    """Return measured curves of the same collective over the same type of link, the most similar first.

    The distance is the sum of the absolute logarithms of the ratios of ranks, nodes and nominal bandwidth.
    At most ``SHOWN`` curves, the nearest one of each source.
    """
    alike = [
        curve
        for curve in _curves()
        if curve.point.collective == point.collective
        and (curve.point.nodes > 1) == (point.nodes > 1)
        and transport_of(curve.point) == transport_of(point)
    ]
    nearest: dict[str, MeasuredCurve] = {}
    for curve in sorted(alike, key=lambda curve: _distance(curve.point, point)):
        nearest.setdefault(curve.source, curve)
    return list(nearest.values())[:SHOWN]


def _distance(one: Point, other: Point) -> float:
    """Return the sum of absolute logarithms of the ratios of ranks, nodes and nominal bandwidth."""
    ratios = one.group_size / other.group_size, one.nodes / other.nodes, _rate(one) / _rate(other)
    return sum(abs(math.log(ratio)) for ratio in ratios)


def _rate(point: Point) -> float:
    """Return the nominal bandwidth [B/s] of a node's NICs, or of an accelerator's link within one node."""
    if point.nodes > 1 and point.inter_link is not None:
        return point.nics * point.inter_link.bandwidth.value
    return point.link.bandwidth.value


@cache
def _curves() -> tuple[MeasuredCurve, ...]:
    """Return all shipped measured curves with at least ``FEWEST_SIZES`` message sizes."""
    rows: dict[tuple[object, ...], list[tuple[Measurement, Point]]] = defaultdict(list)
    for row in shipped_measurements():
        if row.point is not None and not math.isnan(row.time):
            rows[row.source, row.accelerator, row.point.place].append((row, row.point))
    curves = (_curve(group) for group in rows.values())
    return tuple(curve for curve in curves if len(curve.sizes) >= FEWEST_SIZES)


def _curve(rows: list[tuple[Measurement, Point]]) -> MeasuredCurve:
    """Return the curve through the measurements of one source on one fabric."""
    times: dict[float, list[float]] = defaultdict(list)
    for row, at in rows:
        times[at.message_bytes].append(row.time)
    first, point = rows[0]
    sizes = tuple(sorted(times))
    return MeasuredCurve(
        first.source, first.accelerator, point, sizes, tuple(map(median, map(times.__getitem__, sizes)))
    )
