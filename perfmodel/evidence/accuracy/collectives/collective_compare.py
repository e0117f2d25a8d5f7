"""Predict measured collectives, in sample or each source by a fit to the others; summarise the errors."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from functools import cache
from typing import Any

import numpy as np

from perfmodel.core.arrays import Array
from perfmodel.evidence.accuracy.campaign import Outcome
from perfmodel.evidence.accuracy.collectives.collective_fit import Judged, data_of, judged, log_times, spreads
from perfmodel.evidence.accuracy.collectives.collective_rows import Measurement, shipped_measurements
from perfmodel.evidence.accuracy.report.error_statistics import by_group, counts, statistics, trusted
from perfmodel.evidence.accuracy.training_rows import TRUSTED
from perfmodel.model.collectives.model import fitted
from perfmodel.model.collectives.parameters import PARAMETERS
from perfmodel.model.collectives.place import Point, traffic_of
from perfmodel.model.prediction.collectives.collective_spread import SHORT, span, spread_of, transport_of


class Row(Outcome):
    """A measured collective and its prediction; times in seconds."""

    run: Measurement
    """The measurement."""

    def to_dict(self) -> dict[str, Any]:
        """Return the row as a dictionary for JSON; times in seconds, sizes in bytes."""
        m, point = self.run, self.run.point
        return {
            "measurement_id": m.run_id,
            "source": m.source,
            "collective": point and point.collective,
            "nodes": point and point.nodes,
            "group_size": point and point.group_size,
            "message_bytes": point and point.message_bytes,
            "measured_time": self.measured,
            "predicted_time": self.predicted,
            **self.ends,
            "reason": self.reason,
        }


def compare_collectives(measured: Sequence[Measurement], out_of_sample: bool = False) -> list[Row]:
    """Predict each measured collective by the shipped fit or, out of sample, by a fit without its source.

    Out of sample, the width of a source's intervals also comes from the errors of the other sources.  The
    fits that predicted those had seen this source, so that its rows have some per cent of influence on the
    width.
    """
    able = [m for m in measured if m.point is not None]
    if not able:
        return [_row(m, None, 0.0) for m in measured]
    logs, widths = _out_of_sample(able) if out_of_sample else _by_shipped_fit(able)
    known = {id(m): each for m, each in zip(able, zip(logs.tolist(), widths, strict=True), strict=True)}
    return [_row(m, *known.get(id(m), (None, 0.0))) for m in measured]


@cache
def shipped_out_of_sample() -> list[Row]:
    """Predict each shipped collective by a fit to all other sources; computed once."""
    return compare_collectives(shipped_measurements(), out_of_sample=True)


def _by_shipped_fit(able: list[Measurement]) -> tuple[Array, list[float]]:
    """Return ln(predicted time [s]) by the shipped fit, and the standard deviation of its error, by row."""
    known = fitted()
    logs = log_times(np.log([known.parameters[name] for name in PARAMETERS]), data_of(able))
    points = [m.point for m in able if m.point is not None]
    seen = [transport_of(point) in known.transports for point in points]
    widths = [spread_of(*each, known.spreads) for each in zip(points, seen, strict=True)]
    return logs, widths


def _out_of_sample(able: list[Measurement]) -> tuple[Array, list[float]]:
    """Return ln(predicted time [s]) by a fit to the other sources, and the deviation of its error, by row."""
    data, sure = data_of(able), np.array([m.trust in TRUSTED for m in able])
    logs, learned = judged(data, sure), data.rows(sure)
    of_learned = Judged(*(each[sure] for each in logs))
    widths = {source: spreads(learned, of_learned, source) for source in np.unique(data.sources).tolist()}
    known = {source: set(learned.transports[learned.sources != source].tolist()) for source in widths}
    return logs.by_source, [
        spread_of(m.point, transport_of(m.point) in known[m.source], widths[m.source])
        for m in able
        if m.point is not None
    ]


def _row(m: Measurement, log: float | None, spread: float) -> Row:
    row = Row(None if math.isnan(m.time) else m.time, reason=m.reason, run=m)
    if log is None or m.point is None:
        return row
    time = math.exp(log)
    within = span(m.point, time, spread)
    return row._replace(
        predicted=time, naive=naive_time(m.point), low_80=within.low_80, high_80=within.high_80
    )


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
"""Labels of groups with different errors -> whether on several nodes, and whether below 1 MiB."""


def summarise(rows: Sequence[Row]) -> dict[str, Any]:
    """Return error statistics by message size, by nodes and size, and within each by the groups of ``KEYS``.

    Rows of trust C are in ``all`` and ``untrusted``, and in no other number.
    """
    known = [(row, row.run.point) for row in rows if row.predicted is not None and trusted(row)]
    parts = [(row, (at.nodes > 1, at.message_bytes < SHORT)) for row, at in known if at is not None]
    return {
        **counts(rows),
        "all": statistics(rows),
        "untrusted": statistics(row for row in rows if not trusted(row)),
        "sizes": {
            label: _grouped([row for row, (_, is_short) in parts if is_short == short])
            for label, short in {LONG_WORDS: False, SHORT_WORDS: True}.items()
        },
        "nodes": {
            label: _grouped([row for row, part in parts if part == wanted]) for label, wanted in PARTS.items()
        },
    }


KEYS: dict[str, Callable[[Row], str]] = {
    "source": lambda row: row.run.source,
    "accelerator": lambda row: row.run.accelerator,
    "link": lambda row: _link(row.run.point),
    "collective": lambda row: row.run.point.collective if row.run.point else "",
    "nodes": lambda row: _node_range(row.run.point),
}
"""Name of a grouping -> function from a row to the label of its group."""


def _link(point: Point | None) -> str:
    if point is None:
        return ""
    return point.link.id if point.inter_link is None else f"{point.link.id} + {point.inter_link.id}"


def _node_range(point: Point | None) -> str:
    """Return the range between powers of two that contains the node count, such as "4 to 7"."""
    if point is None:
        return ""
    least = 2 ** int(math.log2(point.nodes))
    return f"{least}" if least < 4 else f"{least} to {2 * least - 1}"


def _grouped(rows: list[Row]) -> dict[str, Any]:
    return {"all": statistics(rows), **by_group(rows, KEYS)}
