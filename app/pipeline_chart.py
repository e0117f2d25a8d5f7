"""Chart of a pipeline's schedule: a row for each stage, with its passes over time and its waits hatched."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from itertools import pairwise
from typing import Any, NamedTuple

import streamlit as st

from app import session_hardware
from app.charts import BLUE, ORANGE, PINK, draw
from app.colours import OF_TERM
from app.figure import Figure
from app.fills import filled, letters_on
from app.looks import refused_words
from app.plain import plain
from perfmodel.core.errors import InputError
from perfmodel.core.sentences import capitalised
from perfmodel.core.units import per_cent, show
from perfmodel.equations.pipeline_orders import Kind
from perfmodel.model.prediction import Prediction
from perfmodel.model.step.terms import TERMS
from perfmodel.model.transformers.pipeline import Pipeline
from perfmodel.model.transformers.schedule import KINDS, Block, Schedule

ALL_DRAWN = 16
"""Most micro-batches that are all drawn; of more, only the first and the last, as those between are alike."""
MOST_SHAPES = 1200
"""Most passes drawn as bars; more are drawn as one image."""
COLUMNS = 800
"""Columns of that image."""
MOST_NUMBERS = 500
"""Most passes that are drawn with numbers."""
BUBBLE = "the stage waits"
BUBBLE_LOOK = OF_TERM["bubble_time"]
SHORTEST = 1e-3
"""Shortest wait that is drawn, as a share of the step."""
GAP = 0.05
"""Width of the gap in place of passes left out, as a share of the drawn width."""
NEAR_GAP = 0.8
"""Share of the part before the gap that has ticks; later ones would overlap those after it."""
HEAD, LEAST, MOST = 120, 170, 570
"""Heights of the legend and axis, and least and largest height of the chart [px]."""
PASSES: tuple[tuple[tuple[Kind, ...], str, str], ...] = (
    (("forward",), KINDS["forward"], BLUE),
    (("backward",), KINDS["backward"], ORANGE),
    (("inputs",), KINDS["inputs"], ORANGE),
    (("weights",), KINDS["weights"], PINK),
)
"""Passes of one colour, with their name; of a schedule those that it has are drawn."""
WAIT_SHADE = len(PASSES)
"""Value of a wait in the image; that of a pass is its place in ``PASSES``."""


class Wait(NamedTuple):
    """A time in which a stage waits."""

    stage: int
    start: float
    """[s]"""
    end: float
    """[s]"""


class Cut(NamedTuple):
    """The parts of a schedule that are drawn: all, or up to one time and from another."""

    first: float
    """End of the first part [s]."""
    last: float
    """Start of the last part [s]."""
    end: float
    """End of the schedule [s]."""

    @property
    def gap(self) -> float:
        """Width of the gap between both parts [s]; 0 if all is drawn."""
        return GAP * (self.end - self.last + self.first) if self.last > self.first else 0.0

    def place(self, moment: float) -> float:
        """Return the position of a time on the axis [s]."""
        return moment if moment <= self.first else moment - self.last + self.first + self.gap

    def parts(self, block: Block | Wait) -> Iterable[tuple[float, float]]:
        """Yield start and end on the axis [s] of the drawn parts of a pass or a wait."""
        for low, high in ((0.0, self.first), (self.last, self.end)):
            start, end = max(block.start, low), min(block.end, high)
            if end > start:
                moved = 0.0 if low < self.last else self.first + self.gap - self.last
                yield start + moved, end + moved


def cut_of(schedule: Schedule) -> Cut:
    """Return the parts to draw: of many micro-batches a bit more than the fill time, at both ends."""
    end = schedule.end
    if schedule.micro_batches <= ALL_DRAWN:
        return Cut(end, end, end)
    each = max(sum(block.end - block.start for block in blocks) for blocks in schedule.stages)
    shown = (len(schedule.stages) + 3) * each / schedule.micro_batches
    return Cut(shown, end - shown, end) if 2 * shown < 0.8 * end else Cut(end, end, end)


def waits_of(schedule: Schedule) -> list[Wait]:
    """Return the waits of all stages, except those shorter than ``SHORTEST``."""
    waits = []
    for stage, blocks in enumerate(schedule.stages):
        ends = [0.0, *(block.end for block in blocks)]
        starts = [*(block.start for block in blocks), schedule.end]
        waits += [Wait(stage, end, start) for end, start in zip(ends, starts, strict=True)]
    return [each for each in waits if each.end - each.start > SHORTEST * schedule.end]


def draw_schedule(scenario: Any, prediction: Prediction, name: str) -> None:
    """Draw the schedule of a prediction's pipeline, if it has one that is not too long.

    Parameters
    ----------
    scenario : of the prediction, as ``pipeline_of_scenario`` takes it
    prediction : of the job
    name : key of the chart
    """
    if prediction.layout is None or prediction.layout["pipeline_parallel"] == 1:
        return
    from perfmodel.model.prediction.pipeline import pipeline_of_scenario

    try:
        pipeline = pipeline_of_scenario(scenario, session_hardware.catalogue())
    except InputError as error:  # too long to draw; the page still shows its answer
        st.caption(plain(refused_words(error)))
        return
    if pipeline is not None:
        draw_pipeline(pipeline, prediction, name)


def waits_in_words(prediction: Prediction) -> str:
    """Return the share of the step that stages wait, and the terms that it is the sum of."""
    terms = ("bubble_time", "unequal_stages_time")
    parts = [
        f"{per_cent(prediction.terms[name] / prediction.iteration_time)} {TERMS[name].label}"
        for name in terms
        if prediction.terms.get(name)
    ]
    waits = f"stages wait {per_cent(prediction.bubble_fraction or 0.0)} of the step"
    return f"{waits}: {' and '.join(parts)}" if len(parts) > 1 else waits


def draw_pipeline(pipeline: Pipeline, prediction: Prediction, name: str) -> Any:
    """Draw a pipeline's schedule on the page, below a line with the share of the step that stages wait."""
    schedule = pipeline.schedule
    stages = f"{len(schedule.stages)} stages"
    if schedule.chunks > 1:
        stages += f" of {schedule.chunks} chunks"
    passes = "1 micro-batch" if schedule.micro_batches == 1 else f"{schedule.micro_batches} micro-batches"
    title = f"Pipeline of {stages}, {passes}: {waits_in_words(prediction)}"
    st.markdown(f"**{title}**")
    height = min(MOST, max(LEAST, HEAD + 30 * len(schedule.stages)))
    shown = draw(pipeline_schedule(schedule), name, title, height=height)
    numbers = "micro-batch:chunk" if schedule.chunks > 1 else "those of the micro-batch"
    cut = cut_of(schedule)
    words = f"Numbers, where there is room, are {numbers}."
    if cut.gap:
        words += f" Left out at the dots: {show(cut.last - cut.first, 's')} of the same pattern."
    if pipeline.words:
        words += f" {capitalised(pipeline.words)}."
    st.caption(plain(words))
    return shown


