"""Line charts: curves with intervals, measured points and an ideal line."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from app.charts import COLOURS, DASHES, GREY, SYMBOLS, scale
from app.figure import Figure

BESIDE = 1.03
"""Factor from a point to the interval drawn beside it, on a logarithmic axis."""
FIRST = 7
"""Width of the first of several lines [px], which is seen under another one that covers it."""


def lines(
    series: Mapping[str, tuple[Sequence[float], Sequence[float | None]]],
    x: str,
    y: str,
    *,
    log_x: bool = True,
    log_y: bool = False,
    bands: Mapping[str, tuple[Sequence[float], Sequence[float]]] = {},
    points: Mapping[str, tuple[Sequence[float], Sequence[float], Sequence[str]]] = {},
    ideal: tuple[Sequence[float], Sequence[float]] | None = None,
    percent: bool = False,
    ticks: Sequence[float] | None = None,
) -> Figure:
    """Return a line chart.

    Parameters
    ----------
    series : name of a line -> x and y values
    x, y : titles of the axes
    log_x, log_y : whether an axis is logarithmic
    bands : name of a line -> lower and upper ends, of the first line a band, of others bars beside the points
    points : name of a group of measured points -> x values, y values, labels
    ideal : x and y values of the ideal line
    percent : whether y values are shares
    ticks : x values of the ticks
    """
    figure = Figure()
    for index, (name, (xs, ys)) in enumerate(series.items()):
        colour = COLOURS[index % len(COLOURS)]
        if name in bands and index:  # beside the points, for bands that overlap cannot be told apart
            figure.add_scatter(
                x=[at * BESIDE**index for at in xs],
                y=list(ys),
                error_y=_ends(ys, *bands[name], colour),
                mode="markers",
                marker={"symbol": "line-ew", "color": colour},
                hoverinfo="skip",
                showlegend=False,
            )
        elif name in bands:
            low, high = bands[name]
            figure.add_scatter(
                x=[*xs, *reversed(xs)],
                y=[*high, *reversed(low)],
                fill="toself",
                fillcolor=colour,
                opacity=0.3,
                mode="lines",
                line={"width": 1, "color": colour, "dash": DASHES[index % len(DASHES)]},
                hoverinfo="skip",
                showlegend=False,
            )
        figure.add_scatter(
            x=list(xs),
            y=list(ys),
            name=name,
            mode="lines+markers",
            line={
                "color": colour,
                "dash": DASHES[index % len(DASHES)],
                "width": FIRST if bands and not index else 2,
            },
            marker={"symbol": SYMBOLS[index % len(SYMBOLS)]},
            hovertemplate="%{x}: %{y:.1%}" if percent else "%{x}: %{y:.4g}",
            showlegend=True,
        )
    if ideal is not None:
        figure.add_scatter(
            x=list(ideal[0]),
            y=list(ideal[1]),
            name="ideal",
            mode="lines",
            line={"color": GREY, "dash": "dot"},
        )
    for index, (name, (xs, ys, labels)) in enumerate(points.items()):
        figure.add_scatter(
            x=list(xs),
            y=list(ys),
            name=name,
            mode="markers",
            text=list(labels),
            marker={"symbol": "x", "size": 8, "color": COLOURS[(index + 7) % len(COLOURS)]},
            hovertemplate="%{text}<extra></extra>",
        )
    figure.update_xaxes(title=x, **scale(log_x))
    if ticks is not None:
        figure.update_xaxes(tickvals=list(ticks), ticktext=[f"{tick:,}" for tick in ticks], dtick=None)
    figure.update_yaxes(title=y, **scale(log_y))
    if not log_y:
        figure.update_yaxes(rangemode="tozero")
    figure.update_yaxes(tickformat=".0%" if percent else "~g")
    return figure


def _ends(
    values: Sequence[float | None], low: Sequence[float], high: Sequence[float], colour: str
) -> dict[str, Any]:
    """Return Plotly's error bars from the lower to the higher ends."""
    return {
        "type": "data",
        "symmetric": False,
        "array": [end - (value or 0.0) for end, value in zip(high, values, strict=True)],
        "arrayminus": [(value or 0.0) - end for end, value in zip(low, values, strict=True)],
        "color": colour,
        "thickness": 2,
        "width": 5,
    }
