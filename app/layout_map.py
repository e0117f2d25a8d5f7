"""Map of the layouts of a search: tensor against pipeline parallelism, coloured by the fastest step."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from plotly.colors import get_colorscale, sample_colorscale

from app.charts import GREY, RED
from app.figure import Figure
from app.fills import letters_on
from app.memory_chart import GIB
from perfmodel.core.units import show
from perfmodel.interfaces.api.layout_row import LayoutRow
from perfmodel.interfaces.api.layouts import LayoutCell, Layouts
from perfmodel.model.transformers.grid import TOO_LARGE

SCALE = "Cividis"
"""Colour scale from dark to light, the same for colour-blind readers."""
ROW = 40
"""Height of a row [px]."""
CLEAR = "rgba(0,0,0,0)"
TICKS = (1, 1.1, 1.25, 1.5, 2, 3, 5, 10, 20, 50, 100)
"""Ticks of the colour scale: step time over that of the fastest layout."""


def figure_of(answer: Layouts, chosen: LayoutRow) -> Figure:
    """Return the map, with a frame around the cell of the chosen layout, which has that layout's time.

    Cells are bars, which can be clicked and hatched; their ``customdata`` is (tensor, pipeline) parallelism.
    """
    tensors = sorted({cell.tensor_parallel for cell in answer.grid})
    stages = sorted({cell.pipeline_parallel for cell in answer.grid})

    def cells(some: Sequence[LayoutCell]) -> dict[str, Any]:
        return {
            "x": [stages.index(cell.pipeline_parallel) for cell in some],
            "y": [1] * len(some),
            "base": [tensors.index(cell.tensor_parallel) - 0.5 for cell in some],
            "width": 1,
            "text": [text_of(cell, chosen) for cell in some],
            "customdata": [[cell.tensor_parallel, cell.pipeline_parallel] for cell in some],
            "hovertext": [words(cell, answer) for cell in some],
            "hovertemplate": "%{hovertext}<extra></extra>",
        }

    timed = [cell for cell in answer.grid if cell.iteration_time]
    best = min(cell.iteration_time or math.inf for cell in timed)
    slower = [math.log((cell.iteration_time or math.inf) / best) for cell in timed]
    most = max([*slower, math.log(TICKS[1])])
    figure = Figure()
    figure.add_bar(
        **cells(timed),
        textposition="inside",
        insidetextanchor="middle",
        textangle=0,
        insidetextfont={"color": [letters_on(colour_of(each / most)) for each in slower]},
        showlegend=False,
        marker={
            "color": slower,
            "colorscale": get_colorscale(SCALE),
            "cmin": 0,
            "cmax": most,
            "colorbar": _bar(most),
            "line": {"color": "white", "width": 1},
        },
        unselected={"marker": {"opacity": 1}},
    )
    figure.add_bar(
        **cells([cell for cell in answer.grid if cell.reason == TOO_LARGE]),
        name="does not fit into memory",
        marker={
            "color": CLEAR,
            "line": {"color": GREY, "width": 1},
            "pattern": {"shape": "/", "fgcolor": GREY, "bgcolor": CLEAR, "fillmode": "replace", "size": 8},
        },
        unselected={"marker": {"opacity": 1}},
    )
    figure.add_bar(
        **cells([cell for cell in answer.grid if cell.reason not in ("", TOO_LARGE)]),
        showlegend=False,
        marker={"color": CLEAR, "line": {"width": 0}},
        unselected={"marker": {"opacity": 1}},
    )
    own = next(each for each in answer.grid if _holds(each, chosen))
    x, y = stages.index(own.pipeline_parallel), tensors.index(own.tensor_parallel)
    figure.add_shape(
        type="rect", x0=x - 0.5, x1=x + 0.5, y0=y - 0.5, y1=y + 0.5, line={"color": RED, "width": 4}
    )
    for axis, title, values in (
        (figure.update_xaxes, "pipeline stages", stages),
        (figure.update_yaxes, "tensor parallelism", tensors),
    ):
        axis(
            title=title,
            tickvals=list(range(len(values))),
            ticktext=[str(value) for value in values],
            range=[-0.5, len(values) - 0.5],
            showgrid=False,
            zeroline=False,
            fixedrange=True,
        )
    figure.update_layout(barmode="overlay", bargap=0, dragmode=False)
    return figure


def text_of(cell: LayoutCell, chosen: LayoutRow) -> str:
    """Return the time in a cell; in that of the chosen layout its time, and in brackets the least."""
    if not cell.iteration_time:
        return ""
    least, time = show(cell.iteration_time, "s"), show(chosen.iteration_time, "s")
    if not _holds(cell, chosen) or least == time:
        return least
    return f"{time}<br>({least})"


def _holds(cell: LayoutCell, row: LayoutRow) -> bool:
    """Whether a layout is one of a cell's."""
    degrees = row.layout["tensor_parallel"], row.layout["pipeline_parallel"]
    return degrees == (cell.tensor_parallel, cell.pipeline_parallel)


