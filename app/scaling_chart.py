"""The chart of page Scale: a quantity against the number of GPUs, a curve with its interval for each plan."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

from app import charts, line_charts, similar_runs
from perfmodel.evidence.accuracy.scenarios import measured_time
from perfmodel.model.prediction import Prediction
from perfmodel.model.prediction.alone import efficiency_range
from perfmodel.model.prediction.card import throughput_range
from perfmodel.model.prediction.scaling import Scaling
from perfmodel.model.prediction.speed_words import SAME

MOST_TICKS = 12
"""Most ticks, one for each count."""
HIGH = 0.6
"""Least efficiency above which the axis does not begin at 0."""
YS = {
    "efficiency": "scaling efficiency",
    "throughput": "throughput [samples/s]",
    "speedup": "speed-up over one GPU [1]",
    "time": "iteration time [s]",
    "cost": "cost of an epoch [USD]",
}
"""Quantity of the chart -> title of its axis."""
FIELDS = {
    "efficiency": "scaling_efficiency",
    "throughput": "samples_per_second",
    "speedup": "speedup",
    "time": "iteration_time",
}
"""Quantity of the chart -> field of a prediction; the cost is computed separately."""
RATIOS = ("efficiency", "speedup")
"""Quantities against one GPU or replica, whose interval is that of the efficiency."""


def draw(result: dict[str, Scaling], drawn: dict[str, list[float | None]], y: str) -> None:
    """Draw the chart of one quantity: all curves with intervals, the ideal, and similar measured runs."""
    xs = {name: [row.world_size for row in line.rows] for name, line in result.items()}
    first = next(iter(result.values())).predictions
    counts = xs[next(iter(result))]
    straight: dict[str, tuple[Sequence[float], Sequence[float]]] = {
        "efficiency": (counts, [1.0 for _ in counts]),
        "speedup": (counts, counts),
    }
    names = legend_names(drawn)
    bands = {names[name]: band for name, band in _bands(result, y).items()}
    figure = line_charts.lines(
        {names[name]: (xs[name], drawn[name]) for name in result},
        "GPUs [1]",
        YS[y],
        log_y=y in ("throughput", "speedup"),
        bands=bands,
        points=_measured(first[-1].scenario, y),
        ideal=straight.get(y),
        percent=y == "efficiency",
        ticks=_ticks(counts),
    )
    lines: list[Sequence[float | None]] = [*drawn.values(), *(low for low, _ in bands.values())]
    least = min((value for line in lines for value in line if value is not None), default=0.0)
    if y == "efficiency" and least > HIGH:
        figure.update_yaxes(rangemode="normal", range=[math.floor(20 * least - 0.2) / 20, 1.02])
    charts.draw(figure, y, f"{YS[y]} against GPUs")


def band_words(result: dict[str, Scaling], y: str) -> list[str]:
    """Return what the bands of the chart are, as at most one note."""
    drawn = _bands(result, y)
    if not drawn:
        return []
    others = ", of the other curves as bars beside the points" if len(drawn) > 1 else ""
    return [f"shaded: the 80 % interval{others}"]


def legend_names(drawn: dict[str, list[float | None]]) -> dict[str, str]:
    """Return curve's name -> its name in the legend, which says of each that lies on the first.

    >>> legend_names({"a (chosen)": [1.0, 0.9], "b": [1.0, 0.899], "c": [1.0, 0.8]})
    {'a (chosen)': 'a (chosen)', 'b': 'b (same curve)', 'c': 'c'}
    """
    (name, first), *others = drawn.items()
    names = {name: name}
    for other, line in others:
        is_same = all(a and b and abs(a / b - 1) < SAME for a, b in zip(line, first, strict=True))
        names[other] = f"{other} (same curve)" if is_same else other
    return names


def _ticks(counts: list[int]) -> list[int] | None:
    """Return the counts that get ticks: all of a few, else powers of two; None for automatic ticks."""
    some = counts if len(counts) <= MOST_TICKS else [count for count in counts if count & (count - 1) == 0]
    return some if len(some) <= MOST_TICKS and (some == counts or len(some) > 2) else None


def _bands(result: dict[str, Scaling], y: str) -> dict[str, tuple[list[float], list[float]]]:
    """Return curve's name -> ends of its 80 % interval, where all its points have one."""
    bands = {}
    for name, line in result.items():
        ends = [span for each in line.predictions if (span := _span(each, line.alone, y)) is not None]
        if len(ends) == len(line.rows):
            bands[name] = ([low for low, _ in ends], [high for _, high in ends])
    return bands


def _span(prediction: Prediction, alone: Prediction | None, y: str) -> tuple[float, float] | None:
    """Return the 80 % interval of a drawn quantity; ``alone`` is the job on one accelerator or replica."""
    if y in RATIOS:
        if (ends := efficiency_range(prediction, alone)) is None:
            return None
        per = getattr(prediction, FIELDS[y]) / prediction.scaling_efficiency
        return per * ends[0], per * ends[1]
    if y == "throughput":
        return throughput_range(prediction)
    interval = prediction.interval
    return (interval.low_80, interval.high_80) if interval and y == "time" else None


def _measured(scenario: Mapping[str, Any], y: str) -> dict[str, tuple[list[float], list[float], list[str]]]:
    """Return measured points of runs with the same network, accelerator, precision and batch."""
    runs = [
        run
        for run in similar_runs.family(scenario)
        if (run.precision, run.local_batch_size) == (scenario["precision"], scenario["local_batch_size"])
    ]
    value = {"throughput": lambda run: run.samples_per_second, "time": measured_time}.get(y)
    points = [(run, seen) for run in runs if value and (seen := value(run)) is not None]
    if not points:
        return {}
    labels = [
        f"{run.source}: {run.strategy}, {run.inter_link or run.node or 'one machine'}" for run, _ in points
    ]
    return {
        "measured (same batch and precision)": (
            [run.world_size for run, _ in points],
            [seen for _, seen in points],
            labels,
        )
    }
