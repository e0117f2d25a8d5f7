"""Measured collectives beside what the model says: by the shipped fit, or each source by the others."""

from __future__ import annotations

import math
from functools import cache
from statistics import fmean, median
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from perfmodel.accuracy.collective_fit import (
    data_of,
    fit,
    judged,
    learned_from,
    log_times,
    spreads,
)
from perfmodel.accuracy.collective_rows import Measurement, shipped_measurements
from perfmodel.accuracy.runs import TRUSTED
from perfmodel.accuracy.summary import by_reason, errors, over_sources
from perfmodel.collectives.model import fitted
from perfmodel.collectives.parameters import PARAMETERS
from perfmodel.collectives.place import Point, traffic_of
from perfmodel.prediction.collective_spread import SHORT, span, spread_of, transport_of

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from numpy.typing import NDArray

    Array = NDArray[np.float64]


class Row(NamedTuple):
    """A measured collective and what the model says of it; times in seconds, None where it must refuse."""

    measurement: Measurement
    """What was measured."""
    predicted_time: float | None
    naive_time: float | None
    """A ring at the link's nominal bandwidth."""
    low_80: float | None
    high_80: float | None

    @property
    def error(self) -> float | None:
        """Predicted over measured time, less 1."""
        return None if self.predicted_time is None else self.predicted_time / self.measurement.time - 1

    def to_dict(self) -> dict[str, Any]:
        """Return the row as people script against it."""
        report = self._asdict()
        m = report.pop("measurement")
        report.pop("naive_time")
        point = m.point
        return {
            "measurement_id": m.measurement_id,
            "source": m.source,
            "collective": point and point.collective,
            "nodes": point and point.nodes,
            "group_size": point and point.group_size,
            "message_bytes": point and point.message_bytes,
            "measured_time": None if math.isnan(m.time) else m.time,
            **report,
            "reason": m.reason,
        }


def compare_collectives(measured: Sequence[Measurement], out_of_sample: bool = False) -> list[Row]:
    """Predict each collective: by the shipped fit, or each source by a fit to all others.

    Out of sample the width of a source's intervals, too, comes from how far off the other sources were; what
    predicted those had seen this source, which leaves some per cent of it in the width.
    """
    able = [m for m in measured if m.point is not None]
    if not able:
        return [_row(m, None, 0.0) for m in measured]
    logs, widths = _out_of_sample(able) if out_of_sample else _by_shipped_fit(able)
    known = {id(m): each for m, each in zip(able, zip(logs.tolist(), widths, strict=True), strict=True)}
    return [_row(m, *known.get(id(m), (None, 0.0))) for m in measured]


@cache
def shipped_out_of_sample() -> list[Row]:
    """Predict each collective that comes along by a fit to all other sources; made once."""
    return compare_collectives(shipped_measurements(), out_of_sample=True)


def compare_beside_shipped(own: Sequence[Measurement]) -> list[Row]:
    """Predict a user's collectives, each source by a fit to its others and to those that come along."""
    names, shipped = {each.measurement_id for each in own}, shipped_measurements()
    others = [each for each in shipped if each.measurement_id not in names]
    return compare_collectives([*others, *own], out_of_sample=True)[len(others) :]


def _by_shipped_fit(able: list[Measurement]) -> tuple[Array, list[float]]:
    known = fitted()
    logs = log_times(np.log([known.parameters[name] for name in PARAMETERS]), data_of(able))
    points = [m.point for m in able if m.point is not None]
    seen = [transport_of(point) in known.transports for point in points]
    widths = [spread_of(*each, known.spreads) for each in zip(points, seen, strict=True)]
    return logs, widths


def _out_of_sample(able: list[Measurement]) -> tuple[Array, list[float]]:
    """Logarithm of the time of each, and the spread of its logarithm, by what other sources say."""
    learned = learned_from(able)
    data = data_of(learned)
    logs = judged(data)
    result = dict(zip(map(id, learned), logs.by_source.tolist(), strict=True))
    rest = [m for m in able if id(m) not in result]
    for source in sorted({m.source for m in rest}):
        rows = [m for m in rest if m.source == source]
        by_others = fit(data.rows(data.sources != source))
        result |= dict(zip(map(id, rows), log_times(by_others, data_of(rows)).tolist(), strict=True))
    widths = {source: spreads(data, logs, source) for source in sorted({m.source for m in able})}
    known = {source: set(data.transports[data.sources != source].tolist()) for source in widths}
    return np.array([result[id(m)] for m in able]), [
        spread_of(m.point, transport_of(m.point) in known[m.source], widths[m.source])
        for m in able
        if m.point is not None
    ]