def frame_words(answer: Layouts, chosen: LayoutRow) -> str:
    """Return which layout the map frames, and where the fastest is, each with its time."""
    first = answer.rows[0]
    what = "the layout to take" if chosen == answer.taken else "the layout shown below"
    if chosen == first:
        return f"Framed: {what}, the fastest, {show(first.iteration_time, 's')}"
    cell = next(each for each in answer.grid if _holds(each, first))
    where = "in brackets" if _holds(cell, chosen) else f"at {words(cell, answer).partition(':')[0]}"
    return (
        f"Framed: {what}, {show(chosen.iteration_time, 's')}; the fastest of all, "
        f"{show(first.iteration_time, 's')}, is {where}"
    )


def colour_of(share: float) -> str:
    """Return the colour at a position of the scale, from 0 to 1.

    >>> colour_of(0.0), colour_of(1.0)
    ('#00224e', '#fee838')
    """
    (rgb,) = sample_colorscale(SCALE, [share], colortype="tuple")
    return "#" + "".join(f"{round(255 * part):02x}" for part in rgb)


def _bar(most: float) -> dict[str, Any]:
    """Return Plotly's settings of the colour bar below the map; ``most`` is the log of its upper end."""
    ticks = [tick for tick in TICKS if math.log(tick) <= most * 1.001]
    while len(ticks) > 6:
        ticks = ticks[::2]
    return {
        "orientation": "h",
        "y": -0.22,
        "yanchor": "top",
        "thickness": 12,
        "title": {"text": "times as long as the fastest", "side": "bottom"},
        "tickvals": [math.log(tick) for tick in ticks],
        "ticktext": [f"{tick:g}" for tick in ticks],
    }


def words(cell: LayoutCell, answer: Layouts) -> str:
    """Return the hover text of a cell: its degrees, and its time or why it has none."""
    where = f"tensor {cell.tensor_parallel} x pipeline {cell.pipeline_parallel}"
    if cell.iteration_time:
        return f"{where}: {show(cell.iteration_time, 's')}<br>click for its fastest layout"
    if cell.memory is None:
        return f"{where}: {cell.reason}"
    needed, there = cell.memory / GIB, answer.capacity / GIB
    return f"{where}: does not fit<br>the least needs {needed:.1f} of {there:.1f} GiB"


def height_of(answer: Layouts) -> int:
    """Return the height of the map [px]."""
    return 190 + ROW * len({cell.tensor_parallel for cell in answer.grid})


def in_words(answer: Layouts) -> str:
    """Return a description of the map for readers who cannot see it."""
    counts = {
        "can be trained by": sum(not cell.reason for cell in answer.grid),
        "do not fit into memory": sum(cell.reason == TOO_LARGE for cell in answer.grid),
    }
    counted = ", ".join(f"{count} {what}" for what, count in counts.items())
    return f"Map of tensor against pipeline parallelism: of {len(answer.grid)} pairs {counted}"
