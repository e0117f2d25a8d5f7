"""Page Your own runs: what measured runs of one's own teach, applied to the pages that predict if better."""

import math
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from html import escape
from pathlib import Path
from statistics import fmean
from typing import Any, Literal

import streamlit as st
from streamlit.delta_generator import DeltaGenerator

from app import (
    answer_card,
    bounded,
    charts,
    file_marks,
    own_uploads,
    report_pages,
    runs_work,
    samples,
    session_hardware,
    sharing,
)
from app.figure import Figure
from app.file_marks import Mark, in_use
from app.layout import (
    PageRequest,
    copy_buttons,
    download_buttons,
    errors_shown,
    fold,
    options_form,
    sentence,
    shell_command,
)
from app.plain import plain
from perfmodel.core.units import per_cent, percent
from perfmodel.evidence.fitting.other_sizes import HEADINGS
from perfmodel.evidence.fitting.own_file import OwnRuns
from perfmodel.evidence.fitting.own_runs import Answer
from perfmodel.evidence.fitting.own_summary import (
    COLUMNS,
    MEANING,
    SIGN,
    measured_words,
    range_words,
    unmoved,
)
from perfmodel.interfaces.register import command
from perfmodel.model.prediction.answer_card import Card
from perfmodel.model.prediction.names import effect_words

TITLE = "Your own runs"
FIELD = "runs-file"
# Session key of the uploaded file.
TAKEN = "runs-taken"
# Session key: mark of the runs whose calibration was put in use; it is put in use once.
BUTTONS: tuple[Literal["primary"], Literal["secondary"]] = "primary", "secondary"
# Looks of the button that puts in use what was learned: where it is no worse, and where it is.
DRAWN = 30
# Most runs in the chart.
MARKS = {
    "before": (charts.GREY, "circle-open"),
    "left_out": (charts.ORANGE, "diamond"),
    "after": (charts.BLUE, "circle-open"),
}
# Field of an answer -> the colour and mark of its errors.
INTRODUCTION = """
**The columns of the file, in any order; a * marks those that every line needs**

| column | what it says | if left out |
| --- | --- | --- |
| `workload` * | name of a network, as `perfmodel workloads list` prints | |
| `accelerator` or `node` * | what it ran on, by a name that the page Hardware lists | |
| `iteration_time` [s] or `samples_per_second` [samples/s] * | what was measured, one of them | |
| `world_size` | GPUs in all | 1 |
| `local_batch_size` | samples of each GPU in an iteration | the network's usual batch |
| `precision`, `inter_link`, `framework`, ... | any other option of a prediction | its default |
"""
BENEFITS = (
    "Hand over runs that you measured: every page that predicts then learns from them. What they teach is "
    "used only if runs that it has not seen are predicted better; you can turn it off."
)
SAMPLE = [
    Answer(name, name, math.nan, before, left_out, after)
    for name, before, left_out, after in samples.RUN_ERRORS
]
# How far each of the runs to try is missed.


def calibration_name(runs: str) -> str:
    """Return the name of the file that is learned from a file of runs."""
    return f"{Path(runs).stem}.json"


def relative(logarithm: float) -> str:
    """Return an error, ln(predicted / measured), as a signed percentage."""
    return per_cent(math.expm1(logarithm), signed=True)


def fields(answer: OwnRuns) -> dict[str, str]:
    """Return the errors that are drawn, by their fields: not those of runs left out where they test none."""
    return {name: head for name, head in COLUMNS.items() if answer.worth.is_tested or name != "left_out"}


def errors(answers: Sequence[Answer], heads: Mapping[str, str]) -> Figure:
    """Return a chart of each run's errors.

    Parameters
    ----------
    answers : of the runs
    heads : field of an answer -> what its errors are called
    """
    figure, runs = Figure(), answers[:DRAWN]
    names = [each.where if each.run == each.where else f"{each.where}: {each.run}" for each in runs]
    for field, name in heads.items():
        colour, symbol = MARKS[field]
        figure.add_scatter(
            x=[math.expm1(getattr(each, field)) for each in runs],
            y=[each.where for each in runs],
            text=[f"{run}: {relative(getattr(each, field))}" for run, each in zip(names, runs, strict=True)],
            mode="markers",
            marker={"color": colour, "symbol": symbol, "size": 12, "line": {"color": colour, "width": 2}},
            name=name,
            hovertemplate="%{text}<extra></extra>",
        )
    figure.add_vline(0.0, {"color": charts.GREY, "width": 1})
    title = "slower  \u2190  than predicted  \u2192  faster"
    figure.update_xaxes(title=title, tickformat="+.0%")
    figure.update_yaxes(categoryorder="array", categoryarray=[each.where for each in runs][::-1])
    return figure


