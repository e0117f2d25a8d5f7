"""Interval of a collective's time, from the errors on sources and transports left out of the fit."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

from perfmodel.model.collectives.model import fitted
from perfmodel.model.collectives.place import Point, inside, reaches_adapter
from perfmodel.model.fitted.calibration import NORMAL_80, NORMAL_95
from perfmodel.model.fitted.ledger_scales import COLLECTIVES, ONE, SEVERAL, SMALL, Scale, reason, scale_of
from perfmodel.model.prediction.intervals.bound import cut_ends
from perfmodel.model.prediction.intervals.bound import interval_of as cut_interval
from perfmodel.model.prediction.network_cuts import cuts_of, least_time
from perfmodel.model.prediction.result import Interval

SHORT, LARGE = 2.0**20, 2.0**26
"""Sizes between which messages have their own spread [B]."""
OCTAVES = 2.0
"""Octaves below these sizes over which one spread changes to the next, so that intervals have no jumps."""
FLOOR = 0.35
"""Least spread of an unmeasured transport."""
NVLINK_DOMAIN = "NVLink domains of several nodes"
BY_HOST = " through host memory"


def transport_of(point: Point) -> str:
    """Return the class of a fabric's errors: its transport between nodes, or interconnect inside one.

    Adapters without access to accelerators' memory, whose messages pass the host's, are another transport.
    """
    outer = point.inter_link
    if point.machines > point.nodes:
        return NVLINK_DOMAIN
    if point.nodes > 1 and outer is not None:
        kind = "one-sided" if outer.one_sided else outer.kind
        reaches = outer.passes_kernel or reaches_adapter(outer, point.link, point.accelerator)
        return kind if reaches else f"{kind}{BY_HOST}"
    return f"inside {inside(point)[0]}"


SIZES = ("below 1 MiB", "1 to 64 MiB", "from 64 MiB")
"""Names of the classes of sizes."""


def size_class(message_bytes: Any) -> Any:
    """Return the index into ``SIZES`` of a message size [B], or of an array of them."""
    return (message_bytes >= SHORT) * 1 + (message_bytes >= LARGE)


def class_name(several: bool, is_seen: bool, size: int) -> str:
    """Return the class of conditions under which a spread is learned.

    Parameters
    ----------
    several : whether on several nodes
    is_seen : whether another source measured this transport
    size : index into ``SIZES``
    """
    return f"{'several nodes' if several else 'one node'}, {'seen' if is_seen else 'unseen'}, {SIZES[size]}"


def scale_at(several: bool, size: int) -> Scale:
    """Return the ledger's scale of a class of conditions."""
    return scale_of(COLLECTIVES, SMALL if size == 0 else SEVERAL if several else ONE)


def spread_of(point: Point, is_seen: bool, spreads: Mapping[str, float]) -> float:
    """Return the standard deviation of ln(measured / predicted) of a collective on new rows.

    In the last two octaves of a class of sizes it changes to that of the next, linearly in the logarithm of
    the size.

    Parameters
    ----------
    point : the collective
    is_seen : whether another source measured this transport
    spreads : by class
    """
    several = point.nodes > 1
    first, *others = (
        spreads[class_name(several, is_seen, size)] * scale_at(several, size).factor
        for size in range(len(SIZES))
    )
    result = before = first
    for border, after in zip((SHORT, LARGE), others, strict=True):
        part = 1 + math.log2(point.message_bytes / border) / OCTAVES
        result += (after - before) * min(max(part, 0.0), 1.0)
        before = after
    return result


def is_seen(point: Point) -> bool:
    """Return whether at least two sources measured collectives over a point's transport."""
    return transport_of(point) in fitted().transports


def interval_of(point: Point, time: float) -> Interval:
    """Return the interval of a collective's predicted time [s], by the shipped fit."""
    known = is_seen(point)
    over = transport_of(point)
    if point.nodes == 1 and over != NVLINK_DOMAIN:
        over = point.link.kind
    spread, reasons = spread_of(point, known, fitted().spreads), []
    if not known:
        factor = spread / spread_of(point, True, fitted().spreads)
        scale = scale_at(point.nodes > 1, int(size_class(point.message_bytes)))
        reasons = [reason(f"fewer than two sources measured collectives over {over}", factor, scale)]
    return span(point, time, spread).model_copy(update={"wider_because": reasons})


def span(point: Point, time: float, spread: float) -> Interval:
    """Return the interval of a collective's predicted time [s], limited by the least time of its links.

    Parameters
    ----------
    point : the collective
    time : predicted [s]
    spread : standard deviation of ln(measured / predicted)
    """
    scale = scale_at(point.nodes > 1, int(size_class(point.message_bytes)))
    ends = scale.ends(time, *(math.exp(z * spread) for z in (NORMAL_80, NORMAL_95)))
    least_time = least_of(point)
    return cut_interval(cut_ends(ends, time, least_time), least_time, no_95=scale.no_95, wider_because=[])


def least_of(point: Point) -> float:
    """Return the lower bound of a collective's time by the narrowest cut of its network [s]."""
    cuts = cuts_of(point)
    parts = (least_time(point.collective, point.group_size, point.message_bytes, cut) for cut in cuts)
    return max((float(part) for part in parts), default=0.0)
