"""Plotly figures of the app, with units on every axis and colours that colour-blind readers distinguish."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from itertools import accumulate
from typing import Any

import streamlit as st

from app import axes, colours, numbers_first, tables
from app.figure import Figure
from app.fills import filled
from perfmodel.core.units import show
from perfmodel.model.prediction import Prediction
from perfmodel.model.step.terms import TERMS, sent

COLOURS = colours.COLOURS
BLUE, ORANGE, GREEN, PINK, SKY, RED, GREY, OLIVE = COLOURS
DASHES = ("solid", "dash", "dot", "dashdot", "longdash", "longdashdot")
SYMBOLS = ("circle", "square", "diamond", "triangle-up", "cross", "star", "x", "triangle-down")

HIDDEN = "hidden communication"
BELOW, CAP = 0.33, 0.06
"""Place of an interval below the middle of its bar, and half the height of its ends; bars are 1 apart."""
STANDOFF, TITLED = 16, 66
"""Space between ticks and title of the axes of Compare's charts, and below those without a legend [px]."""
UNDER_BAR, THIN = 0.32, 0.14
"""Place of a thin bar below the middle of its bar, and its height."""
UNDER = {"orientation": "h", "yref": "container", "yanchor": "bottom", "y": 0, "x": 0, "maxheight": 1.0}
"""Plotly's settings of a legend below the chart, where on a phone its many lines keep no bar from view."""
LEAST = 1e-9
"""Times below this are rounding errors [s]."""
HALF = 22
"""Letters of a legend's entry that two abreast have room for on a phone."""
LEFT = 0.4
"""Lower end of an interval, over the longest iteration, from which there is room for its text before it."""
WIDEST = 2.5
"""Largest upper end of an interval, over the iteration time, that is drawn whole."""

NO_BUTTONS = [
    "zoom2d",
    "pan2d",
    "select2d",
    "lasso2d",
    "zoomIn2d",
    "zoomOut2d",
    "autoScale2d",
    "resetScale2d",
]
"""Buttons that no picture has: they would lie on its figures.  A drag zooms in, a double click out again."""


def draw(figure: Figure, name: str, alt: str, height: int = 380, **more: Any) -> Any:
    """Draw a figure on the page and return Streamlit's event.

    Parameters
    ----------
    figure : to draw
    name : key of the chart and name of its file
    alt : description for readers who cannot see it
    height : [px]
    more : further arguments of ``st.plotly_chart``
    """
    numbers_first.let_paint()
    axes.say_units(figure)
    own = figure.layout.get("margin", {})
    figure.update_layout(height=height, margin={"l": 8, "r": 8, "t": 24, "b": 8, **own})
    figure.update_layout(modebar={"orientation": "v"})  # in a line it would cover legends
    if "y" not in figure.layout.get("legend", {}):
        figure.update_layout(legend={"orientation": "h", "yanchor": "bottom", "y": 1.02, "x": 0})
    with tables.LOADING:
        return st.plotly_chart(
            figure.plotly(),
            key=name,
            alt=alt,
            config={
                "displaylogo": False,
                "modeBarButtonsToRemove": NO_BUTTONS,
                "toImageButtonOptions": {"filename": name},
            },
            **more,
        )


