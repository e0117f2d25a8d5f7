"""Charts of a diagnosis: a measured point in the interval of its job, or a listing against its prediction."""

from __future__ import annotations

import math
from typing import NamedTuple

from app.charts import BLUE, GREY, ORANGE, RED, scale
from app.figure import Figure
from perfmodel.core.units import percent, show, show_range
from perfmodel.decide.diagnosis.answer import DiagnosedSize, Diagnosis
from perfmodel.decide.diagnosis.chances import listed

WIDE = 8
"""Largest over least drawn time from which the axis is logarithmic."""
LOGARITHMIC = ", logarithmic axis"
"""In the title of such an axis."""
MEASURED, PREDICTED, PUBLISHED = "measured", "predicted", "published"
"""Rows of the chart, from the top; before the last one for each cause."""
MOST_CAUSES = 4
"""Most causes that are drawn, the likeliest; another value on which the verdict turns comes on top."""
_INSET = "   "
"""Distance of a label from its point."""


class _Row(NamedTuple):
    """Points of one row of the chart."""

    name: str
    times: list[float]
    """[s]"""
    labels: list[str]
    """Next to the points."""
    hover: list[str]
    look: tuple[str, str, int]
    """Colour, symbol and size."""
    legend: str = ""
    """What its points are; empty where its name says that."""


def in_interval(answer: Diagnosis) -> Figure:
    """Return a chart of the iteration time: measured, predicted, with each cause, of published runs."""
    figure = Figure()
    rows = [row for row in _rows(answer) if row.times]
    every = [answer.low_80, answer.high_80, *(time for row in rows for time in row.times)]
    is_wide = max(every) > WIDE * min(every)
    middle = math.sqrt(min(every) * max(every)) if is_wide else max(every) / 2
    is_right = answer.low_80 * answer.high_80 < middle**2  # where the number goes beside the bar
    figure.add_scatter(
        x=[answer.low_80, answer.high_80],
        y=[PREDICTED] * 2,
        mode="lines",
        line={"color": BLUE, "width": 12},
        opacity=0.5,
        name="80 % of such jobs",
        hovertemplate="80 % of such jobs: %{x:.3s}s<extra></extra>",
    )
    figure.add_scatter(
        x=[answer.high_80 if is_right else answer.low_80],
        y=[PREDICTED],
        mode="text",
        text=[f"{_INSET}{show(answer.predicted, 's')}{_INSET}"],
        textposition=f"middle {'right' if is_right else 'left'}",
        hoverinfo="skip",
        showlegend=False,
    )
    figure.add_vline(answer.measured, line={"color": RED, "width": 1, "dash": "dot"})
    legend = {""}  # the names of rows say what the others are
    for row in rows:
        colour, symbol, size = row.look
        figure.add_scatter(
            name=row.legend,
            showlegend=row.legend not in legend,
            x=row.times,
            y=[row.name] * len(row.times),
            mode="markers+text",
            text=[f"{_INSET}{label}{_INSET}" if label else "" for label in row.labels],
            textposition=["middle left" if time > middle else "middle right" for time in row.times],
            customdata=row.hover,
            marker={"color": colour, "symbol": symbol, "size": size},
            hovertemplate="%{customdata}<extra></extra>",
        )
        legend.add(row.legend)
    order = [row.name for row in rows]
    figure.update_yaxes(categoryorder="array", categoryarray=order[::-1], automargin=True)
    figure.update_yaxes(showgrid=False)  # whose lines would run through the labels
    figure.update_xaxes(title=f"iteration time{LOGARITHMIC * is_wide} [s]", **scale(is_wide))
    if not is_wide:
        figure.update_xaxes(rangemode="tozero")
    return figure


def _rows(answer: Diagnosis) -> list[_Row]:
    """Return the rows of the chart of an iteration time, from the top."""
    ends = show_range(answer.low_80, answer.high_80, "s")
    predicted = f"{show(answer.predicted, 's')} (80 %: {ends})"
    causes = listed(answer, MOST_CAUSES) if answer.verdict in ("slow", "unclear") else []
    return [
        _Row(MEASURED, [answer.measured], [show(answer.measured, "s")], [MEASURED], (RED, "diamond", 15)),
        _Row(
            PREDICTED,
            [answer.predicted],
            [""],
            [f"predicted: {predicted}"],
            (BLUE, "circle", 11),
        ),
        *(
            _Row(
                cause.name,
                [cause.predicted_time],
                [f"{show(cause.predicted_time, 's')}, {percent(cause.probability)}"],
                [f"{cause.words} ({cause.change}): {show(cause.predicted_time, 's')}"],
                (GREY, "square-open" if cause.is_assumption else "square", 10),
                f"with {'another job than assumed' if cause.is_assumption else 'a cause'}, and its chance",
            )
            for cause in causes
        ),
        _Row(
            PUBLISHED,
            [each.value for each in answer.similar],
            [""] * len(answer.similar),
            [f"{each.words}: {show(each.value, 's')}" for each in answer.similar],
            (ORANGE, "x", 10),
            "published runs like it",
        ),
    ]


def _bus_bandwidth(row: DiagnosedSize, time: float) -> float:
    """Return the bus bandwidth of a message that takes a time [B/s]."""
    return row.predicted_bus_bandwidth * row.predicted_time / time


def over_sizes(answer: Diagnosis) -> Figure:
    """Return a chart of a listing's bus bandwidth against the predicted one, with its interval."""
    figure, rows = Figure(), answer.sizes
    sizes = [row.message_bytes for row in rows]
    figure.add_scatter(
        x=[*sizes, *sizes[::-1]],
        y=[
            *(_bus_bandwidth(row, row.high_80) for row in rows),
            *(_bus_bandwidth(row, row.low_80) for row in rows[::-1]),
        ],
        fill="toself",
        mode="lines",
        line={"color": BLUE, "width": 0},
        opacity=0.5,
        name="80 % of such machines",
        hoverinfo="skip",
    )
    figure.add_scatter(
        x=sizes,
        y=[row.predicted_bus_bandwidth for row in rows],
        mode="lines",
        line={"color": BLUE, "dash": "dash"},
        name="predicted",
    )
    figure.add_scatter(
        x=sizes,
        y=[row.measured_bus_bandwidth for row in rows],
        mode="lines+markers",
        line={"color": RED},
        marker={"symbol": "diamond", "size": 10},
        name="measured",
    )
    figure.update_xaxes(title=f"message{LOGARITHMIC} [B]", type="log")
    figure.update_yaxes(title=f"bus bandwidth{LOGARITHMIC} [B/s]", type="log")
    return figure