def pipeline_schedule(schedule: Schedule) -> Figure:
    """Return the chart of a schedule; backward passes to weights have a colour of their own.

    Parameters
    ----------
    schedule : of ``perfmodel.model.transformers.pipeline``
    """
    cut = cut_of(schedule)
    drawn = [
        (block, start, end)
        for blocks in schedule.stages
        for block in blocks
        for start, end in cut.parts(block)
    ]
    waits = [(each, *part) for each in waits_of(schedule) for part in cut.parts(each)]
    figure = Figure()
    lanes = lanes_of(schedule)
    if len(drawn) <= MOST_SHAPES:
        _bars(figure, drawn, schedule.chunks, lanes)
        _waits(figure, waits)
    else:
        _picture(figure, [*waits, *drawn], len(schedule.stages), cut, lanes)
    count = len(schedule.stages)
    figure.update_yaxes(
        title="stage", range=[count + 0.5, 0.5], tick0=1, dtick=math.ceil(count / 16), zeroline=False
    )
    figure.update_xaxes(title="time of the step [s]", range=[0, cut.place(schedule.end)], zeroline=False)
    if cut.gap:
        _mark_gap(figure, cut)
    figure.update_layout(barmode="overlay", uniformtext={"minsize": 9, "mode": "hide"})
    return figure


def lanes_of(schedule: Schedule) -> dict[Block, int]:
    """Return the passes that run at the same time as another of their stage: 0 above, 1 below."""
    lanes: dict[Block, int] = {}
    for blocks in schedule.stages:
        for one, following in pairwise(blocks):
            if one not in lanes and following.overlaps(one):
                lanes |= {one: 0, following: 1}
    return lanes


def _bars(
    figure: Figure, drawn: list[tuple[Block, float, float]], chunks: int, lanes: Mapping[Block, int]
) -> None:
    """Add a bar for each pass; of two at the same time each has half of the height."""
    for kinds, name, colour in PASSES:
        mine = [each for each in drawn if each[0].kind in kinds]
        if not mine:
            continue
        numbered = len(drawn) <= MOST_NUMBERS
        figure.add_bar(
            y=[block.stage + 1 + (0.4 * lanes[block] - 0.2 if block in lanes else 0) for block, _, _ in mine],
            x=[end - start for _, start, end in mine],
            base=[start for _, start, _ in mine],
            width=[0.4 if block in lanes else 0.8 for block, _, _ in mine],
            orientation="h",
            name=name,
            marker={"color": colour, "line": {"color": "rgba(0, 0, 0, 0.4)", "width": 0.5}},
            text=[_number(block, chunks) if numbered else "" for block, _, _ in mine],
            textposition="inside",
            insidetextanchor="middle",
            textangle=0,
            insidetextfont={"color": letters_on(colour)},
            customdata=[
                f"stage {block.stage + 1}, {name} of micro-batch {block.micro_batch + 1}"
                + (f", chunk {block.chunk + 1}" if chunks > 1 else "")
                + f": {show(block.start, 's')} to {show(block.end, 's')}"
                for block, _, _ in mine
            ],
            hovertemplate="%{customdata}<extra></extra>",
        )


