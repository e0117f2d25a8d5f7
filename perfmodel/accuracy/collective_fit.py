"""Fit the model of collectives to measured ones, and predict each source from all the others."""

from __future__ import annotations

import hashlib
import json
import math
from collections import Counter
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from perfmodel.accuracy.collective_rows import Measurement, shipped_measurements
from perfmodel.accuracy.summary import by_reason, errors, over_sources
from perfmodel.least_squares import least_squares
from perfmodel.prediction.bound import end_at
from perfmodel.prediction.collective_model import (
    RESULT,
    Features,
    Point,
    features,
    fitted,
    log_time,
    names,
    start,
    traffic_of,
)
from perfmodel.prediction.network_cuts import cuts_of, least_time
from perfmodel.resources import folder
from perfmodel.writing import write_whole

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

    Array = NDArray[np.float64]

NOISE = 0.12
"""Standard deviation of ln(measured / model) assumed of a good point; larger errors weigh less (Huber)."""
STEP = 1e-4
"""Of a logarithm, for differences."""
LARGEST_SOURCE = 60
"""Largest weight of a source, in points."""
SHORT_BYTES = 2**20
LEARNED = frozenset(
    {
        "aiconfigurator-a100",
        "aiconfigurator-h100",
        "ml-engineering-a100",
        "nccl-tests-a100-host",
        "nccl-tests-aws-p4de",
        "nccl-tests-aws-p5",
        "nccl-tests-dgxc",
        "nccl-tests-playground",
        "vtrain-nccl",
    }
)
"""Sources the shipped fit learns from, nearly all of one node.

Those of many nodes hold fabrics that one number for the way between nodes cannot tell apart (plug-ins, kernel
TCP, in-network sums): fitted together they take the median error of single machines from 6 to 38 %.
"""


def fit(of: Features, times: Array, sources: list[str]) -> Array:
    """Return the parameters nearest to the measured times, drawn towards their prior.

    Parameters
    ----------
    of : the points' physics
    times : measured [s], shape (points,)
    sources : of each point; a large source does not own the fit
    """
    mean, spread = start()
    counts = Counter(sources)
    weights = np.array([min(1.0, LARGEST_SOURCE / counts[source]) for source in sources])

    def evaluate(parameters: Array) -> tuple[Array, Array]:
        now = log_time(parameters, of)
        steps = np.eye(len(parameters)) * STEP
        slopes = np.stack([(log_time(parameters + step, of) - now) / STEP for step in steps], axis=1)
        return now, slopes

    return least_squares(
        evaluate, np.log(times), weights, mean, spread, noise=NOISE, robust=1.5 * NOISE, iterations=12
    )


class Row(NamedTuple):
    """A measured collective and what the model says of it; times in seconds, None where it must refuse."""

    measurement: Measurement
    predicted_time: float | None
    naive_time: float | None
    """A ring at the link's nominal bandwidth."""
    low_80: float | None
    high_80: float | None
    low_95: float | None
    high_95: float | None

    def to_dict(self) -> dict[str, Any]:
        """Return the row as people script against it."""
        report = self._asdict()
        m = report.pop("measurement")
        report.pop("naive_time")
        return {
            "measurement_id": m.measurement_id,
            "source": m.source,
            "measured_time": None if math.isnan(m.time) else m.time,
            **report,
            "reason": m.reason,
        }


def summarise(rows: list[Row]) -> dict[str, Any]:
    """Return errors by size, and for each size by source, accelerator, link and collective."""
    able = [row for row in rows if row.predicted_time is not None and row.measurement.point is not None]
    result: dict[str, Any] = {
        "rows": len(rows),
        "refused": len(rows) - len(able),
        "refused_by_reason": by_reason(row.measurement.reason for row in rows),
        "sizes": {},
    }
    for label, is_short in (("at least 1 MiB", False), ("below 1 MiB", True)):
        part = [row for row in able if _is_short(row.measurement.point) == is_short]
        grouped = {name: _by(part, key) for name, key in _KEYS.items()}
        result["sizes"][label] = {"all": _errors(part), **grouped}
    return result


_KEYS: dict[str, Callable[[Row], str]] = {
    "source": lambda row: row.measurement.source,
    "accelerator": lambda row: row.measurement.accelerator,
    "link": lambda row: _link(row.measurement.point),
    "collective": lambda row: row.measurement.point.collective if row.measurement.point else "",
}


def _is_short(point: Point | None) -> bool:
    return point is not None and point.message_bytes < SHORT_BYTES


def _link(point: Point | None) -> str:
    if point is None:
        return ""
    return point.link.id if point.inter_link is None else f"{point.link.id} + {point.inter_link.id}"


def _by(rows: list[Row], key: Callable[[Row], str]) -> dict[str, Any]:
    return {name: _errors([row for row in rows if key(row) == name]) for name in sorted(set(map(key, rows)))}


def _errors(rows: list[Row]) -> dict[str, Any]:
    report = errors([row.predicted_time / row.measurement.time - 1 for row in rows if row.predicted_time])
    naive = errors([row.naive_time / row.measurement.time - 1 for row in rows if row.naive_time])
    covered = [
        row.low_80 <= row.measurement.time <= row.high_80 for row in rows if row.low_80 and row.high_80
    ]
    sources = [
        (row.measurement.source, row.predicted_time / row.measurement.time - 1)
        for row in rows
        if row.predicted_time
    ]
    return {
        **report._asdict(),
        **over_sources(sources),
        "baseline": naive._asdict(),
        "coverage_80": sum(covered) / len(covered) if covered else None,
    }