def waterfall(prediction: Prediction) -> Figure:
    """Return a waterfall chart of the terms of one iteration, with the interval of their sum."""
    rows = [
        (TERMS[name].label, colours.look_of(name) or (GREY, ""), time)
        for name, time in prediction.terms.items()
        if time > LEAST
    ]
    starts = [0.0, *accumulate(time for _, _, time in rows)]
    figure = Figure()
    for (name, look, time), start in zip(rows, starts, strict=False):
        figure.add_bar(  # with an array of colours Plotly would choose the colours of pattern lines itself
            y=[name],
            x=[time],
            base=[start],
            orientation="h",
            marker=filled(look),
            text=[show(time, "s")],
            customdata=[show(time, "s")],
            textposition="outside",
            cliponaxis=False,
            hovertemplate="%{y}: %{customdata}<extra></extra>",
            showlegend=False,
        )
    if "backward_time" in prediction.terms:
        backward = [name for name, _, _ in rows].index(TERMS["backward_time"].label)
        _hidden(figure, prediction, starts[backward + 1])
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
    last = []
    if prediction.interval is not None:
        for low, high, width, level in (
            (prediction.interval.low_80, prediction.interval.high_80, 6, "80 %"),
            (prediction.interval.low_95, prediction.interval.high_95, 2, "95 %"),
        ):
            if low is None or high is None:
                continue
            last.append(f"{level}: {show(low, 's')} to {show(high, 's')}")
            figure.add_scatter(
                x=[low, high],
                y=[last[-1]] * 2,
                mode="lines",
                line={"color": GREY, "width": width},
                text=[show(low, "s"), show(high, "s")],
                hovertemplate=f"{level} interval: %{{text}}<extra></extra>",
                showlegend=False,
            )
    drawn = {bar for trace in figure.data for bar in trace["y"]}
    order = [each for each in (*(name for name, _, _ in rows), HIDDEN, "iteration", *last) if each in drawn]
    figure.update_yaxes(categoryorder="array", categoryarray=order[::-1], automargin=True)
    figure.update_xaxes(title="time [s]", rangemode="tozero")
    if prediction.interval is not None:  # a wide one would leave no room for the bars
        far = prediction.interval.high_95 or prediction.interval.high_80
        end = min(far, WIDEST * prediction.iteration_time)
        figure.update_xaxes(range=[0, 1.05 * max(end, prediction.iteration_time)])
    figure.update_layout(barmode="overlay")
    return figure


def _hidden(figure: Figure, prediction: Prediction, backward_ends: float) -> None:
    """Add the bar of communication hidden behind the backward pass, below the end of that pass."""
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


def side_by_side(predictions: Mapping[str, Prediction], marked: str = "") -> Figure:
    """Return a bar for each prediction, stacked by term, with its sum, and below it its 80 % interval.

    Parameters
    ----------
    marked : name of the one that is written in bold letters
    """
    rows = {
        name: _without_small(prediction, predictions.values()) for name, prediction in predictions.items()
    }
    labels = {name: TERMS[name].label if name in TERMS else name for terms in rows.values() for name in terms}
    figure = parts(rows, labels, "time of one iteration [s]")
    ends = [each.iteration_time for each in predictions.values()]
    for place, prediction in enumerate(predictions.values()):
        total = prediction.iteration_time
        _beside(figure, total, place, f"<b>{show(total, 's')}</b>", "left")
        if (interval := prediction.interval) is None:
            continue
        ends.append(interval.high_80)
        below = place + BELOW
        for x, y in (
            ((interval.low_80, interval.high_80), (below, below)),
            *(((end, end), (below - CAP, below + CAP)) for end in (interval.low_80, interval.high_80)),
        ):
            line = {"color": GREY, "width": 3}
            figure.add_shape(type="line", x0=x[0], x1=x[1], y0=y[0], y1=y[1], line=line)
        low, high = (show(end, "s") for end in (interval.low_80, interval.high_80))
        if interval.low_80 > LEFT * max(each.iteration_time for each in predictions.values()):
            _beside(figure, interval.low_80, below, low, "right")
        else:  # no room for it left of the interval
            high = f"{low} to {high}"
        _beside(figure, interval.high_80, below, high, "left")
    if len(ends) > len(rows):
        figure.update_xaxes(title="time of one iteration; grey: its 80 % interval [s]")
    figure.update_xaxes(title={"standoff": STANDOFF}, automargin=False)
    figure.update_xaxes(range=[0, 1.18 * max(ends)])  # room for the last text on a phone
    for trace in figure.data:
        if trace["type"] == "bar":
            trace["width"] = 0.36
    named_rows(figure, list(rows), marked)
    entries = [trace["name"] for trace in figure.data if trace.get("name")]
    lines = math.ceil(len(entries) / (2 if max(map(len, entries)) <= HALF else 1))
    figure.update_layout(margin={"t": 4, "b": TITLED + 19 * lines, "autoexpand": False})
    # letters small enough for two entries in a row on a phone
    figure.update_layout(legend={"font": {"size": 11}})
    return figure


