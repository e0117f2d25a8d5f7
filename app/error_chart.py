"""The chart of errors: how many times too long or too short the predicted times of groups of runs are."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from statistics import quantiles
from typing import TYPE_CHECKING

from app.charts import GREY, ORANGE, SKY
from app.figure import Figure
from perfmodel.core.units import per_cent

if TYPE_CHECKING:
    from perfmodel.evidence.accuracy import Row

TIMES = (10, 5, 2)
"""Factors of ticks."""
STRIP, AXIS = 56, 90
"""Height of a strip and of what is below the strips [px]."""
LOW, HIGH = 0.33, 0.75
"""Place of a group's dots below its line in the chart, between which they are spread; strips are 1 apart."""
MEDIAN = {"symbol": "diamond", "size": 10, "color": "white", "line": {"color": "black", "width": 2}}
"""Mark of the median, visible on a bar, on white and on black."""
BEYOND = 0.12
"""Distance from the dots to the frame of those within 20 %."""


def height(groups: int) -> int:
    """Return the height of the chart of so many groups [px]."""
    return AXIS + STRIP * groups


def strips(groups: Mapping[str, Sequence[Row]]) -> Figure:
    """Return the chart of predicted over measured times: a strip for each group, its name above it."""
    figure = Figure()
    for place, (name, rows) in enumerate(groups.items()):
        for look in (
            {"layer": "below", "line": {"width": 0}, "fillcolor": GREY, "opacity": 0.35},
            {"layer": "above", "line": {"width": 1.5, "color": GREY}},  # not hidden by the dots
        ):
            figure.add_shape(  # around the dots only, so that the name keeps a line of its own
                type="rect", x0=0.8, x1=1.2, y0=place + LOW - BEYOND, y1=place + HIGH + BEYOND, **look
            )
        ratios = [1 + (row.error or 0.0) for row in rows]
        steps = max(1, len(rows) - 1)
        figure.add_scatter(
            x=ratios,
            y=[place + LOW + (HIGH - LOW) * (37 * at % (steps + 1)) / steps for at in range(len(rows))],
            mode="markers",
            text=[
                f"{row.run.run_id}: {per_cent(row.error or 0.0, signed=True)}<br>{row.run.locator}"
                for row in rows
            ],
            marker={"color": SKY, "size": 4, "opacity": 0.5},
            hovertemplate="%{text}<extra></extra>",
            showlegend=False,
        )
        if len(rows) > 1:
            tenths = quantiles(ratios, n=10, method="inclusive")
            middle = place + (LOW + HIGH) / 2
            unnamed = {"hoverinfo": "skip", "showlegend": False}
            figure.add_scatter(
                x=(tenths[0], tenths[8]),
                y=(middle, middle),
                mode="lines",
                line={"color": ORANGE, "width": 5},
                **unnamed,
            )
            figure.add_scatter(
                x=(tenths[4],),
                y=(middle,),
                mode="markers",
                marker=MEDIAN,
                **unnamed,
            )
        mean = sum(abs(ratio - 1) for ratio in ratios) / len(ratios)
        figure.add_annotation(
            x=0,
            xref="paper",
            y=place,
            text=f"<b>{name}</b>: {per_cent(mean, 0)} off, {len(rows):,} runs",
            showarrow=False,
            xanchor="left",
            yanchor="middle",
        )
    ticks = {1 / each: f"{each} x" for each in TIMES} | {1.0: "right"} | {each: f"{each} x" for each in TIMES}
    figure.update_xaxes(
        title="too fast  \u2190  predicted time  \u2192  too slow",
        type="log",
        tickvals=sorted(ticks),
        ticktext=[ticks[each] for each in sorted(ticks)],
        automargin=True,
    )
    figure.update_yaxes(visible=False, autorange=False, range=[len(groups) - 0.1, -0.25], fixedrange=True)
    return figure