def _row(m: Measurement, log: float | None, spread: float) -> Row:
    if log is None or m.point is None:
        return Row(m, None, None, None, None)
    time = math.exp(log)
    ends = span(m.point, time, spread)
    return Row(m, time, naive_time(m.point), ends.low_80, ends.high_80)


def naive_time(point: Point) -> float:
    """Time of a ring at nominal bandwidth and latency [s]."""
    n = point.group_size
    hops = {"all-reduce": 2 * (n - 1), "send-receive": 1}.get(point.collective, n - 1)
    hop, bandwidth = point.link.hop_latency.value, point.link.bandwidth.value
    if point.nodes > 1 and point.inter_link is not None:
        hop = max(hop, point.inter_link.hop_latency.value)
        bandwidth = min(bandwidth, point.nics * point.inter_link.bandwidth.value)
    return hops * hop + traffic_of(point.collective, n) * point.message_bytes / bandwidth


LONG_WORDS, SHORT_WORDS = "at least 1 MiB", "below 1 MiB"
PARTS = {
    "several nodes, at least 1 MiB": (True, False),
    "several nodes, below 1 MiB": (True, True),
    "one node, at least 1 MiB": (False, False),
    "one node, below 1 MiB": (False, True),
}
"""Whether on several nodes, and whether below 1 MiB: parts that are missed by different amounts."""


def summarise(rows: Sequence[Row]) -> dict[str, Any]:
    """Return errors by size, by nodes and size, and for each of these by source, link, ...

    Rows of trust C stand in ``untrusted`` and in no other number.
    """
    able = [row for row in rows if row.predicted_time is not None]
    trusted = [row for row in able if row.measurement.trust in TRUSTED]
    sizes = {LONG_WORDS: False, SHORT_WORDS: True}
    return {
        "rows": len(rows),
        "refused": len(rows) - len(able),
        "refused_by_reason": by_reason(row.measurement.reason for row in rows),
        "untrusted": _errors([row for row in able if row.measurement.trust not in TRUSTED]),
        "sizes": {
            label: _grouped([row for row in trusted if _is_short(row) == short])
            for label, short in sizes.items()
        },
        "nodes": {
            label: _grouped([row for row in trusted if (_is_several(row), _is_short(row)) == part])
            for label, part in PARTS.items()
        },
    }


KEYS: dict[str, Callable[[Row], str]] = {
    "source": lambda row: row.measurement.source,
    "accelerator": lambda row: row.measurement.accelerator,
    "link": lambda row: _link(row.measurement.point),
    "collective": lambda row: row.measurement.point.collective if row.measurement.point else "",
    "nodes": lambda row: _counted(row.measurement.point),
}
"""What rows are grouped by -> the group of a row."""


def _is_short(row: Row) -> bool:
    return row.measurement.point is not None and row.measurement.point.message_bytes < SHORT


def _is_several(row: Row) -> bool:
    return row.measurement.point is not None and row.measurement.point.nodes > 1


def _link(point: Point | None) -> str:
    if point is None:
        return ""
    return point.link.id if point.inter_link is None else f"{point.link.id} + {point.inter_link.id}"


def _counted(point: Point | None) -> str:
    """Nodes in powers of two, so that groups have rows."""
    if point is None:
        return ""
    least = 2 ** int(math.log2(point.nodes))
    return f"{least}" if least < 4 else f"{least} to {2 * least - 1}"


def _grouped(rows: list[Row]) -> dict[str, Any]:
    return {"all": _errors(rows)} | {name: _by(rows, key) for name, key in KEYS.items()}


def _by(rows: list[Row], key: Callable[[Row], str]) -> dict[str, Any]:
    return {name: _errors([row for row in rows if key(row) == name]) for name in sorted(set(map(key, rows)))}


def _errors(rows: list[Row]) -> dict[str, Any]:
    """Errors of rows, each alike and each source alike, beside those of a naive answer."""
    signed = [(row.measurement.source, row.error) for row in rows if row.error is not None]
    naive = errors([row.naive_time / row.measurement.time - 1 for row in rows if row.naive_time])
    held: dict[str, list[bool]] = {}
    for row in rows:
        if row.low_80 is not None and row.high_80 is not None:
            inside = row.low_80 <= row.measurement.time <= row.high_80
            held.setdefault(row.measurement.source, []).append(inside)
    of_source = [median(abs(e) for s, e in signed if s == source) for source in {s for s, _ in signed}]
    return {
        **errors([error for _, error in signed])._asdict(),
        **over_sources(signed),
        "median_over_sources": median(of_source) if of_source else None,
        "mean_of_medians": fmean(of_source) if of_source else None,
        "baseline": naive._asdict(),
        "coverage_80": fmean(each for of in held.values() for each in of) if held else None,
        "coverage_80_over_sources": fmean(map(fmean, held.values())) if held else None,
    }
