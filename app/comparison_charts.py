"""Charts and large figures of Compare: how many times as fast each case is, and what its time goes to."""

from __future__ import annotations

import math
import textwrap
from collections.abc import Mapping
from html import escape

import streamlit as st

from app import answer_card, axes, charts
from app.figure import Figure
from perfmodel.core.units import dollars, per_cent, show, three_digits
from perfmodel.decide.comparison import Comparison
from perfmodel.decide.comparison.comparison_words import speed_axis, title
from perfmodel.model.prediction import Prediction

WIDEST_LABEL = 44
"""Characters in a line of a row's label: a phone is 390 pixels wide."""
FIGURES = 0.76
"""Share of the width of the chart of speeds that its axis takes: figures may stand behind it."""


def label(name: str) -> str:
    """Return the label of a row from the name of its case, in lines of at most ``WIDEST_LABEL``."""
    letter = name.partition(" ")[0]
    called = title(letter, name)
    words = f"{letter}: {called}" if called else letter
    return "<br>".join(map(escape, textwrap.wrap(words, WIDEST_LABEL)))


def best(result: Comparison, answers: Mapping[str, Prediction]) -> str | None:
    """Return the case to take, else the fastest that fits; None where the work differs."""
    if result.taken is not None:
        return result.taken
    speeds = {
        case.name: case.ratio.value for case in result.cases if case.ratio and answers[case.name].memory.fits
    }
    fastest = max(speeds, key=lambda name: speeds[name], default=None)
    return result.names[0] if fastest is not None and speeds[fastest] <= 1 else fastest


def figures(result: Comparison, answers: Mapping[str, Prediction]) -> dict[str, answer_card.Shown]:
    """Return label -> figure: speed, time and cost of the case to take, or else the fastest, beside A's.

    None where that is A, which the others are compared with, or as fast.
    """
    marked = best(result, answers)
    case = next((case for case in result.cases if case.name == marked and case.ratio), None)
    speed = answer_card.cut(case.ratio.words) if case and case.ratio else None
    if case is None or speed is None:
        return {}
    letter, base = (name.partition(" ")[0] for name in (case.name, result.names[0]))
    answer, first = answers[case.name], answers[result.names[0]]
    against = f"{base} takes {show(first.iteration_time, 's')}"
    shown = {f"Speed of {letter} against {base}": speed}
    batches = [each.scenario["global_batch_size"] for each in (answer, first)]
    if batches[0] == batches[1] and (time := answer_card.cut(answer.time_words)):
        shown[f"An iteration with {letter}"] = answer_card.Shown(time.value, f"{time.rest}; {against}")
    costs = next((row for row in result.rows if row.quantity == "cost_per_million_samples"), None)
    place = result.names.index(case.name)
    if costs and (change := costs.relative[place]) is not None:
        cost, apart = dollars(costs.values[place] or 0.0), per_cent(change, signed=True)
        shown[f"A million samples with {letter}"] = answer_card.Shown(cost, f"{apart} against {base}")
    return shown


def draw(result: Comparison, answers: Mapping[str, Prediction]) -> None:
    """Draw the speeds and, next to them or on a narrow screen below, what the time of each case goes to."""
    marked = best(result, answers) or ""
    bars = charts.side_by_side({label(name): each for name, each in answers.items()}, label(marked))
    height = charts.height_beside(bars, [label(name) for name in answers])
    with st.container(horizontal=True, key="compared-charts"):
        said = [f"{case.name} is {case.ratio.sentence}" for case in result.cases if case.ratio]
        if said:
            chart = speeds(result, marked)
            legend = bars.layout["margin"]["b"] - charts.TITLED  # rows of both charts are equally high
            chart.update_layout(margin={**bars.layout["margin"], "b": charts.TITLED})
            charts.draw(chart, "speed-ratios", f"Speeds: {'; '.join(said)}", height=height - legend)
        charts.draw(bars, "compare", f"Times of an iteration. {result.card.advice}", height=height)


def speeds(result: Comparison, marked: str) -> Figure:
    """Return a row for each case: how many times as fast as the first it is, with its 80 % interval.

    Parameters
    ----------
    marked : name of the case that is drawn in colour
    """
    figure, ends, axis = Figure(), [1.0], speed_axis(result)
    for place, case in enumerate(result.cases):
        is_marked, ratio, name = case.name == marked, case.ratio, label(case.name)
        colour = charts.BLUE if is_marked else charts.GREY
        value, spread, figures = 1.0, [1.0, 1.0], "1 x"
        if ratio is not None:
            value, figures = ratio.value, f"<b>{three_digits(ratio.value)} x</b>"
            spread = [value, value]
            if ratio.low_80 is not None and ratio.high_80 is not None:
                spread = [ratio.low_80, ratio.high_80]
                figures += f"<br>{' to '.join(map(three_digits, spread))}"
        ends += spread
        figure.add_scatter(
            x=spread,
            y=[place, place],
            mode="lines",
            line={"color": colour, "width": 6 if is_marked else 3},
            hoverinfo="skip",
            showlegend=False,
        )
        figure.add_scatter(
            x=[value],
            y=[place],
            mode="markers",
            marker={"color": colour, "size": 15 if is_marked else 11, "symbol": "diamond"},
            hovertemplate=f"{name}: {'1 x' if ratio is None else ratio.words}<extra></extra>",
            showlegend=False,
        )
        end = math.log10(spread[1]) if axis.is_logarithmic else spread[1]
        behind = {"showarrow": False, "align": "left", "xanchor": "left", "xshift": 12}
        figure.add_annotation(x=end, y=place, text=figures, **behind)
        figure.add_shape(  # behind no name, which stands above its row
            type="line",
            x0=1,
            x1=1,
            y0=place - 0.19,
            y1=place + 0.4,
            layer="below",
            line={"color": charts.GREY, "width": 2, "dash": "dot"},
        )
    charts.named_rows(figure, [label(name) for name in result.names], label(marked))
    low, high = (math.log10(end) if axis.is_logarithmic else end for end in (axis.low, axis.high))
    ticks = axes.round_ticks(min(ends), max(ends), "1", axis.is_logarithmic)
    base, of_marked = (name.partition(" ")[0] for name in (result.names[0], marked))
    why = "to take" if marked == result.taken else "the fastest"
    says = f"times as fast as {base}; line: 80 % interval<br>dotted: as fast as {base}"
    figure.update_xaxes(
        title={"text": says + f"; blue: {of_marked}, {why}" * (marked != ""), "standoff": charts.STANDOFF},
        automargin=False,
        domain=[0, FIGURES],
        range=[low, high],
        tickvals=ticks,
        ticktext=[f"{tick:,g}" for tick in ticks],
        **charts.scale(axis.is_logarithmic),
    )
    return figure
