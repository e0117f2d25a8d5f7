"""Page Sensitivity: the inputs that an iteration's time depends on, the binding limits, and crossovers."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import streamlit as st

from app import answer_card, charts, memory_chart, report_pages, session_hardware, sharing
from app.backend import backend
from app.figure import Figure
from app.fills import filled
from app.layout import (
    PageRequest,
    copy_buttons,
    download_buttons,
    errors_shown,
    fold,
    scenario_form,
    sentence,
    shell_command,
)
from app.looks import for_planners, labelled
from app.options import MONEY, SCENARIO, arguments, values
from app.plain import markdown, plain
from app.titles import job_of
from perfmodel.core.units import per_cent, three_digits
from perfmodel.decide.sensitivity import levers
from perfmodel.decide.sensitivity.input_words import limit_words, value_words, words_of
from perfmodel.decide.sensitivity.per_sample import STEP, Effect, effects
from perfmodel.model.options.conditions import Conditions
from perfmodel.model.prediction import Prediction
from perfmodel.model.prediction.card import card_of
from perfmodel.model.step.terms import COMPUTE, bound_words

DRAWN = 10
"""Most inputs in the chart, those that save most."""
LOOKS = {"hardware": (charts.BLUE, ""), "job": (charts.ORANGE, ""), "software": (charts.GREEN, "")}
"""Lever of an input -> colour and pattern of its bar."""
UNKNOWN = (charts.GREY, ".")
"""Of an input that nobody may change, such as a measured time."""


def savings(rows: list[Effect]) -> Figure:
    """Return the chart of what a quarter more or less of each input saves of the time per sample.

    Names are above the bars, not left of them, where they would take half of a phone's width.
    """
    figure = Figure()
    for lever, label in {**levers.LEVERS, "": "measured"}.items():
        drawn = [(place, row) for place, row in enumerate(rows) if levers.lever_of(row) == lever]
        if not drawn:
            continue
        figure.add_bar(
            y=[place for place, _ in drawn],
            x=[100 * row.saving[0] for _, row in drawn],
            width=0.45,
            name=label,
            orientation="h",
            marker=filled(LOOKS.get(lever, UNKNOWN)),
            text=[f"{100 * row.saving[0]:.1f} %" for _, row in drawn],
            textposition="outside",
            cliponaxis=False,
            customdata=[_change(row) for _, row in drawn],
            hovertemplate="%{customdata} saves %{text}<extra></extra>",
        )
    for place, row in enumerate(rows):
        figure.add_annotation(
            x=0,
            y=place - 0.25,
            text=_change(row),
            showarrow=False,
            xanchor="left",
            yanchor="bottom",
            yshift=-2,
        )
    margin = {"l": 18}  # room for the tick at 0
    figure.update_layout(barmode="overlay", showlegend=True, legend={"font": {"size": 11}}, margin=margin)
    figure.update_yaxes(visible=False, autorange=False, range=[len(rows) - 0.6, -0.8], fixedrange=True)
    most = 100 * max(row.saving[0] for row in rows)
    title = "time per sample saved, each input alone changed by 25 %"
    figure.update_xaxes(title=title, ticksuffix=" %", range=[0, 1.2 * most])
    return figure


def figures(every: list[Effect]) -> dict[str, answer_card.Shown]:
    """Return what the best change of hardware, job and software saves, as figures of the card."""
    return {
        levers.LEVERS[lever].partition(":")[0].capitalize(): answer_card.Shown(
            levers.saved(one), f"saved by {levers.step_words(one)} {levers.name_of(one)}"
        )
        for lever, one in levers.ranking(every)
    }


def _change(effect: Effect) -> str:
    """Return a change of an input in words: from what to what, of a number without a unit in per cent."""
    value, unit, name = effect.row["value"], effect.row["unit"], _input(effect).partition(" (")[0]
    if unit == "1":
        return f"{name}: {levers.step_words(effect)}"
    changed = value * (1 + STEP if effect.saving[1] == "more" else 1 - STEP)
    return f"{name}: {value_words(value, unit)} to {value_words(changed, unit)}"


def _whole(line: str) -> str:
    """Return a line as a sentence; a first word with a digit, as in names, keeps its case."""
    return f"{line}." if any(map(str.isdigit, line.partition(" ")[0])) else sentence(line)


def _input(effect: Effect) -> str:
    """Return the label of an input."""
    return sentence(words_of(effect.row["name"])).removesuffix(".")


def limit(prediction: Prediction, rows: list[Effect], words: str) -> str:
    """Return what limits the job, and of computing whether memory traffic or products take more of it."""
    moved = {row.row["name"]: abs(row.one_percent or 0.0) for row in rows}
    if not words.startswith(bound_words(COMPUTE)) or moved.get("memory_bandwidth", 0.0) <= moved.get(
        "peak_flops", 0.0
    ):
        return words
    return f"{words}; of computing, more is memory traffic than products of matrices"


def _percent(share: float | None) -> str:
    """Return a change in percent as text with a sign and three digits; "" if it is not known."""
    if not share:
        return "" if share is None else "0 %"
    return f"{'-' if share < 0 else '+'}{three_digits(abs(100 * share))} %"


def table(rows: list[Effect]) -> str:
    """Return inputs as a Markdown table, the strongest first, their effects next to their names."""
    return markdown(
        [
            {
                "input": plain(f"{_input(each)}: {value_words(each.row['value'], each.row['unit'])}"),
                "a quarter less": _percent(each.less),
                "a quarter more": _percent(each.more),
            }
            for each in rows
        ]
    )


def inputs(rows: list[Effect]) -> None:
    """Draw what every input changes, less and more, and what each is, in folded sections."""
    moving = [each for each in rows if each.most > levers.LEAST]
    with fold("Every input: what a quarter less and more changes") as is_open:
        if is_open and moving:
            with st.container(key="wrapped-inputs"):
                st.markdown(table(moving))
            if still := [_input(each) for each in rows if each not in moving]:
                st.caption(plain(f"Under {per_cent(levers.LEAST)} or none: {', '.join(still)}."))
    with fold("What the inputs are") as is_open:
        if is_open:
            lines = [f"{_input(each)}: {each.row['meaning']}" for each in rows]
            st.markdown("\n".join(f"* {plain(line)}" for line in lines))


def _listed(lines: Iterable[str]) -> str:
    """Return lines as sentences of a list in Markdown."""
    return "\n".join(f"* {plain(for_planners(_whole(line)))}" for line in lines)


def python(picked: dict[str, Any]) -> str:
    """Return Python code that gives the page's answer."""
    conditions = ", ".join(f"{name}={value!r}" for name, value in values(picked, MONEY).items())
    given = arguments(values(picked, SCENARIO) | session_hardware.own_names())
    catalogue = session_hardware.catalogue_words(", ")
    return (
        f"from perfmodel import {'Catalogue, ' * bool(catalogue)}Conditions, Scenario\n"
        "from perfmodel.decide.sensitivity import sensitivity\n\n"
        f"result = sensitivity(Scenario({given}){catalogue}, "
        f"conditions=Conditions({conditions}))\n"
        "for row in result.rows:\n"
        "    print(row.name, row.value, row.time.below, row.time.above, row.low, row.high)"
    )