def _without_small(prediction: Prediction, among: Iterable[Prediction]) -> dict[str, float]:
    """Return the terms of a prediction, those that are ``colours.SMALL`` in all predictions as one part."""
    answers = list(among)
    small = {
        name
        for name in prediction.terms
        if all(each.terms.get(name, 0.0) < colours.SMALL * each.iteration_time for each in answers)
    }
    if len(small) < 2:
        return dict(prediction.terms)
    kept = {name: time for name, time in prediction.terms.items() if name not in small}
    return {**kept, colours.REST: sum(prediction.terms[name] for name in small)}


def _beside(figure: Figure, x: float, y: float, text: str, anchor: str) -> None:
    """Add text left or right of a place; ``anchor`` is the side of the text that is there."""
    figure.add_annotation(
        x=x, y=y, text=text, showarrow=False, xanchor=anchor, xshift=5 if anchor == "left" else -5
    )


def named_rows(figure: Figure, names: Sequence[str], marked: str = "") -> None:
    """Make room for rows 1 apart from 0 on, the first on top, each below its name, that of one in bold.

    Left of the rows, names would take half of a phone's width.
    """
    figure.update_yaxes(visible=False, autorange=False, range=[len(names) - 0.5, -0.62], fixedrange=True)
    for place, name in enumerate(names):
        figure.add_annotation(
            x=0,
            xref="paper",
            y=place - 0.19,
            text=f"<b>{name}</b>" if name == marked else name,
            showarrow=False,
            align="left",
            xanchor="left",
            yanchor="bottom",
        )


def height_beside(figure: Figure, names: Sequence[str]) -> int:
    """Return the height of ``side_by_side`` [px], with names of several lines."""
    lines = max(name.count("<br>") for name in names)
    return int(figure.layout["margin"]["b"]) + 8 + (68 + 18 * lines) * len(names)


def _seconds(time: float) -> str:
    return show(time, "s")


def parts(
    rows: Mapping[str, Mapping[str, float]],
    names: Mapping[str, str],
    x: str,
    words: Callable[[float], str] = _seconds,
) -> Figure:
    """Return a chart of stacked bars.

    Parameters
    ----------
    rows : name of a bar -> part -> value
    names : part -> label, in the order of the stack
    x : title of the axis
    words : writes a value as text
    """
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
    figure.update_layout(barmode="stack", showlegend=True, legend={"traceorder": "normal", **UNDER})
    figure.update_yaxes(autorange="reversed", automargin=True)
    figure.update_xaxes(title=x, rangemode="tozero")
    return figure


def under_bars(figure: Figure, ends: Mapping[str, tuple[float, float]], part: str, label: str) -> None:
    """Add thin bars under those of ``parts``: what goes on next to a part, up to the end of it.

    Parameters
    ----------
    ends : name of a bar -> where its thin bar ends, and how long that is; it begins at 0 at the least
    part, label : as of ``parts``
    """
    if not any(length for _, length in ends.values()):
        return
    figure.add_bar(
        y=list(ends),
        x=[length for _, length in ends.values()],
        base=[max(0.0, end - length) for end, length in ends.values()],
        offset=UNDER_BAR,
        width=THIN,
        name=label,
        orientation="h",
        marker=filled(colours.look_of(part) or (GREY, "")),
        customdata=[_seconds(length) for _, length in ends.values()],
        hovertemplate="%{y}, " + label + ": %{customdata}<extra></extra>",
    )


def scale(log: bool) -> dict[str, Any]:
    """Return Plotly's type of a logarithmic or a linear axis."""
    return {"type": "log" if log else "linear"}
