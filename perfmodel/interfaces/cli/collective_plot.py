"""Figure of a collective's time and bus bandwidth by message size, with the nearest measured curves."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from perfmodel.core.errors import needed, refusal
from perfmodel.core.files.writing import check_writable, write_whole
from perfmodel.core.units import show
from perfmodel.equations.bandwidths import bus_bandwidth
from perfmodel.evidence.accuracy.source_titles import short_title
from perfmodel.hardware.machine_words import link_words
from perfmodel.interfaces.cli.plot import BLUE, GREY, page_of
from perfmodel.model.collectives.place import Point
from perfmodel.model.prediction.collectives.collective import Collective, collective
from perfmodel.model.prediction.names import accelerator_name

if TYPE_CHECKING:
    import plotly.graph_objects as go

    from perfmodel.evidence.accuracy.collectives.collective_curves import MeasuredCurve

SMALLEST, LARGEST = 2.0**10, 2.0**34
"""Ends of the message sizes that are drawn where one size is given [B]."""
POINTS = 49
"""Points of a predicted line."""
MEASURED: Final = (("#b8a800", "circle"), ("#009e73", "square"), ("#cc79a7", "diamond"))
"""Colour and symbol of each measured curve."""
MEASURED_BY = "measured by"
NOT_MEASURED = "none of the measured curves is of this collective over this kind of link"
AXES: Final = ({"xaxis": "x", "yaxis": "y"}, {"xaxis": "x2", "yaxis": "y2"})
"""Axes of time, and of bus bandwidth."""
BAND, EDGE = "rgba(86, 180, 233, 0.35)", "rgb(86, 180, 233)"
AMBER = "#e69f00"
"""Colour of what was asked for."""


def check_plot(path: Path, ranks: int) -> None:
    """Check, before predicting, that a figure can be drawn and written.

    Raises
    ------
    InputError : another ending than .html, a file that cannot be written, no plotly, a single rank
    """
    if path.suffix.lower() != ".html":
        raise refusal("plot.html", path=path, suffix=path.suffix or "no ending")
    if ranks < 2:
        raise refusal("plot.one_rank")
    check_writable(path)
    needed("plotly.graph_objects", "app", "a page of HTML")


def write_plot(path: Path, name: str, algorithm: str, fabric: Point, sizes: Sequence[float]) -> None:
    """Write a web page with the figure for message sizes [B].

    Raises
    ------
    InputError : a collective that cannot be predicted, or a file that cannot be written; no part of it stays
    """
    figure = collective_figure(name, algorithm, fabric, sizes)
    title = title_of(name, fabric)
    is_measured = any(trace.name.startswith(MEASURED_BY) for trace in figure.data)
    below = "" if is_measured else f"<br><sup>{NOT_MEASURED}</sup>"
    figure.update_layout(title_text=title + below, template="plotly_white")
    write_whole(path, page_of(figure, title, "collective"))


def title_of(name: str, fabric: Point) -> str:
    """Return the title of the figure: the collective, its ranks and their network."""
    crossed = fabric.inter_link if fabric.nodes > 1 and fabric.inter_link is not None else fabric.link
    adapters = f"{fabric.nics} x " if fabric.nodes > 1 and fabric.nics > 1 else ""
    places = f"on {fabric.hosts} nodes" if fabric.hosts > 1 else "in one node"
    if fabric.hosts > fabric.nodes:
        places += f" in {fabric.nodes} NVLink domains" if fabric.nodes > 1 else " in one NVLink domain"
    return f"{name} over {fabric.group_size} ranks {places}, {adapters}{link_words(crossed)}"


def collective_figure(
    name: str,
    algorithm: str,
    fabric: Point,
    sizes: Sequence[float],
    stacked: bool = False,
    predicted: Callable[[Sequence[float]], Sequence[Collective]] | None = None,
    say_size: Callable[[float], str] | None = None,
) -> go.Figure:
    """Return time and bus bandwidth by message size, with the 80 % band and the nearest measured curves.

    Parameters
    ----------
    name, algorithm, fabric : as of ``collective``
    sizes : message sizes, of which the first and last are the ends of the axis [B]; a single one is marked
        on an axis from 1 KiB to 16 GiB
    stacked : whether to draw both charts one above the other, for a narrow page
    predicted : function from message sizes [B] to predictions; by default ``collective``
    say_size : function that words a message size [B]; by default powers of two as KiB, MiB and GiB

    Raises
    ------
    InputError : as ``collective``
    """
    from plotly.subplots import make_subplots

    from perfmodel.evidence.accuracy.collectives.collective_curves import nearest_curves

    size_words = say_size or _bytes
    low, high = (sizes[0], sizes[-1]) if len(sizes) > 1 else (SMALLEST, LARGEST)
    between = [low * (high / low) ** (i / (POINTS - 1)) for i in range(POINTS)]
    predict_at = predicted or (lambda sizes: [collective(name, algorithm, fabric, size) for size in sizes])
    rows = predict_at(between)
    down, across = (2, 1) if stacked else (1, 2)
    figure = make_subplots(rows=down, cols=across, vertical_spacing=0.12, horizontal_spacing=0.13)
    _predicted(figure, rows, size_words)
    curves = nearest_curves(fabric.of(name, high))
    for curve, (colour, symbol) in zip(curves, MEASURED, strict=False):
        _measured(figure, curve, {"color": colour, "symbol": symbol, "size": 5}, low, high, size_words)
    if len(sizes) == 1:
        _marked(figure, predict_at(sizes)[0], size_words)
    ends = [math.log10(low), math.log10(high)]
    ticks = _ticks(low, high)
    figure.update_xaxes(
        type="log",
        title_text="message size",
        range=ends,
        tickvals=ticks,
        ticktext=[size_words(t) for t in ticks],
    )
    figure.update_yaxes(type="log", dtick=1, tickformat="~s", exponentformat="SI")
    if stacked:
        figure.update_xaxes(domain=[0, 0.95])  # the last label needs room
        figure.for_each_trace(lambda trace: trace.update(name=trace.meta or trace.name))
    figure.update_layout(
        yaxis={"title_text": "time", "ticksuffix": "s"},
        yaxis2={"title_text": "bus bandwidth", "ticksuffix": "B/s"},
        legend={"orientation": "h", "yanchor": "bottom", "y": 0, "x": 0, "yref": "container"},
    )
    return figure


def _predicted(figure: go.Figure, rows: Sequence[Collective], say: Callable[[float], str]) -> None:
    """Draw the predicted line and its 80 % band."""
    xs = [row.message_bytes for row in rows]
    group = rows[0].group_size
    if all(row.interval is not None for row in rows):
        lows, highs = ([getattr(row.interval, end) for row in rows] for end in ("low_80", "high_80"))
        fast, slow = (
            [bus_bandwidth(rows[0].collective, x / time, group) for x, time in zip(xs, times, strict=True)]
            for times in (lows, highs)
        )
        for axes, (upper, lower) in zip(AXES, ((highs, lows), (fast, slow)), strict=True):
            figure.add_scatter(
                x=xs + xs[::-1],
                y=upper + lower[::-1],
                mode="lines",
                fill="toself",
                fillcolor=BAND,
                line={"width": 1, "color": EDGE},
                name="80 % interval",
                legendgroup="interval",
                showlegend=axes is AXES[0],
                hoverinfo="skip",
                **axes,
            )
    drawn = ([row.time for row in rows], [row.bus_bandwidth for row in rows])
    text = [
        f"{say(row.message_bytes)}: {show(row.time, 's')}, {show(row.bus_bandwidth, 'B/s')}" for row in rows
    ]
    for axes, ys in zip(AXES, drawn, strict=True):
        figure.add_scatter(
            x=xs,
            y=ys,
            mode="lines",
            line={"color": BLUE, "width": 2.5},
            name="predicted",
            legendgroup="predicted",
            showlegend=axes is AXES[0],
            text=text,
            hovertemplate="%{text}",
            **axes,
        )


def _measured(
    figure: go.Figure,
    curve: MeasuredCurve,
    marker: dict[str, Any],
    low: float,
    high: float,
    say: Callable[[float], str],
) -> None:
    """Draw a measured curve."""
    pairs = [(x, y) for x, y in zip(curve.sizes, curve.times, strict=True) if low <= x <= high]
    xs, times = [x for x, _ in pairs], [y for _, y in pairs]
    rates = [float(bus_bandwidth(curve.point.collective, x / y, curve.point.group_size)) for x, y in pairs]
    text = [f"{say(x)}: {show(y, 's')}, {show(r, 'B/s')}" for x, y, r in zip(xs, times, rates, strict=True)]
    for axes, ys in zip(AXES, (times, rates), strict=True):
        figure.add_scatter(
            x=xs,
            y=ys,
            mode="lines+markers",
            line={"color": marker["color"], "width": 1, "dash": "dot"},
            marker=marker,
            name="{}: {} {}".format(*_label(curve)),
            meta="{}:<br>{}<br>{}".format(*_label(curve)),
            legendgroup=curve.source,
            showlegend=axes is AXES[0],
            text=text,
            hovertemplate="%{text}",
            **axes,
        )


def _label(curve: MeasuredCurve) -> tuple[str, str, str]:
    """Return the legend of a curve in three parts, each a line on a phone: source, ranks, machines.

    As ``measured by TITLE``, ``16 x A100 SXM4 80 GB``, ``on 2 nodes, 4 x EFA 100 Gbit/s``.
    """
    at = curve.point
    ranks = f"x {accelerator_name(curve.accelerator)}" if curve.accelerator else "ranks"
    chips = f"{at.group_size} {ranks}"
    if at.nodes == 1 or at.inter_link is None:
        place = f"in one node, {link_words(at.link)}"
    else:
        place = f"on {at.nodes} nodes, {at.nics} x {link_words(at.inter_link)}"
    return f"{MEASURED_BY} {short_title(curve.source)}", chips, place


def _marked(figure: go.Figure, row: Collective, say: Callable[[float], str]) -> None:
    """Mark the given message size."""
    for axes, y in zip(AXES, (row.time, row.bus_bandwidth), strict=True):
        figure.add_scatter(
            x=[row.message_bytes],
            y=[y],
            mode="markers",
            marker={"color": AMBER, "size": 13, "symbol": "star", "line": {"color": GREY, "width": 1}},
            name=f"{say(row.message_bytes)}: {show(row.time, 's')}, {show(row.bus_bandwidth, 'B/s')}",
            legendgroup="asked",
            showlegend=axes is AXES[0],
            hovertemplate="%{fullData.name}<extra></extra>",
            **axes,
        )


def _ticks(low: float, high: float) -> list[float]:
    """Return powers of two between the ends, at most five, for the width of a phone."""
    first, last = math.ceil(math.log2(low)), math.floor(math.log2(high))
    return [2.0**power for power in range(first, last + 1, max(1, -(-(last - first) // 4)))]


def _bytes(size: float) -> str:
    """Return a size as ``64 KiB``, ``1 GiB``; sizes other than powers of two in the usual form."""
    for unit, power in (("GiB", 30), ("MiB", 20), ("KiB", 10), ("B", 0)):
        if size >= 2**power and size / 2**power == int(size / 2**power) and size < 2 ** (power + 10):
            return f"{size / 2**power:g} {unit}"
    return show(size, "B")
