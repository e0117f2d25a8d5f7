"""Page Sensitivity: the inputs that an iteration's time depends on, the binding limits, and crossovers."""

from __future__ import annotations

from typing import Any

import streamlit as st

from app import charts, memory_chart, report_pages, session_hardware, sharing
from app.backend import backend
from app.figure import Figure
from app.layout import (
    PageRequest,
    copy_buttons,
    download_buttons,
    errors_shown,
    scenario_form,
    sentence,
    shell_command,
)
from app.looks import for_planners, labelled
from app.options import MONEY, SCENARIO, arguments, values
from app.plain import plain
from perfmodel.core.units import show, show_range
from perfmodel.decide.sensitivity.input_words import limit_words, value_words, words_of
from perfmodel.decide.sensitivity.per_sample import Effect, effects
from perfmodel.decide.sensitivity.sensitivity_tables import SensitivityReport
from perfmodel.model.options.conditions import Conditions
from perfmodel.model.prediction import Prediction
from perfmodel.model.prediction.answer_card import Card

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
    unfit, interval = "", prediction.interval
    if not prediction.memory.fits:
        unfit, interval = (
            f"This job {memory_chart.of_prediction(prediction).words} of memory on each GPU. ",
            None,
        )
    if not rows:
        return f"{unfit}No input moves the time."
    first = rows[0]
    ends = f" (80 %: {show_range(interval.low_80, interval.high_80, 's')})" if interval else ""
    return (
        f"{unfit}{_input(first)} matters most: a quarter less of it changes the time per sample by "
        f"{_percent(first.less)}, a quarter more by {_percent(first.more)}. "
        f"An iteration takes {show(report.iteration_time, 's')}{ends}."
    )


def _percent(share: float | None) -> str:
    """Return a change in percent as text, with two digits below 10 %; "" if it is not known."""
    if share is None:
        return ""
    percent = 100 * share
    return f"{percent:+.0f} %" if abs(percent) >= 9.5 else f"{percent:+.2g} %"


def table(rows: list[Effect]) -> list[dict[str, Any]]:
    """Return all inputs as a table for display, in the order of the chart."""
    return [
        {
            "input": _input(each),
            "effect of +1 %": _percent(None if each.one_percent is None else each.one_percent / 100),
            "a quarter less": _percent(each.less),
            "a quarter more": _percent(each.more),
            "value": value_words(each.row["value"], each.row["unit"]),
            "what it is": each.row["meaning"],
        }
        for each in rows
    ]


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
    with request.top:
        st.subheader(plain(report.title), anchor=False)
        if report.unfit:
            st.markdown(f"**{plain('The job ' + report.unfit + '.')}**")
        st.markdown(f"**{plain(advice)}**")
        sharing.here()
    if rows:
        charts.draw(tornado(rows), "tornado", advice, height=120 + 28 * len(rows))
    for heading, lines in (
        ("Which limit sets the time, where there are several", map(limit_words, report.maxima)),
        ("Where the answer changes", [each["words"] for each in report.crossovers]),
    ):
        bullets = "\n".join(f"* {plain(for_planners(_whole(line)))}" for line in lines)
        if bullets:
            st.markdown(f"**{heading}**\n{bullets}")
    st.caption("What each input changes of the time per sample; more is slower")
    st.dataframe(table(every), hide_index=True)
    for note in report.notes:
        st.caption(plain(labelled(sentence(note))))
    with st.container(horizontal=True):
        code = python(request.picked)
        copy_buttons("sensitivity", request.picked, code, card=Card(advice=advice))
        command = shell_command("sensitivity", request.picked)
        page = report_pages.of_sensitivity(report, request.scenario(), command, conditions)
        download_buttons(
            "sensitivity", sharing.csv_of("sensitivity", report), report.model_dump(mode="json"), page
        )


page(scenario_form("sensitivity", money=True))