def compare_collectives(
    measured: list[Measurement], out_of_sample: bool = False, learned: frozenset[str] = LEARNED
) -> list[Row]:
    """Predict each collective: by the shipped fit, or by one to all other sources of those ``learned``.

    Out of sample the width of a source's intervals, too, comes from how far off the other sources were; what
    predicted those had seen this source, which leaves a per cent or so of it in the width.
    """
    able = [m for m in measured if m.point is not None]
    logs = _logs(able, out_of_sample, learned) if able else np.empty(0)
    shipped = (fitted().spread_short, fitted().spread_long)
    spreads = _spreads_of_others(able, logs, learned) if out_of_sample and able else {}
    report = {m.measurement_id: log for m, log in zip(able, logs.tolist(), strict=True)}
    return [_row(m, report.get(m.measurement_id), spreads.get(m.source, shipped)) for m in measured]


def compare_beside_shipped(own: list[Measurement]) -> list[Row]:
    """Predict a user's collectives, each source by a fit to its others and to those that come along."""
    names, shipped = {each.measurement_id for each in own}, shipped_measurements()
    others = [each for each in shipped if each.measurement_id not in names]
    new = {each.source for each in own} - {each.source for each in shipped}
    return compare_collectives([*others, *own], out_of_sample=True, learned=LEARNED | new)[len(others) :]


def _logs(measured: list[Measurement], out_of_sample: bool, learned: frozenset[str] = LEARNED) -> Array:
    """Logarithm of the predicted time of each measurement, all of which have a point."""
    of = features([m.point for m in measured if m.point is not None])
    if not out_of_sample:
        return log_time(fitted().parameters, of)
    times, sources = np.array([m.time for m in measured]), np.array([m.source for m in measured])
    taught = np.isin(sources, sorted(learned))
    by_all = fit(_part(of, taught), times[taught], sources[taught].tolist())
    logs = log_time(by_all, of)
    for source in np.unique(sources[taught]):
        inside = sources == source
        others = taught & ~inside
        parameters = fit(_part(of, others), times[others], sources[others].tolist())
        logs[inside] = log_time(parameters, _part(of, inside))
    return logs


def _spreads_of_others(
    measured: list[Measurement], logs: Array, learned: frozenset[str]
) -> dict[str, tuple[float, float]]:
    """For each source the spread of the misses of all others learned from, below 1 MiB and from there on."""
    misses = logs - np.log([m.time for m in measured])
    short = np.array([_is_short(m.point) for m in measured])
    sources = np.array([m.source for m in measured])
    taught = np.isin(sources, sorted(learned))
    result = {}
    for source in sources.tolist():
        if source not in result:
            others = taught & (sources != source)
            result[source] = (_spread(misses[others & short]), _spread(misses[others & ~short]))
    return result


def _part(of: Features, rows: NDArray[np.bool_]) -> Features:
    return Features(*(column[rows] for column in of))


def _row(m: Measurement, log: float | None, spread: tuple[float, float]) -> Row:
    if log is None or m.point is None:
        return Row(m, None, None, None, None, None, None)
    width = spread[0] if m.point.message_bytes < SHORT_BYTES else spread[1]
    point, time = m.point, math.exp(log)
    least = max(
        float(least_time(point.collective, point.group_size, point.message_bytes, cut))
        for cut in cuts_of(point)
    )
    low_80, high_80, low_95, high_95 = (math.exp(log + z * width) for z in (-1.2816, 1.2816, -1.96, 1.96))
    low_80, low_95 = (end_at(low, time, least) for low in (low_80, low_95))
    return Row(m, time, naive_time(point), low_80, high_80, low_95, high_95)


def naive_time(point: Point) -> float:
    """Time of a ring at nominal bandwidth and latency [s]."""
    n = point.group_size
    hops = {"all-reduce": 2 * (n - 1), "send-receive": 1}.get(point.collective, n - 1)
    hop, bandwidth = point.link.hop_latency.value, point.link.bandwidth.value
    if point.nodes > 1 and point.inter_link is not None:
        hop = max(hop, point.inter_link.hop_latency.value)
        bandwidth = min(bandwidth, point.nics * point.inter_link.bandwidth.value)
    return hops * hop + traffic_of(point.collective, n) * point.message_bytes / bandwidth


def refit() -> None:
    """Fit to the shipped measurements of the sources learned from; write the result, whole or not at all."""
    measured = [m for m in shipped_measurements() if m.point is not None and m.source in LEARNED]
    points = [m.point for m in measured if m.point is not None]
    times = np.array([m.time for m in measured])
    parameters = fit(features(points), times, [m.source for m in measured])
    misses = _logs(measured, out_of_sample=True) - np.log(times)
    short = np.array([point.message_bytes < SHORT_BYTES for point in points])
    data = (folder("validation") / "measured" / "collectives.csv").read_bytes()
    table = {
        "made_by": "python -m perfmodel.accuracy.collective_fit",
        "sha256": hashlib.sha256(data).hexdigest(),
        "points": len(points),
        "spread_short": float(f"{_spread(misses[short]):.4g}"),
        "spread_long": float(f"{_spread(misses[~short]):.4g}"),
        "parameters": {
            name: float(f"{math.exp(value):.6g}") for name, value in zip(names(), parameters, strict=True)
        },
    }
    write_whole(RESULT, json.dumps(table, indent=1) + "\n")


def _spread(misses: Array) -> float:
    """Standard deviation of a normal law that covers as much as these at 80 %; biases count as misses."""
    return float(np.quantile(np.abs(misses), 0.80) / 1.2816) if len(misses) else 0.0


if __name__ == "__main__":
    refit()