def page(request: PageRequest) -> None:
    """Draw the page for the chosen options."""
    with errors_shown():
        conditions = Conditions(**values(request.picked, MONEY))
        report = backend().sensitivity(request.scenario(), conditions)
        prediction = request.predict()
    every = effects(report.inputs, report.iteration_time)
    rows = [
        each for each in every if each.saving[0] > levers.LEAST and each.row["name"] not in levers.NOT_CHOSEN
    ]
    rows = sorted(rows, key=lambda each: -each.saving[0])[:DRAWN]
    unfit = ""
    if not prediction.memory.fits:
        unfit = f"This job {memory_chart.of_prediction(prediction).words} of memory on each GPU. "
    advice = f"{unfit}{levers.decision(every, report.crossovers)} {sentence(levers.NO_INTERVAL)}"
    card = card_of(prediction)
    card = card.model_copy(update={"advice": advice, "limit": limit(prediction, every, card.limit)})
    with request.top:
        job = job_of(prediction.scenario["workload"], card)
        st.subheader(plain(f"What would make {job} faster?"), anchor=False)
        answer_card.show(card, figures(every), ("memory",))
    if rows:
        charts.draw(savings(rows), "savings", advice, height=110 + 42 * len(rows))
    sharing.here()
    turns = [each["words"] for each in report.crossovers if not each["faster_now"]]
    if turns:
        st.markdown(f"**Where the answer changes**\n{_listed(turns)}")
    for note in report.notes:
        if note != levers.NO_INTERVAL:
            st.caption(plain(labelled(sentence(note))))
    inputs(every)
    with fold("Which limit sets the time, where there are several") as is_open:
        if is_open:
            st.markdown(_listed(map(limit_words, report.maxima)))
    with st.container(horizontal=True):
        code = python(request.picked)
        copy_buttons("sensitivity", request.picked, code, card=card)
        command = shell_command("sensitivity", request.picked)
        page = report_pages.of_sensitivity(report, request.scenario(), command, conditions)
        download_buttons(
            "sensitivity", sharing.csv_of("sensitivity", report), report.model_dump(mode="json"), page
        )


page(scenario_form("sensitivity", money=True))
