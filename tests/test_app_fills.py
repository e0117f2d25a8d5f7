"""What is written in bars is readable: a contrast of 4.5 on every fill and every line of a pattern."""

from __future__ import annotations

import doctest
import itertools
import re

import plotly.graph_objects as go
import pytest

from app import charts, colours, fills, layout_map, memory_chart, pipeline_chart, trace_chart
from perfmodel import Scenario, layouts, predict
from perfmodel.hardware.catalogue.store import Catalogue
from perfmodel.model.prediction.pipeline import pipeline_of_scenario

pytestmark = pytest.mark.any_version

LEAST = 4.5
PAGES = {"light": "#ffffff", "dark": "#191816"}
"""What is below a bar that is not filled."""
NAMES = {"black": fills.BLACK, "white": fills.WHITE}
LAID_OUT = {
    "workload": "llama-2-70b",
    "accelerator": "h100-sxm5-80gb",
    "gpus": 64,
    "tensor_parallel": 8,
    "pipeline_parallel": 4,
    "global_batch_size": 16,
}


def each_of(value, count):
    """A property of a trace for each of its bars."""
    return [value] * count if value is None or isinstance(value, str) else list(value)


def below(bar, index, count, page):
    """Colours that are below what is written in a bar."""
    colour = bar.marker.color
    if bar.marker.colorscale:
        scale, most = layout_map.colour_of, bar.marker.cmax
        return [scale(colour[index] / most)]
    fill, pattern = each_of(colour, count)[index], bar.marker.pattern
    opacity = 1.0 if bar.marker.opacity is None else bar.marker.opacity
    assert opacity == 1.0, "a fill that shows what is below it"
    if not (pattern.shape and each_of(pattern.shape, count)[index]):
        return [fill]
    if pattern.fillmode == "overlay":
        assert pattern.fgopacity == 1.0
        return [fill, each_of(pattern.fgcolor, count)[index]]
    return [fill, each_of(pattern.bgcolor, count)[index] or page]


def worst(figure, page):
    """The least contrast of what is written in the bars of a figure, and how many are written on."""
    found = []
    for bar in figure.data:
        if bar.type != "bar" or bar.textposition != "inside":
            continue
        count = len(bar.x)
        letters = each_of(bar.insidetextfont.color, count)
        for index, text in enumerate(each_of(bar.text, count)):
            if text:
                on = NAMES.get(letters[index], letters[index])
                found += [fills.contrast(on, fill) for fill in below(bar, index, count, page)]
    return min(found), len(found)


def memory():
    """A bar of everything that can fill a memory."""
    rows = dict.fromkeys([*memory_chart.LOOKS, "another"], 2.0**30)
    return memory_chart.memory_bars({"": memory_chart.MemoryBar(rows, 80 * 2.0**30, 0.9)})


def pipeline():
    pipeline = pipeline_of_scenario(Scenario(**LAID_OUT), Catalogue.built_in())
    return pipeline_chart.pipeline_schedule(pipeline.schedule)


def layout_cells():
    answer = layouts(workload="llama-3-8b", gpus=16, node="dgx-h100", global_batch_size=64)
    return layout_map.figure_of(answer, answer.rows[0])


def traced_step():
    step = {"compute_time": 0.07, "exposed_communication_time": 0.03, "idle_time": 0.02}
    return trace_chart.step_chart({"device 0": step, "device 1": step}, True)


FIGURES = (memory, pipeline, layout_cells, traced_step)


@pytest.mark.parametrize("page", PAGES)
@pytest.mark.parametrize("made", FIGURES, ids=lambda made: made.__name__)
def test_what_is_written_in_bars_can_be_read(made, page):
    least, count = worst(go.Figure(made().plotly().to_dict()), PAGES[page])
    assert least >= LEAST
    assert count > 5


@pytest.mark.parametrize(
    "look", sorted({*colours.OF_TERM.values(), *memory_chart.LOOKS.values(), memory_chart.OTHERWISE})
)
def test_letters_on_any_look_can_be_read_and_its_pattern_seen(look):
    letters, marker = fills.letters_on(look[0]), fills.filled(look)
    assert fills.contrast(letters, look[0]) >= LEAST
    assert fills.contrast(letters, marker["pattern"]["fgcolor"]) >= LEAST
    assert fills.contrast(look[0], marker["pattern"]["fgcolor"]) > 1.5
    for page in PAGES.values():
        bar = go.Bar(x=[1], marker=marker, text="words", textposition="inside", insidetextfont_color=letters)
        assert worst(go.Figure(bar), page)[0] >= LEAST


def test_the_better_of_black_and_white_is_readable_on_every_colour():
    steps = [f"{step:02x}" for step in range(0, 256, 15)]
    every = ("#" + "".join(parts) for parts in itertools.product(steps, repeat=3))
    assert min(fills.contrast(fills.letters_on(colour), colour) for colour in every) >= LEAST


def test_a_pattern_on_the_page_itself_is_not_readable():
    """The check sees what it is for: lines alone, on a page whose colour nobody knows."""
    bar = go.Bar(x=[1], marker={"color": charts.BLUE, "pattern": {"shape": "/"}}, text="words")
    bar.update(textposition="inside", insidetextfont_color="black")
    assert worst(go.Figure(bar), PAGES["light"])[0] < LEAST
    assert worst(go.Figure(bar), PAGES["dark"])[0] < LEAST


def test_bars_with_words_inside_are_those_tested_here():
    """A chart that writes into its bars, or leaves where to Plotly, is one of the figures above."""
    from pathlib import Path

    inside = re.compile(r'textposition["=:\s]+"(inside|auto)"|insidetextfont')
    files = Path(charts.__file__).parent.rglob("*.py")
    writing = {path.stem for path in files if inside.search(path.read_text())}
    assert writing == {"memory_chart", "pipeline_chart", "layout_map", "trace_chart"}


def test_bars_of_both_pictures_of_terms_are_filled():
    answer = predict(gpus=32, inter_link="ethernet-25g-tcp")
    for figure in (charts.waterfall(answer), charts.side_by_side({"A": answer})):
        for bar in figure.plotly().data:
            if bar.type == "bar" and bar.marker.pattern.shape:
                assert bar.marker.pattern.fillmode == "overlay"


def test_worked_examples():
    assert doctest.testmod(fills).failed == 0
    assert doctest.testmod(layout_map).failed == 0


@pytest.mark.parametrize(("ends", "anchor"), [((33, 130), "right"), ((10, 60), "left"), ((90, 130), "right")])
def test_the_ends_of_an_interval_are_written_within_the_picture(ends, anchor):
    interval = tuple(end * 2.0**30 for end in ends)
    bar = memory_chart.MemoryBar({"weights": 60 * 2.0**30}, 130 * 2.0**30, 0.9, interval)
    figure = memory_chart.memory_bars({"": bar}).plotly()
    (written,) = [each for each in figure.layout.annotations if each.text.startswith("80 %")]
    assert (written.xanchor, written.x in ends) == (anchor, True)
    assert (written.yshift < 0) == (ends == (33, 130))  # below its line