def draw_errors(answers: Sequence[Answer], heads: Mapping[str, str]) -> None:
    """Draw the chart of each run's errors, and what all of them mean.

    Those after learning from the run itself are near zero, and would hide those of runs left out.
    """
    height = 150 + 30 * min(len(answers), DRAWN)
    drawn = {name: head for name, head in heads.items() if name != "after" or "left_out" not in heads}
    charts.draw(errors(answers, drawn), "errors", "Errors of each run before and after", height=height)
    meaning = "; ".join(f"{head}: {MEANING[field]}" for field, head in heads.items())
    st.caption(plain(sentence(f"{meaning}; {SIGN}.")))


def table(answer: OwnRuns) -> list[dict[str, Any]]:
    """Return the runs as a table for display."""
    return [
        {
            "where": each.where,
            "measured": ", ".join(measured_words(each)),
            **{head: relative(getattr(each, field)) for field, head in fields(answer).items()},
            "run": each.run,
        }
        for each in answer.answers
    ]


def figures(answer: OwnRuns) -> dict[str, answer_card.Shown]:
    """Return the throughput on the most GPUs that were measured, and on the number that was not."""
    return {
        label: answer_card.with_unit(words)
        for label, words in ({} if answer.other_sizes is None else answer.other_sizes.rates).items()
    }


def draw_sizes(answer: OwnRuns) -> None:
    """Draw the largest run's job on other numbers of GPUs, predicted without and with the runs."""
    if answer.other_sizes is not None:
        st.subheader(plain(answer.other_sizes.title), anchor=False)
        rows = [dict(zip(HEADINGS, row, strict=True)) for row in answer.other_sizes.rows]
        st.dataframe(rows, hide_index=True)
        st.caption(plain(sentence(answer.other_sizes.assumed)))


def moved(answer: OwnRuns) -> list[dict[str, Any]]:
    """Return the factors that the runs move as a table for display, those that move most first."""
    learned = answer.learned
    rows = sorted(learned.deviations.items(), key=lambda row: -abs(learned.own.logarithms[row[0]]))
    return [
        {
            "of": effect_words(name),
            "factor": f"{math.exp(learned.own.logarithms[name]):.3f}",
            "known within": percent(after),
            "before": percent(before),
        }
        for name, (before, after) in rows
    ]


def put_in_use(mark: Mark, learned: Mark, is_better: bool) -> bool:
    """Put what the runs teach in use the first time that they are seen, if it is better than without.

    What other runs taught is no longer in use then.  Returns whether it is in use.
    """
    session = st.session_state
    if session.get(TAKEN) != mark:
        session[TAKEN] = mark
        file_marks.use("calibration", [learned] if is_better else [])
    return in_use("calibration") == (learned,)


def copies(name: str, card: Card | None = None, files: Sequence[str] = ()) -> None:
    """Draw the buttons that show the answer, the command and the Python code.

    Parameters
    ----------
    name : of the file of runs
    card, files : as of ``copy_buttons``
    """
    learned = calibration_name(name)
    catalogue = session_hardware.catalogue_words("perfmodel.")
    more = f", catalogue={catalogue}" if catalogue else ""
    code = (
        f"import perfmodel\n\nanswer = perfmodel.calibrate(data={name!r}{more})\n"
        f"answer.write({learned!r})\nprint(answer)"
    )
    copy_buttons("calibrate", {"data": name, "output": learned}, code, card=card, files=files)


def without_runs(request: PageRequest, to_try: DeltaGenerator) -> None:
    """Draw the page before any runs were handed over: what those to try teach, and the form of a file.

    Parameters
    ----------
    request : of the page
    to_try : place of the buttons that try or download a file
    """
    heads = {name: COLUMNS[name] for name in ("before", "left_out")}
    means = {name: per_cent(fmean(abs(math.expm1(getattr(each, name))) for each in SAMPLE)) for name in heads}
    least = max(SAMPLE, key=lambda each: abs(each.left_out))
    still = per_cent(abs(math.expm1(least.left_out)), 0)
    advice = (
        f"Example: five invented runs cut the error from {means['before']} to {means['left_out']} on "
        f"average, each predicted with itself left out. Least known is {least.where}, which stays off by "
        f"{still}. {BENEFITS}"
    )
    with request.top:
        st.subheader("What do your own runs teach?", anchor=False)
        tiles = {
            f"Example, {head}": answer_card.Shown(
                means[name],
                f"mean of {len(SAMPLE)} runs, {range_words(SAMPLE, name)}: {MEANING[name]}",
            )
            for name, head in heads.items()
        }
        answer_card.show(Card(advice=advice), tiles, ("rests_on",))
    draw_errors(SAMPLE, heads)
    form_of_file(to_try)


