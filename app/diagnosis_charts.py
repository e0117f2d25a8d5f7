"""Charts of a diagnosis: a measured point in the interval of its job, or a listing against its prediction."""

from __future__ import annotations

from app.charts import BLUE, GREY, ORANGE, RED, scale
from app.figure import Figure
from perfmodel.core.records.names import spaced
from perfmodel.core.units import percent, show
from perfmodel.decide.diagnosis.answer import DiagnosedCause, DiagnosedSize, Diagnosis

WIDE = 8
"""Largest over least drawn time from which the axis is logarithmic."""
YOURS, EXPECTED, PUBLISHED = "yours", "expected", "published"
"""Rows of the chart, from the top; before the last one for each cause."""
MOST_CAUSES = 4
"""Most causes that are drawn, the likeliest."""


def label_of(cause: DiagnosedCause) -> str:
    """Return the short name of a cause in words."""
    return spaced(cause.id)


def of_cause(cause: DiagnosedCause) -> str:
    """Return the label of a cause's row."""
    return f"cause: {label_of(cause)}"


def in_interval(answer: Diagnosis) -> Figure:
    """Return a chart of the iteration time: measured, expected, with each cause, of published runs."""
    figure = Figure()
    figure.add_scatter(
        x=[answer.low_80, answer.high_80],
        y=[EXPECTED] * 2,
        mode="lines",
        line={"color": BLUE, "width": 12},
        opacity=0.5,
        name=f"80 % of such jobs: {show(answer.low_80, 's')} to {show(answer.high_80, 's')}",
        hovertemplate="%{x:.3s}s<extra></extra>",
    )
    causes = answer.causes[:MOST_CAUSES] if answer.verdict in ("slow", "unclear") else []
    for name, rows, times, words, look in (
        (
            f"predicted {show(answer.predicted, 's')}",
            [EXPECTED],
            [answer.predicted],
            ["predicted"],
            (BLUE, "circle", 11),
        ),
        (
            "predicted with this cause",
            [of_cause(cause) for cause in causes],
            [cause.predicted_time for cause in causes],
            [f"{cause.words}: {show(cause.predicted_time, 's')}" for cause in causes],
            (GREY, "square", 10),
        ),
        (
            "published runs like it",
            [PUBLISHED] * len(answer.similar),
            [each.value for each in answer.similar],
            [f"{each.words}: {show(each.value, 's')}" for each in answer.similar],
            (ORANGE, "x", 10),
        ),
        (
            f"measured {show(answer.measured, 's')}",
            [YOURS],
            [answer.measured],
            ["measured"],
            (RED, "diamond", 15),
        ),
    ):
        colour, symbol, size = look
        if times:
            figure.add_scatter(
                x=times,
                y=rows,
                text=words,
                mode="markers",
                marker={"color": colour, "symbol": symbol, "size": size},
                name=name,
                hovertemplate="%{text}<extra></extra>",
            )
    times = [*(time for trace in figure.data for time in trace["x"])]
    is_late = [cause.predicted_time**2 > min(times) * max(times) for cause in causes]
    figure.add_scatter(
        x=[cause.predicted_time for cause in causes],
        y=[of_cause(cause) for cause in causes],
        text=[f"   {show(cause.predicted_time, 's')}, {percent(cause.probability)}   " for cause in causes],
        mode="text",
        textposition=["middle left" if late else "middle right" for late in is_late],
        showlegend=False,
        hoverinfo="skip",
    )
    order = (YOURS, EXPECTED, *map(of_cause, causes), PUBLISHED)
    drawn = [row for row in order if any(row in trace["y"] for trace in figure.data)]
    figure.update_yaxes(categoryorder="array", categoryarray=drawn[::-1], automargin=True)
    every = [time for trace in figure.data for time in trace["x"]]
    is_wide = max(every) > WIDE * min(every)
    figure.update_xaxes(title="iteration time [s]", **scale(is_wide))
    if not is_wide:
        figure.update_xaxes(rangemode="tozero")
    return figure


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
    figure.update_xaxes(title="message [B]", type="log")
    figure.update_yaxes(title="bus bandwidth [B/s]", type="log")
    return figure
