"""Chart of an accelerator's memory by use against its capacity, a bar for each prediction or layout."""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping
from typing import Any, NamedTuple

import perfmodel.model.transformers.memory as transformers_memory
from app.charts import BLUE, GREEN, GREY, OLIVE, ORANGE, PINK, RED, SKY, draw
from app.figure import Figure
from app.fills import filled, letters_on
from perfmodel.interfaces.api.layout_row import LayoutRow
from perfmodel.model.prediction import Prediction
from perfmodel.model.prediction.memory_odds import verdict
from perfmodel.model.prediction.result import Memory
from perfmodel.model.step.memory import MORE_LABELS, ROWS

GIB = 2**30
LOOKS: dict[str, tuple[str, str]] = {
    "weights": (BLUE, ""),
    "weight_copy": (BLUE, "/"),
    "gradients": (ORANGE, ""),
    "left_out": (ORANGE, "."),
    "summed_gradients": (ORANGE, "/"),
    "optimizer": (GREEN, ""),
    "tables": (OLIVE, ""),
    "activations": (PINK, ""),
    "whole_batch": (PINK, "/"),
    "logits": (SKY, ""),
    "other": (GREY, ""),
    "placeholders": (ORANGE, "x"),
    "reserved": (GREY, "/"),
    "allocator": (GREY, "."),
}
"""Use of memory -> its colour and pattern in every chart, in the order of a bar."""
SHORT = {
    "optimizer": "optimizer",
    "other": "gathered",
    "reserved": "context",
    "allocator": "fragments",
    "whole_batch": "others' samples",
}
"""Use of memory -> a label short enough for a phone, where ``ROWS`` has a longer one."""
MEANING = {
    "other": "gathered: weights of the layers at work, which GPUs bring together from their shares",
    "reserved": "context: what the driver and its libraries take",
    "allocator": "fragments: what PyTorch's allocator rounds up or cannot use",
}
"""Use of memory -> what its short label means, where that needs saying."""
OTHERWISE = OLIVE, "/"
UNNAMED = "in all"
"""Label of the whole memory in saved answers without rows."""
FULLEST = "the fullest GPU"
ABREAST = 2
"""Entries of the legend next to each other on a phone; sizes of so many bars are in the legend."""
HALF = 0.25
"""Half the height of a bar; bars are 1 apart."""
ROOM = 0.7
"""Largest end of an interval, over the widest of the picture, that has room for its text behind it."""
CLEAR = "rgba(0, 0, 0, 0)"
"""Fill of the frame of what a bar needs beyond the capacity: a colour would make its texts illegible."""
HEAD, LINE, FOOT, EACH, INTERVAL = 30, 19, 56, 92, 44
"""Heights of the margin on top, of a line of the legend, of the axis, of a bar with its texts, and of an
interval below it [px]."""


class MemoryBar(NamedTuple):
    """Memory of one case on one accelerator."""

    rows: Mapping[str, float]
    """Use -> size [B], as ``Memory.rows``."""
    capacity: float
    """[B]"""
    probability: float
    """Probability that the case fits."""
    interval: tuple[float, float] | None = None
    """80 % interval of the memory needed [B]; None where it is not drawn."""
    host: float = 0.0
    """Memory that it takes of each host [B]."""

    @property
    def widest(self) -> float:
        """The largest of needed memory, its interval and the capacity [B]."""
        return max(self.needed, self.capacity, *(self.interval or ()))

    @property
    def needed(self) -> float:
        """Sum of all uses [B]."""
        return sum(self.rows.values())

    @property
    def fits(self) -> bool:
        """Whether the case fits with a probability of at least 0.5."""
        return self.probability >= 0.5

    @property
    def words(self) -> str:
        """Text that says whether it fits, with needed memory and capacity.

        >>> MemoryBar({"weights": 8 * 2.0**30}, 16 * 2.0**30, 0.99).words
        'fits: 8.0 of 16.0 GiB'
        """
        host = f", host {self.host / GIB:.1f} GiB" if self.host else ""
        return f"{verdict(self.probability)}: {self.needed / GIB:.1f} of {self.capacity / GIB:.1f} GiB{host}"


def of_prediction(prediction: Prediction) -> MemoryBar:
    """Return the bar of a prediction's fullest accelerator."""
    return of_memory(prediction.memory)


def of_memory(memory: Memory) -> MemoryBar:
    """Return the bar of a prediction's ``Memory``."""
    return MemoryBar(memory.rows or {UNNAMED: memory.bytes}, memory.capacity, memory.probability)


def of_layout(row: LayoutRow) -> MemoryBar:
    """Return the bar of a row of ``perfmodel layouts``."""
    rows = {name: row.memory[name] for name in transformers_memory.Memory._fields}
    return MemoryBar(rows, row.memory["capacity"], row.memory["fits_probability"])


def draw_memory(bars: Mapping[str, MemoryBar], name: str, of: str = FULLEST) -> Any:
    """Draw the chart of bars, by case, on the page.

    Parameters
    ----------
    bars, of : as of ``memory_bars``
    name : the chart's key
    """
    cases = "; ".join(f"{case} {bar.words}" if case else bar.words for case, bar in bars.items())
    each = EACH + INTERVAL * any(bar.interval is not None for bar in bars.values())
    uses = {use for bar in bars.values() for use, size in bar.rows.items() if size}
    height = HEAD + LINE * math.ceil(len(uses) / ABREAST) + FOOT + each * len(bars)
    return draw(memory_bars(bars, of), name, f"Memory of {of}: {cases}", height=height)


