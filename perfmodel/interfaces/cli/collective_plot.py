"""Draw a collective's time and bus bandwidth by size of message, beside the nearest measured ones."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from perfmodel.core.errors import needed, refusal
from perfmodel.core.files.writing import check_writable, write_whole
from perfmodel.core.units import show
from perfmodel.equations.bandwidths import bus_bandwidth
from perfmodel.interfaces.cli.plot import BLUE, GREY, ORANGE, page_of
from perfmodel.model.collectives.place import Point
from perfmodel.model.prediction.collectives.collective import Collective, collective

if TYPE_CHECKING:
    import plotly.graph_objects as go

    from perfmodel.evidence.accuracy.collectives.collective_curves import MeasuredCurve

SMALLEST, LARGEST = 2.0**10, 2.0**34
"""Drawn where one size is asked for [B]."""
POINTS = 49
"""Of a predicted line."""
MEASURED: Final = ((ORANGE, "circle"), ("#009e73", "square"), ("#cc79a7", "diamond"))
"""Colour and symbol of each measured curve."""
MEASURED_BY = "measured by"
NOT_MEASURED = "none of the measured curves is of this collective over this kind of link"
AXES: Final = ({"xaxis": "x", "yaxis": "y"}, {"xaxis": "x2", "yaxis": "y2"})
"""Of time, and of bus bandwidth."""
BAND = "rgba(0, 114, 178, 0.2)"


def check_plot(path: Path, ranks: int) -> None:
    """Refuse early what could not be drawn.

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
    """Write a web page with the figure; ``sizes`` are those asked for [B].

    Raises
    ------
    InputError : what cannot be predicted, a file that cannot be written; nothing of it is left behind
    """
    figure = collective_figure(name, algorithm, fabric, sizes)
    title = title_of(name, fabric)
    is_measured = any(trace.name.startswith(MEASURED_BY) for trace in figure.data)
    below = "" if is_measured else f"<br><sup>{NOT_MEASURED}</sup>"
    figure.update_layout(title_text=title + below, template="plotly_white")
    write_whole(path, page_of(figure, title, "collective"))