def _waits(figure: Figure, drawn: list[tuple[Wait, float, float]]) -> None:
    """Add a bar for each wait, in the colour and pattern of the bubble's term."""
    figure.add_bar(
        y=[wait.stage + 1 for wait, _, _ in drawn],
        x=[end - start for _, start, end in drawn],
        base=[start for _, start, _ in drawn],
        width=0.8,
        orientation="h",
        name=BUBBLE,
        marker=filled(BUBBLE_LOOK),
        customdata=[show(wait.end - wait.start, "s") for wait, _, _ in drawn],
        hovertemplate="stage %{y} waits %{customdata}<extra></extra>",
    )


def _number(block: Block, chunks: int) -> str:
    return f"{block.micro_batch + 1}:{block.chunk + 1}" if chunks > 1 else str(block.micro_batch + 1)


def _picture(
    figure: Figure,
    drawn: Sequence[tuple[Block | Wait, float, float]],
    stages: int,
    cut: Cut,
    lanes: Mapping[Block, int],
) -> None:
    """Add an image in place of bars: columns of time in the colour of the pass or wait at their middle.

    Where passes run at the same time, a stage has two rows.
    """
    wide, each = cut.place(cut.end) / COLUMNS, 2 if lanes else 1
    rows: list[list[float | None]] = [[None] * COLUMNS for _ in range(each * stages)]
    shade = {kind: float(place) for place, (kinds, _, _) in enumerate(PASSES) for kind in kinds}
    for block, start, end in drawn:
        value = float(WAIT_SHADE) if isinstance(block, Wait) else shade[block.kind]
        own = [lanes[block]] if isinstance(block, Block) and block in lanes else range(each)
        for column in range(math.ceil(start / wide - 0.5), min(COLUMNS, math.ceil(end / wide - 0.5))):
            for lane in own:
                rows[each * block.stage + lane][column] = value
    colours = [*(colour for _, _, colour in PASSES), BUBBLE_LOOK[0]]
    figure.add_heatmap(
        z=rows,
        x=[(column + 0.5) * wide for column in range(COLUMNS)],
        y=[1 + (row // each) + (0.4 * (row % each) - 0.2 if lanes else 0) for row in range(each * stages)],
        ygap=0 if lanes else 2,
        zmin=-0.5,
        zmax=len(colours) - 0.5,
        colorscale=[
            [(place + edge) / len(colours), colour] for place, colour in enumerate(colours) for edge in (0, 1)
        ],
        showscale=False,
        hoverinfo="skip",
    )
    drawn_kinds = {block.kind for block, _, _ in drawn if isinstance(block, Block)}
    for kinds, name, colour in PASSES:  # for the legend
        if drawn_kinds & set(kinds):
            figure.add_bar(x=[None], y=[None], name=name, marker={"color": colour})
    figure.add_bar(x=[None], y=[None], name=BUBBLE, marker={"color": BUBBLE_LOOK[0]})


def _mark_gap(figure: Figure, cut: Cut) -> None:
    """Add the mark of the gap, and ticks with the true times on both sides of it."""
    figure.add_annotation(
        x=cut.first + cut.gap / 2,
        xref="x",
        y=0.5,
        yref="paper",
        text="...",
        showarrow=False,
    )
    step = _round_step(cut.first)
    early = [step * index for index in range(int(NEAR_GAP * cut.first / step) + 1)]
    late = [step * index for index in range(math.ceil(cut.last / step), int(cut.end / step) + 1)]
    figure.update_xaxes(
        tickvals=[cut.place(each) for each in (*early, *late)],
        ticktext=[show(each, "s") if each else "0 s" for each in (*early, *late)],
        tickangle=0,
        title="time of the step",
    )


def _round_step(width: float) -> float:
    """Return a tick distance, 1, 2 or 5 times a power of ten, that fits a width one to three times.

    >>> _round_step(0.62), _round_step(3.1)
    (0.2, 2.0)
    """
    power = 10.0 ** math.floor(math.log10(width / 1.5))
    steps = [step * power for step in (0.5, 1, 2, 5)]
    return max(step for step in steps if step <= steps[0] or 1.5 * step <= width)
