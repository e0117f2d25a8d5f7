"""Page Sensitivity: the inputs that an iteration's time depends on, the binding limits, and crossovers."""

from __future__ import annotations

from typing import Any

import streamlit as st

from app import answer_card, charts, memory_chart, report_pages, session_hardware, sharing
from app.backend import backend
from app.figure import Figure
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
from perfmodel.core.units import three_digits
from perfmodel.decide.sensitivity.input_words import limit_words, value_words, words_of
from perfmodel.decide.sensitivity.per_sample import Effect, effects
from perfmodel.decide.sensitivity.sensitivity_tables import SensitivityReport
from perfmodel.model.options.conditions import Conditions
from perfmodel.model.prediction import Prediction
from perfmodel.model.prediction.card import card_of

DRAWN = 12
"""Most inputs in the chart, the strongest ones."""
LEAST = 1e-3
"""Least change of the time per sample that is drawn, as a share of it."""


def tornado(rows: list[Effect]) -> Figure:
    """Return the chart of the change of the time per sample for each input a quarter less and more."""
    figure = Figure()
    for name, colour, changes in (
        ("25 % less", charts.ORANGE, [row.less for row in rows]),
        ("25 % more", charts.BLUE, [row.more for row in rows]),
    ):
        figure.add_bar(
            y=[_input(row) for row in rows],
            x=[100 * (change or 0.0) for change in changes],
            name=f"{name} of it",
            orientation="h",
            marker={"color": colour},
            hovertemplate="%{y} " + name + ": %{x:+.1f} %<extra></extra>",
        )
    figure.update_layout(barmode="overlay")
    figure.update_yaxes(autorange="reversed", automargin=True)
    figure.update_xaxes(title="time per sample", ticksuffix=" %", zeroline=True)
    return figure


def _whole(line: str) -> str:
    """Return a line as a sentence; a first word with a digit, as in names, keeps its case."""
    return f"{line}." if any(map(str.isdigit, line.partition(" ")[0])) else sentence(line)


def _input(effect: Effect) -> str:
    """Return the label of an input."""
    return sentence(words_of(effect.row["name"])).removesuffix(".")


def decision(report: SensitivityReport, rows: list[Effect], prediction: Prediction) -> str:
    """Return the sentence on the input that matters most, after a warning if the job does not fit."""
    unfit = ""
    if not prediction.memory.fits:
        unfit = f"This job {memory_chart.of_prediction(prediction).words} of memory on each GPU. "
    if not rows:
        return f"{unfit}No input moves the time."
    first = rows[0]
    changes = [
        f"a quarter {name} {'costs' if change > 0 else 'saves'} {three_digits(abs(100 * change))} %"
        for name, change in (("more", first.more), ("less", first.less))
        if change is not None
    ]
    return f"{unfit}{_input(first)} matters most: of the time per sample {', '.join(changes)}."


def _percent(share: float | None) -> str:
    """Return a change in percent as text with a sign and three digits; "" if it is not known."""
    if not share:
        return "" if share is None else "0 %"
    return f"{'-' if share < 0 else '+'}{three_digits(abs(100 * share))} %"


def table(rows: list[Effect]) -> str:
    """Return inputs as a Markdown table, in the order of the chart, their effects next to their names."""
    return markdown(
        [
            {
                "input": plain(f"{_input(each)}: {value_words(each.row['value'], each.row['unit'])}"),
                "a quarter less": _percent(each.less),
                "a quarter more": _percent(each.more),
                "1 % more": _percent(None if each.one_percent is None else each.one_percent / 100),
            }
            for each in rows
        ]
    )


def inputs(rows: list[Effect]) -> None:
    """Draw the table of the inputs that move the time, those that do not, and what each is."""
    moving = [each for each in rows if each.most > LEAST]
    if moving:
        st.markdown("**What each input changes of the time per sample**")
        with st.container(key="ratios-of-inputs"):
            st.markdown(table(moving))
    if still := [_input(each) for each in rows if each not in moving]:
        st.caption(plain(f"Under {LEAST:.1%} or none: {', '.join(still)}."))
    with fold("What the inputs are") as is_open:
        if is_open:
            lines = [f"{_input(each)}: {each.row['meaning']}" for each in rows]
            st.markdown("\n".join(f"* {plain(line)}" for line in lines))


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
    rows = [each for each in every if each.most > LEAST][:DRAWN]
    advice = decision(report, rows, prediction)
    card = card_of(prediction).model_copy(update={"advice": advice})
    with request.top:
        job = job_of(prediction.scenario["workload"], card)
        st.subheader(plain(f"What would make {job} faster?"), anchor=False)
        answer_card.show(card)
    if rows:
        charts.draw(tornado(rows), "tornado", advice, height=120 + 28 * len(rows))
    for heading, lines in (
        ("Which limit sets the time, where there are several", map(limit_words, report.maxima)),
        ("Where the answer changes", [each["words"] for each in report.crossovers]),
    ):
        bullets = "\n".join(f"* {plain(for_planners(_whole(line)))}" for line in lines)
        if bullets:
            st.markdown(f"**{heading}**\n{bullets}")
    inputs(every)
    for note in report.notes:
        st.caption(plain(labelled(sentence(note))))
    with st.container(horizontal=True):
        code = python(request.picked)
        copy_buttons("sensitivity", request.picked, code, card=card)
        command = shell_command("sensitivity", request.picked)
        page = report_pages.of_sensitivity(report, request.scenario(), command, conditions)
        download_buttons(
            "sensitivity", sharing.csv_of("sensitivity", report), report.model_dump(mode="json"), page
        )


page(scenario_form("sensitivity", money=True))