def title_of(name: str, fabric: Point) -> str:
    """Return what the figure shows: the collective, its ranks and what joins them."""
    crossed = fabric.inter_link if fabric.nodes > 1 and fabric.inter_link is not None else fabric.link
    adapters = f"{fabric.nics} x " if fabric.nodes > 1 and fabric.nics > 1 else ""
    places = f"on {fabric.hosts} nodes" if fabric.hosts > 1 else "in one node"
    if fabric.hosts > fabric.nodes:
        places += f" in {fabric.nodes} NVLink domains" if fabric.nodes > 1 else " in one NVLink domain"
    return f"{name} over {fabric.group_size} ranks {places}, {adapters}{crossed.id}"


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
    sizes : first and last are the ends of what is drawn [B]; of a single one, 1 KiB to 16 GiB, with its mark
    stacked : one above the other, as a narrow page needs them
    predicted : works the collective out at sizes of message [B]; by default ``collective`` does
    say_size : writes a size of message [B]; by default powers of two as KiB, MiB and GiB

    Raises
    ------
    InputError : what ``collective`` refuses
    """
    from plotly.subplots import make_subplots

    from perfmodel.evidence.accuracy.collectives.collective_curves import nearest_curves

    say = say_size or _bytes
    low, high = (sizes[0], sizes[-1]) if len(sizes) > 1 else (SMALLEST, LARGEST)
    between = [low * (high / low) ** (i / (POINTS - 1)) for i in range(POINTS)]
    work_out = predicted or (lambda sizes: [collective(name, algorithm, fabric, size) for size in sizes])
    rows = work_out(between)
    down, across = (2, 1) if stacked else (1, 2)
    figure = make_subplots(rows=down, cols=across, vertical_spacing=0.12, horizontal_spacing=0.13)
    _predicted(figure, rows, say)
    curves = nearest_curves(fabric.of(name, high))
    for curve, (colour, symbol) in zip(curves, MEASURED, strict=False):
        _measured(figure, curve, {"color": colour, "symbol": symbol, "size": 5}, low, high, say)
    if len(sizes) == 1:
        _marked(figure, work_out(sizes)[0], say)
    ends = [math.log10(low), math.log10(high)]
    ticks = _ticks(low, high)
    figure.update_xaxes(
        type="log", title_text="message size", range=ends, tickvals=ticks, ticktext=[say(t) for t in ticks]
    )
    figure.update_yaxes(type="log", dtick=1, tickformat="~s", exponentformat="SI")
    if stacked:
        figure.update_xaxes(domain=[0, 0.95])  # the last label needs room
        figure.for_each_trace(lambda trace: trace.update(name=_in_lines(trace.name)))
    figure.update_layout(
        yaxis={"title_text": "time", "ticksuffix": "s"},
        yaxis2={"title_text": "bus bandwidth", "ticksuffix": "B/s"},
        legend={"orientation": "h", "yanchor": "bottom", "y": 0, "x": 0, "yref": "container"},
    )
    return figure


def _predicted(figure: go.Figure, rows: Sequence[Collective], say: Callable[[float], str]) -> None:
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
                line={"width": 0},
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
            name=_label(curve),
            legendgroup=curve.source,
            showlegend=axes is AXES[0],
            text=text,
            hovertemplate="%{text}",
            **axes,
        )


def _label(curve: MeasuredCurve) -> str:
    """``measured by SOURCE: 16 x a100-sxm4-80gb on 2 nodes, 4 x efa-100g``."""
    at = curve.point
    chips = f"{at.group_size} x {curve.accelerator}" if curve.accelerator else f"{at.group_size} ranks"
    if at.nodes == 1 or at.inter_link is None:
        return f"{MEASURED_BY} {curve.source}: {chips} in one node, {at.link.id}"
    return f"{MEASURED_BY} {curve.source}: {chips} on {at.nodes} nodes, {at.nics} x {at.inter_link.id}"


def _in_lines(name: str) -> str:
    """The name of a measured curve in three lines, as short as a phone is narrow."""
    if not name.startswith(MEASURED_BY):
        return name
    source, _, where = name.partition(": ")
    return f"{source}:<br>{where.replace(' on ', '<br>on ').replace(' in ', '<br>in ')}"


def _marked(figure: go.Figure, row: Collective, say: Callable[[float], str]) -> None:
    """The size that was asked for."""
    for axes, y in zip(AXES, (row.time, row.bus_bandwidth), strict=True):
        figure.add_scatter(
            x=[row.message_bytes],
            y=[y],
            mode="markers",
            marker={"color": BLUE, "size": 11, "symbol": "star", "line": {"color": GREY, "width": 1}},
            name=f"{say(row.message_bytes)}: {show(row.time, 's')}, {show(row.bus_bandwidth, 'B/s')}",
            legendgroup="asked",
            showlegend=axes is AXES[0],
            hovertemplate="%{fullData.name}<extra></extra>",
            **axes,
        )


def _ticks(low: float, high: float) -> list[float]:
    """Powers of two between the ends, at most five of them, for which a phone has room."""
    first, last = math.ceil(math.log2(low)), math.floor(math.log2(high))
    return [2.0**power for power in range(first, last + 1, max(1, -(-(last - first) // 4)))]


def _bytes(size: float) -> str:
    """``64 KiB``, ``1 GiB``; other than powers of two as elsewhere."""
    for unit, power in (("GiB", 30), ("MiB", 20), ("KiB", 10), ("B", 0)):
        if size >= 2**power and size / 2**power == int(size / 2**power) and size < 2 ** (power + 10):
            return f"{size / 2**power:g} {unit}"
    return show(size, "B")