def introduction() -> None:
    """Draw what the columns of a file of runs say."""
    with st.container(key="wrapped-columns"):
        st.markdown(INTRODUCTION)


def line_of_file(line: str) -> str:
    """Return a line of a CSV file as HTML that is broken between cells, where a narrow page needs that."""
    return f'<div class="file-line">{escape(line).replace(",", ",<wbr>")}</div>'


def form_of_file(to_try: DeltaGenerator) -> None:
    """Draw a file of runs, what its columns are, and in a place the buttons that try or download it."""
    with to_try, st.container(horizontal=True):
        if st.button("Try it with these runs"):
            mark = session_hardware.keep("runs", samples.RUNS_NAME, samples.RUNS.encode())
            file_marks.use("runs", [mark])
            file_marks.go_to("runs", {})
        st.download_button(
            "Download a template", samples.RUNS, samples.RUNS_NAME, "text/csv", on_click="ignore"
        )
    st.markdown("**The file: a line for each run, such as these five invented ones**")
    st.html("".join(map(line_of_file, samples.RUNS.split())))
    introduction()
    with st.container(horizontal=True):
        copies(samples.RUNS_NAME, files=[samples.RUNS_NAME])


def with_runs(request: PageRequest, file: Path, mark: Mark, form: Callable[[], None]) -> None:
    """Draw what the runs teach, and put it in use.

    Parameters
    ----------
    request : of the page
    file, mark : the runs
    form : draws the form of such a file, where this one is refused
    """
    with errors_shown(TITLE, request.top, form):
        question = (str(file), *session_hardware.own_texts())
        answer: OwnRuns = bounded.answer(question, runs_work.work(file, session_hardware.catalogue()))
    text = answer.to_json()
    learned = session_hardware.keep("calibration", mark.name, file.read_bytes())
    session_hardware.keep_learned(learned, text)
    is_used = put_in_use(mark, learned, answer.worth.standing == "better")
    with request.top:
        st.subheader(plain(f"What {mark.name} teaches"), anchor=False)
        answer_card.show(answer.card, figures(answer))
        st.caption("Every page that predicts uses it" if is_used else "No page uses it")
    with st.container(horizontal=True):
        if is_used:
            st.button(
                "Predict without it, and keep it here",
                on_click=own_uploads.leave_out,
                args=("calibration",),
                key="stop-using",
            )
            if st.button("See it in Predict"):
                st.switch_page("views/predict.py")
        elif st.button(
            "Use it on every page that predicts",
            type="secondary" if answer.worth.standing == "worse" else "primary",
        ):
            file_marks.use("calibration", [learned])
            st.rerun()
        st.download_button(
            "Download what was learned",
            text,
            calibration_name(mark.name),
            "application/json",
            on_click="ignore",
        )
    draw_sizes(answer)
    draw_errors(answer.answers, fields(answer))
    st.dataframe(table(answer), hide_index=True)
    sharing.here()
    for line in answer.warnings:
        if line not in answer.worth.advice:
            st.warning(plain(sentence(f"{line}.")))
    if still := unmoved(answer.answers):
        runs = "; ".join(f"{each.where} ({each.run})" for each in still)
        st.warning(plain(f"Missed as far as before, for a reason that no factor here describes: {runs}"))
    if rows := moved(answer):
        st.subheader("What moved", anchor=False)
        st.caption("Factors of the time of computation and of the rate of links")
        st.dataframe(rows, hide_index=True)
    with fold("The form of such a file") as is_open:
        if is_open:
            introduction()
    with st.container(horizontal=True):
        copies(mark.name, answer.card)
        once = {"data": mark.name, "output": calibration_name(mark.name)}
        asked = command("calibrate").request(data=mark.name)
        report = report_pages.of_command("calibrate", answer, asked, shell_command("calibrate", once))
        download_buttons("runs", table(answer), answer.to_json, report)


def page() -> None:
    """Draw the page."""
    request = options_form("runs", {}, start={})
    upload, to_try = st.columns(2, vertical_alignment="bottom")
    form = partial(form_of_file, to_try)
    with errors_shown(TITLE, request.top, form), upload:
        own_uploads.field("runs", "A CSV of your own runs", FIELD)
    own_uploads.in_use_line("runs", "Learned from", "Remove it and what it taught", also=("calibration",))
    file = next(iter(session_hardware.files("runs")), None)
    if file is None:
        without_runs(request, to_try)
    else:
        with_runs(request, file, in_use("runs")[0], form)


page()