def meanings(bars: Collection[MemoryBar]) -> str:
    """Return what the short labels of the uses of memory in some bars mean; empty where none needs it."""
    drawn = {use for bar in bars for use, size in bar.rows.items() if size}
    return "; ".join(words for use, words in MEANING.items() if use in drawn)


def memory_bars(bars: Mapping[str, MemoryBar], of: str = FULLEST) -> Figure:
    """Return the chart of each case's memory by use [GiB], with a line at its capacity.

    Parameters
    ----------
    bars : name of the case -> its bar; the name of a single case may be empty
    of : whose memory a bar is, as the axis says
    """
    figure, every = Figure(), list(bars.values())
    places = list(range(len(every)))
    labels = MORE_LABELS | {row.name: row.label for row in ROWS.values()} | SHORT
    others = {name: OTHERWISE for bar in every for name in bar.rows if name not in LOOKS}
    for name, (colour, pattern) in (LOOKS | others).items():
        sizes = [bar.rows.get(name, 0.0) / GIB for bar in every]
        if not any(sizes):
            continue
        label = labels.get(name, name)
        figure.add_bar(
            y=places,
            x=sizes,
            width=2 * HALF,
            orientation="h",
            name=f"{label} {' / '.join(map(_short, sizes))} GiB" if len(sizes) <= ABREAST else label,
            marker={**filled((colour, pattern)), "line": {"color": "white", "width": 1}},
            text=[f"{label} {_short(size)}" if size and not pattern else "" for size in sizes],
            textposition="inside",
            insidetextanchor="middle",
            textangle=0,
            insidetextfont={"color": letters_on(colour)},
            hovertemplate=f"{label}: %{{x:.2f}} GiB<extra></extra>",
        )
    for place, (case, bar) in enumerate(bars.items()):
        words = bar.words if bar.fits else f"<b>{bar.words}</b>"
        figure.add_annotation(
            x=0,
            y=place - HALF,
            yshift=20,
            text=f"<b>{case}:</b> {words}" if case else f"<b>{bar.words}</b>",
            showarrow=False,
            xanchor="left",
            yanchor="bottom",
        )
    _limits(figure, every)
    figure.update_layout(
        barmode="stack",
        legend={"traceorder": "normal", "maxheight": 1.0},
        uniformtext={"minsize": 11, "mode": "hide"},
    )
    most = max((bar.widest for bar in every), default=1.0) / GIB
    figure.update_xaxes(title=f"memory of {of} [GiB]", range=[0, 1.04 * most])
    figure.update_yaxes(visible=False, range=[len(every) - 0.55, -0.75], fixedrange=True)
    return figure


def _limits(figure: Figure, bars: list[MemoryBar]) -> None:
    """Add a line across each bar at the capacity, its size above, and mark what is needed beyond it.

    Below a bar is the 80 % interval of what is needed, so the line ends with the bar.
    """
    ends = [bar.capacity / GIB for bar in bars]
    figure.add_scatter(
        x=[x for end in ends for x in (end, end, None)],
        y=[y for place in range(len(bars)) for y in (place - HALF - 0.07, place + HALF, None)],
        mode="lines",
        line={"color": RED, "width": 3},
        name="available",
        hovertemplate="available: %{x:.1f} GiB<extra></extra>",
        showlegend=False,
    )
    widest = max((bar.widest for bar in bars), default=1.0)
    for place, bar in enumerate(bars):
        text = f"{bar.capacity / GIB:.1f} GiB available"
        if bar.needed > bar.capacity:
            text += f", {(bar.needed - bar.capacity) / GIB:.1f} too few"
            figure.add_shape(
                type="rect",
                x0=bar.capacity / GIB,
                x1=bar.needed / GIB,
                y0=place - HALF,
                y1=place + HALF,
                fillcolor=CLEAR,
                line={"color": RED, "width": 3},
            )
        figure.add_annotation(
            x=bar.capacity / GIB,
            y=place - HALF,
            yshift=4,
            text=text,
            showarrow=False,
            xanchor="right" if bar.capacity > widest / 2 else "left",
            yanchor="bottom",
        )
    for place, bar in enumerate(bars):
        if bar.interval is not None:
            _interval(figure, place, bar.interval, widest)


def _interval(figure: Figure, place: int, interval: tuple[float, float], widest: float) -> None:
    """Add the 80 % interval of the memory needed below a bar, with its ends as text.

    Parameters
    ----------
    place : of the bar
    interval, widest : the interval, and the largest memory of the chart [B]
    """
    low, high = (end / GIB for end in interval)
    y, cap, is_right = place + HALF + 0.08, 0.05, interval[0] > widest / 2
    is_long = not is_right and interval[1] > ROOM * widest  # beside it the text would end beyond the picture
    figure.add_scatter(
        x=[low, low, None, low, high, None, high, high],
        y=[y - cap, y + cap, None, y, y, None, y - cap, y + cap],
        mode="lines",
        line={"color": GREY, "width": 3},
        name="80 %",
        hovertemplate="80 %: %{x:.1f} GiB<extra></extra>",
        showlegend=False,
    )
    figure.add_annotation(
        x=low if is_right else high,
        y=y,
        yshift=-11 if is_long else 0,
        text=f"80 %: {low:.1f} to {high:.1f} GiB",
        showarrow=False,
        xanchor="right" if is_right or is_long else "left",
        xshift=0 if is_long else -4 if is_right else 4,
        yanchor="middle",
    )


def _short(gib: float) -> str:
    """Return a size [GiB] with one decimal, below 1 with two significant digits.

    >>> _short(12.34), _short(0.0476), _short(0.0)
    ('12.3', '0.048', '0')
    """
    return f"{gib:.1f}" if gib >= 1 else f"{gib:.2g}"
