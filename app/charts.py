"""Plotly figures of the app, in colours that colour-blind readers distinguish, with units on every axis."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from importlib import import_module
from itertools import accumulate
from typing import TYPE_CHECKING, Any

import streamlit as st

from app import axes, colours, numbers_first
from app.figure import Figure
from app.fills import filled
from perfmodel.core.units import dollars, show
from perfmodel.model.prediction import Prediction
from perfmodel.model.step.terms import TERMS, sent

# plotly looks at pandas where it is loaded, which another session may be half way through doing
import_module("pandas")

if TYPE_CHECKING:
    from perfmodel.evidence.accuracy import Row

COLOURS = colours.COLOURS
BLUE, ORANGE, GREEN, PINK, SKY, RED, GREY, OLIVE = COLOURS
DASHES = ("solid", "dash", "dot", "dashdot", "longdash", "longdashdot")
SYMBOLS = ("circle", "square", "diamond", "triangle-up", "cross", "star", "x", "triangle-down")

HIDDEN = "hidden communication"
LEAST = 1e-9
"""Less than this is what rounding left of nothing [s]."""
WIDEST = 2.5
"""Of an interval that is drawn whole, its end over the iteration."""


def draw(figure: Figure, name: str, alt: str, height: int = 380, **more: Any) -> Any:
    """Put a figure on the page; ``alt`` says in words what it shows."""
    numbers_first.let_paint()
    axes.say_units(figure)
    figure.update_layout(height=height, margin={"l": 8, "r": 8, "t": 24, "b": 8})
    figure.update_layout(modebar={"orientation": "v"})  # in a line it would cover legends
    if "y" not in figure.layout.get("legend", {}):
        figure.update_layout(legend={"orientation": "h", "yanchor": "bottom", "y": 1.02, "x": 0})
    return st.plotly_chart(
        figure.plotly(),
        key=name,
        alt=alt,
        config={"displaylogo": False, "toImageButtonOptions": {"filename": name}},
        **more,
    )


def waterfall(prediction: Prediction) -> Figure:
    """The terms of one iteration, one after another, with the interval on their sum."""
    rows = [
        (TERMS[name].label, colours.look_of(name) or (GREY, ""), time)
        for name, time in prediction.terms.items()
        if prediction.layout is None or time > 0  # of many terms a layout has few
    ]
    starts = [0.0, *accumulate(time for _, _, time in rows)]
    figure = Figure()
    for (name, look, time), start in zip(rows, starts, strict=False):
        figure.add_bar(  # of an array of colours Plotly chooses the lines of patterns itself
            y=[name],
            x=[time],
            base=[start],
            orientation="h",
            marker=filled(look),
            text=[show(time, "s") if time > LEAST else ""],
            customdata=[show(time, "s")],
            textposition="outside",
            cliponaxis=False,
            hovertemplate="%{y}: %{customdata}<extra></extra>",
            showlegend=False,
        )
    if "backward_time" in prediction.terms:
        _hidden(figure, prediction, starts[1 + list(prediction.terms).index("backward_time")])
    figure.add_bar(
        y=["iteration"],
        x=[prediction.iteration_time],
        orientation="h",
        marker={"color": GREY},
        text=[f"<b>{show(prediction.iteration_time, 's')}</b>"],
        textposition="outside",
        cliponaxis=False,
        hovertemplate="iteration: %{text}<extra></extra>",
        showlegend=False,
    )
    if prediction.interval is not None:
        for low, high, width, level in (
            (prediction.interval.low_95, prediction.interval.high_95, 2, "95 %"),
            (prediction.interval.low_80, prediction.interval.high_80, 6, "80 %"),
        ):
            if low is None or high is None:
                continue
            figure.add_scatter(
                x=[low, high],
                y=["interval", "interval"],
                mode="lines",
                line={"color": RED, "width": width},
                name=f"{level}: {show(low, 's')} to {show(high, 's')}",
                hovertemplate="%{x:.3s}s<extra></extra>",
            )
    drawn = {bar for trace in figure.data for bar in trace["y"]}
    order = [
        each for each in (*(name for name, _, _ in rows), HIDDEN, "iteration", "interval") if each in drawn
    ]
    figure.update_yaxes(categoryorder="array", categoryarray=order[::-1], automargin=True)
    figure.update_xaxes(title="time [s]", rangemode="tozero")
    if prediction.interval is not None:  # a wide one would leave no room for the bars
        far = prediction.interval.high_95 or prediction.interval.high_80
        end = min(far, WIDEST * prediction.iteration_time)
        figure.update_xaxes(range=[0, 1.05 * max(end, prediction.iteration_time)])
    figure.update_layout(barmode="overlay")
    return figure


def _hidden(figure: Figure, prediction: Prediction, backward_ends: float) -> None:
    """The part of communication the backward pass covers, under the part of the pass it shares."""
    hidden = prediction.communication_time - sent(prediction.terms)
    if hidden <= 0:
        return
    figure.add_bar(
        y=[HIDDEN],
        x=[hidden],
        base=[max(0.0, backward_ends - hidden)],
        orientation="h",
        marker=filled((ORANGE, "/")),
        text=[show(hidden, "s")],
        textposition="outside",
        cliponaxis=False,
        hovertemplate="hidden behind the backward pass: %{text}<extra></extra>",
        showlegend=False,
    )


def side_by_side(predictions: Mapping[str, Prediction]) -> Figure:
    """The terms of several iterations, each a bar."""
    rows = {name: prediction.terms for name, prediction in predictions.items()}
    labels = {name: TERMS[name].label for terms in rows.values() for name in terms}
    figure = parts(rows, labels, "time of one iteration [s]")
    drawn = {name: each.interval for name, each in predictions.items() if each.interval is not None}
    for index, (name, interval) in enumerate(drawn.items()):
        for colour, width in (("white", 7), (RED, 3)):  # seen on every fill
            figure.add_scatter(
                x=[interval.low_80, interval.high_80],
                y=[name, name],
                mode="lines+markers",
                line={"color": colour, "width": width},
                marker={"symbol": "line-ns-open", "size": 14, "line": {"color": colour, "width": width}},
                name="80 % interval" if colour == RED else "",
                showlegend=index == 0 and colour == RED,
                hovertext=[_seconds(interval.low_80), _seconds(interval.high_80)],
                hoverinfo="text",
            )
    # names above bars, not beside them: on a phone those take half of the picture
    figure.update_yaxes(visible=False, autorange=False, range=[len(rows) - 0.6, -0.85], fixedrange=True)
    for trace in figure.data:
        if trace["type"] == "bar":
            trace["width"] = 0.5
    for place, name in enumerate(rows):
        figure.add_annotation(
            x=0, y=place - 0.27, text=name, showarrow=False, align="left", xanchor="left", yanchor="bottom"
        )
    # letters so small that a phone has room for two entries beside each other
    figure.update_layout(legend={"maxheight": 1.0, "font": {"size": 11}})
    return figure


def height_beside(figure: Figure, names: Sequence[str]) -> int:
    """Return the height of a picture of things side by side, for its legend on a phone and lines of names."""
    entries = sum(bool(trace.get("name")) and trace.get("showlegend") is not False for trace in figure.data)
    lines = max(name.count("<br>") for name in names)
    return 80 + 19 * math.ceil(entries / 2) + (62 + 18 * lines) * len(names)


def _seconds(time: float) -> str:
    return show(time, "s")


def parts(
    rows: Mapping[str, Mapping[str, float]],
    names: Mapping[str, str],
    x: str,
    words: Callable[[float], str] = _seconds,
) -> Figure:
    """Parts of several things, each a bar; ``words`` writes a value."""
    figure = Figure()
    for index, (part, name) in enumerate(names.items()):
        if not any(row.get(part) for row in rows.values()):
            continue
        times = [row.get(part, 0.0) for row in rows.values()]
        usual = (COLOURS[index % len(COLOURS)], "" if index < len(COLOURS) else "/")
        colour, shape = colours.look_of(part) or usual
        figure.add_bar(
            y=list(rows),
            x=times,
            name=name,
            orientation="h",
            marker={**filled((colour, shape)), "line": {"color": "white", "width": 1}},
            customdata=[words(time) for time in times],
            hovertemplate="%{y}, " + name + ": %{customdata}<extra></extra>",
        )
    figure.update_layout(barmode="stack", showlegend=True, legend={"traceorder": "normal", "maxheight": 1.0})
    figure.update_yaxes(autorange="reversed", automargin=True)
    figure.update_xaxes(title=x, rangemode="tozero")
    return figure


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
    """Lines with their bands, and measured points among them."""
    figure = Figure()
    for index, (name, (xs, ys)) in enumerate(series.items()):
        colour = COLOURS[index % len(COLOURS)]
        if name in bands:
            low, high = bands[name]
            figure.add_scatter(
                x=[*xs, *reversed(xs)],
                y=[*high, *reversed(low)],
                fill="toself",
                fillcolor=colour,
                opacity=0.18,
                mode="lines",
                line={"width": 0},
                hoverinfo="skip",
                showlegend=False,
            )
        figure.add_scatter(
            x=list(xs),
            y=list(ys),
            name=name,
            mode="lines+markers",
            line={"color": colour, "dash": DASHES[index % len(DASHES)]},
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
            marker={"symbol": "x", "size": 8, "color": COLOURS[(index + 5) % len(COLOURS)]},
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


def scale(log: bool) -> dict[str, Any]:
    """A linear axis, or a logarithmic one."""
    return {"type": "log" if log else "linear"}


def pareto(
    front: Sequence[Mapping[str, Any]],
    rejected: Sequence[Mapping[str, Any]],
    chosen: Mapping[str, Any] | None,
    deadline: float | None,
    budget: float | None,
    mark: str = "chosen",
) -> Figure:
    """Time against cost of plans: the front, rejected machines, the plan chosen, and the limits."""
    figure = Figure()
    for name, rows, first, style in (
        ("best of a rejected machine", rejected, len(front), {"color": GREY, "symbol": "x", "size": 8}),
        ("no other is faster and cheaper", front, 0, {"color": BLUE, "size": 11}),
    ):
        figure.add_scatter(
            x=[row["run_time"] for row in rows],
            y=[row["cost"] for row in rows],
            name=name,
            mode="lines+markers" if rows is front else "markers",
            line={"color": BLUE, "shape": "hv", "width": 1},
            marker=style,
            text=[
                f"{row['nodes']} x {row['name']}: {row['world_size']} x {row['accelerator']}<br>"
                f"{show(row['run_time'], 's')}, {dollars(row['cost'])}<br>{row.get('why', '')}"
                for row in rows
            ],
            customdata=list(range(first, first + len(rows))),
            hovertemplate="%{text}<extra></extra>",
        )
    if chosen is not None:
        figure.add_scatter(
            x=[chosen["run_time"]],
            y=[chosen["cost"]],
            name=mark,
            mode="markers",
            marker={"color": ORANGE, "symbol": "star", "size": 17, "line": {"width": 1}},
            customdata=[next((i for i, row in enumerate(front) if row == chosen), len(front))],
            hovertemplate=f"{mark}<extra></extra>",
        )
    costs = [row["cost"] for row in (*front, *rejected)] + ([budget] if budget else [])
    times = [row["run_time"] for row in (*front, *rejected)] + ([deadline] if deadline else [])
    ends = {"time": [min(times), max(times)], "cost": [min(costs), max(costs)]}
    if deadline is not None:
        figure.add_scatter(x=[deadline] * 2, y=ends["cost"], name="deadline", **_limit(RED, "dash"))
    if budget is not None:
        figure.add_scatter(x=ends["time"], y=[budget] * 2, name="budget", **_limit(PINK, "dot"))
    figure.update_xaxes(title="time of the run [s]", type="log")
    figure.update_yaxes(title="cost of the run [USD]", type="log")
    return figure


def _limit(colour: str, dash: str) -> dict[str, Any]:
    return {"mode": "lines", "line": {"color": colour, "dash": dash}, "hoverinfo": "skip"}


def predicted_against_measured(groups: Mapping[str, Sequence[Row]]) -> Figure:
    """Both times on logarithmic axes, with the lines of 10 and 20 percent; rows by group."""
    figure = Figure()
    every = [row.measured or 0.0 for rows in groups.values() for row in rows]
    ends = [min(every), max(every)]
    for factor, dash in ((1.0, "solid"), (0.9, "dash"), (1.1, "dash"), (0.8, "dot"), (1.2, "dot")):
        figure.add_scatter(
            x=ends,
            y=[end * factor for end in ends],
            mode="lines",
            line={"color": GREY, "dash": dash, "width": 1},
            name={"solid": "equal", "dash": "10 % off", "dot": "20 % off"}[dash],
            showlegend=factor >= 1,
            hoverinfo="skip",
        )
    for index, (name, rows) in enumerate(groups.items()):
        figure.add_scatter(
            x=[row.measured for row in rows],
            y=[row.predicted for row in rows],
            name=name,
            mode="markers",
            text=[f"{row.run.run_id}: {row.error or 0.0:+.1%}<br>{row.run.locator}" for row in rows],
            marker={
                "color": COLOURS[index % len(COLOURS)],
                "size": 6,
                "symbol": SYMBOLS[index % len(SYMBOLS)],
            },
            hovertemplate="%{text}<extra></extra>",
        )
    figure.update_xaxes(title="measured iteration time [s]", type="log")
    figure.update_yaxes(title="predicted iteration time [s]", type="log")
    return figure


def catalogue(groups: Mapping[str, Sequence[tuple[float, float, Any]]], x: str, y: str) -> Figure:
    """Things of the catalogue by two of their numbers; what each is called on hover."""
    figure = Figure()
    for index, (name, points) in enumerate(groups.items()):
        if points:
            figure.add_scatter(
                x=[point[0] for point in points],
                y=[point[1] for point in points],
                name=name,
                mode="markers",
                text=[point[2].id for point in points],
                marker={"color": COLOURS[index], "size": 9 + 3 * index, "symbol": SYMBOLS[index]},
                hovertemplate="%{text}<extra></extra>",
            )
    figure.update_xaxes(title=x, type="log")
    figure.update_yaxes(title=y, **scale(True))
    return figure
