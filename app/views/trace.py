"""Page Trace: summary of a profiler's trace, and calibration of the model on it."""

from typing import Any, NamedTuple

import streamlit as st
from streamlit.delta_generator import DeltaGenerator

from app import (
    answer_card,
    charts,
    file_marks,
    line_charts,
    own_profile,
    own_uploads,
    samples,
    session_hardware,
    sharing,
    trace_chart,
    traced_job,
    uploads,
)
from app.answer_card import Shown
from app.backend import backend
from app.file_marks import in_use
from app.layout import (
    PageRequest,
    copy_buttons,
    download_buttons,
    errors_shown,
    fold,
    scenario_form,
    sentence,
)
from app.looks import begun, labelled, refused_words
from app.names import called
from app.options import file_words, options, scenario
from app.plain import plain
from app.trace_tables import advice, by_rank, collectives, ranges, uses
from perfmodel.core.errors import InputError
from perfmodel.core.units import per_cent, show, show_range
from perfmodel.evidence.traces.recommendations import recommendations, saving_words
from perfmodel.evidence.traces.summary import summary
from perfmodel.evidence.traces.trace_page import html_report
from perfmodel.hardware.machine_words import several_words
from perfmodel.model.prediction import Prediction
from perfmodel.model.prediction.answer_card import Card

START = {"gpus": 2}
QUESTION = "Where does a step spend its time?"
SAMPLE_JOB: dict[str, Any] = {
    "workload": "resnet50",
    "accelerator": "v100-sxm2-16gb",
    "gpus": 2,
    "precision": "fp32",
    "local-batch-size": 32,
}
SKIP = options("calibrate")["skip"]._replace(label="Steps to leave out first", usual="0 (default)")


def advice_for_job(
    files: uploads.TraceFiles, result: dict[str, Any], request: PageRequest, skip: int
) -> tuple[list[dict[str, Any]], dict[str, Any]]:
    """Return recommendations for the step, and the job as options of ``perfmodel trace summary``.

    If the job is not described, or the trace is of another one, they are based on the trace alone.
    """
    known, answers = session_hardware.catalogue(), backend()
    job = traced_job.as_options(files, request.picked)
    try:
        described = scenario(request.picked) if job else None
        return recommendations(files.traces, result, skip, described, known, answers.predict), job
    except InputError:
        return recommendations(files.traces, result, skip, None, known), {}


def predicted_words(prediction: Prediction) -> str:
    """Return the predicted time of a step with its 80 % interval, as a sentence."""
    interval = prediction.interval
    ends = f" (80 %: {show_range(interval.low_80, interval.high_80, 's')})" if interval is not None else ""
    return f"Predicted: {show(prediction.iteration_time, 's')}{ends}."


def comparison(files: uploads.TraceFiles, request: PageRequest, skip: int) -> None:
    """Draw a table of the measured and the predicted step."""
    try:
        predicted = request.predict()
        st.caption(predicted_words(predicted))
        st.dataframe(uploads.against_prediction(files, predicted, skip), hide_index=True)
    except InputError as error:
        st.error(plain(refused_words(error)))


def learn(files: uploads.TraceFiles, request: PageRequest) -> None:
    """Draw the section that calibrates on the trace and applies the profile to other pages."""
    skip = request.picked.get("skip", 0)
    st.subheader("Predict from this trace", anchor=False)
    lacking = traced_job.missing(request.picked) if files.traces else []
    if lacking:
        words = " and ".join(
            filter(None, [", ".join(f"“{one}”" for one in lacking[:-1]), f"“{lacking[-1]}”"])
        )
        st.info(
            f"What was traced? The file does not say: choose {words} in the sidebar (on a phone under “Menu "
            "and options”), as the job had them."
        )
    elif files.traces:
        st.caption(f"The trace is taken as {traced_job.job_words(request.picked)}.")
    if st.button("Calibrate on this trace", type="primary", disabled=bool(lacking)):
        with errors_shown():
            uploads.calibrate(files, scenario(request.picked), skip)
        st.rerun()  # the address names the profile
    mark = own_profile.known()
    if mark is None:
        return
    text = session_hardware.place("profile", mark).read_text("utf-8")
    if session_hardware.profile() is not None:
        st.success(plain(f"In use on every page that predicts: {own_profile.summary(mark)}"))
    else:
        st.info(plain(f"Not in use on any page: {own_profile.summary(mark)}"))
    with st.container(horizontal=True):
        for page in ("predict", "scale"):
            if st.button(f"See it in {page.title()}"):
                own_profile.use_known()
                st.switch_page(f"views/{page}.py")
        st.download_button("Download the profile", text, mark.name, "application/toml", on_click="ignore")
        st.button("Forget it", on_click=own_profile.forget)
    with st.expander("What was learned"):
        st.code(text, language="toml")


def card_of(device: dict[str, Any], traced: str, changes: list[dict[str, Any]]) -> Card:
    """Return the card of a device: what limits its step, how long it takes, how busy the GPU is, what to do.

    Parameters
    ----------
    device : of a summary
    traced : what the trace is of
    changes : that would shorten a step
    """
    each = device["iteration_time"]
    pace = f"{show(each, 's')} a step, " if each is not None else ""
    busy = f"the GPU is busy {per_cent(device['utilisation'], 0)} of the time"
    most = _most(changes)
    to_do = f" {begun(most['change'])} would save {saving_words(most)} of it." if most else ""
    advice = sentence(f"{device['verdict']}: {pace}{busy}")
    return Card(advice=f"{advice}{to_do}", rests_on="the trace", machines=traced)


def _most(changes: list[dict[str, Any]]) -> dict[str, Any] | None:
    """Return the change that saves most of a step; None without any."""
    return max(changes, key=lambda change: float(change["saves"]), default=None)


def figures(device: dict[str, Any], changes: list[dict[str, Any]]) -> dict[str, Shown]:
    """Return the main numbers of the card: the step, how busy the GPU is, what the best change saves."""
    each, most = device["iteration_time"], _most(changes)
    shown = {"A step": Shown(show(each, "s"), "measured")} if each is not None else {}
    shown["GPU busy"] = Shown(per_cent(device["utilisation"], 0), "of the time")
    if most is None:
        return shown
    value, _, ends = saving_words(most).partition(" (")
    of = f"({ends} of a step" if ends else "of a step"
    return shown | {"Largest saving": Shown(value, f"{of}, by {most['change']}")}


class Places(NamedTuple):
    """Parts of the page from its top: what an answer draws before and after the upload field."""

    answer: DeltaGenerator
    upload: DeltaGenerator
    chart: DeltaGenerator


def uploaded(files: uploads.TraceFiles, request: PageRequest, places: Places) -> None:
    """Draw the page for uploaded traces."""
    skip = request.picked.get("skip", 0)
    with errors_shown():
        traced_job.take_from_files(files, in_use("trace"), request.picked)
        result = summary(files.traces, skip)
    devices, card = result["devices"], None
    job: dict[str, Any] = {}
    if devices:
        result["recommendations"], job = advice_for_job(files, result, request, skip)
    with places.answer:
        if devices:
            first = devices[0]
            device = traced_job.device_of(files)
            chosen = request.picked.get("accelerator")
            named = called(chosen, session_hardware.catalogue()) if chosen else device.called
            st.subheader(QUESTION, anchor=False)
            traced = f"{trace_chart.title(first)}{f', {named}' if named else ''}"
            card = card_of(first, traced, result["recommendations"])
            answer_card.show(card, figures(first, result["recommendations"]))
        else:
            st.subheader("nccl-tests", anchor=False)
            st.markdown(f"**{len(files.timings)} file(s) of timings: calibrate on them below.**")
    with places.chart:
        if devices:
            trace_chart.draw_step(devices)
            advice(result["recommendations"])
            sharing.here()
    notes = [plain(sentence(note)) for note in dict.fromkeys(n for each in devices for n in each["notes"])]
    if notes:
        st.info(notes[0] if len(notes) == 1 else "\n".join(f"* {note}" for note in notes))
    if devices:
        uses(devices)
        by_rank(result["ranks"])
        collectives(devices)
        ranges(result["ranges"])
        with fold("Compared with the predicted step of the job described") as is_open:
            if is_open:
                comparison(files, request, skip)
    for timing in files.timings:
        rows = [row._asdict() for row in timing.rows]
        lines = {"bus bandwidth": ([r["message_bytes"] for r in rows], [r["bus_bandwidth"] for r in rows])}
        charts.draw(line_charts.lines(lines, "message [B]", "bus bandwidth [B/s]"), timing.file, "nccl-tests")
    share_buttons(result, uploads.names(), {**job, **({"skip": skip} if skip else {})}, card)
    learn(files, request)


def share_buttons(
    result: dict[str, Any], files: list[str], described: dict[str, Any], card: Card | None
) -> None:
    """Draw the buttons that copy and download a summary.

    Parameters
    ----------
    result : the summary
    files : names of its files
    described : the job and the steps left out, as options of ``perfmodel trace summary``
    card : of its first device; None without any
    """
    rows = [
        {"device": device["device"], "rank": device["rank"], **device["totals"], **(device["per_step"] or {})}
        for device in result["devices"]
    ]
    with st.container(horizontal=True):
        command, python = f"trace summary {file_words(files)}", _python(files, described.get("skip", 0))
        copy_buttons(command, described, python, card=card, files=files)
        download_buttons("trace", rows, result, (lambda: html_report(result)) if rows else None)


def try_sample() -> None:
    """Hand over the sample trace, and describe its job."""
    content = samples.trace()
    mark = file_marks.mark_of(samples.TRACE_NAME, content, is_text=False)
    uploads.store_trace(mark, content)
    file_marks.use("trace", [mark])
    file_marks.go_to("trace", {name: str(value) for name, value in SAMPLE_JOB.items()})


def without_a_trace(request: PageRequest, places: Places) -> None:
    """Draw the page without a trace: the answer on the sample, and the predicted step of the job."""
    files = uploads.sample()
    result, job = summary(files.traces, 0), scenario(SAMPLE_JOB)
    known, answers = session_hardware.catalogue(), backend()
    with errors_shown():
        changes = recommendations(files.traces, result, 0, job, known, answers.predict)
    result["recommendations"] = changes
    with places.answer:
        traced = f"a sample: {traced_job.job_words(SAMPLE_JOB)}"
        card = card_of(result["devices"][0], traced, changes)
        chip = called(SAMPLE_JOB["accelerator"], known)
        network = called(SAMPLE_JOB["workload"], known)
        named = f"{network} on {several_words(SAMPLE_JOB['gpus'], chip)}"
        st.subheader(plain(f"{QUESTION} A sample: {named}"), anchor=False)
        answer_card.show(card, figures(result["devices"][0], changes))
    with places.chart:
        st.caption("The sidebar describes the job of your trace, not the sample's.")
        trace_chart.draw_step(result["devices"])
        advice(changes)
        sharing.here()
        with st.container(horizontal=True):
            if st.button("Use the sample as your trace"):
                try_sample()
            st.download_button(
                "Download the sample",
                samples.trace,
                samples.TRACE_NAME,
                "application/json",
                on_click="ignore",
            )
    with fold("The step that the model expects of the job described in the sidebar") as is_open:
        if is_open:
            with errors_shown():
                answer = request.predict()
            st.caption(labelled(f"{predicted_words(answer)} {sentence(answer.verdict)}"))
            charts.draw(charts.waterfall(answer), "predicted", "The predicted step")
    share_buttons(result, [samples.TRACE_NAME], traced_job.as_options(files, SAMPLE_JOB), card)


def _python(files: list[str], skip: int) -> str:
    """Return Python code that gives the page's answer."""
    return (
        "from pathlib import Path\n\n"
        "from perfmodel.evidence.traces.read import read_trace\n"
        "from perfmodel.evidence.traces.summary import summary\n\n"
        f"traces = [trace for name in {files!r} for trace in read_trace(Path(name))]\n"
        f"print(summary(traces{f', {skip}' if skip else ''}))"
    )


request = scenario_form("trace", body=(SKIP,), start=START)
with request.top:
    places = Places(st.container(), st.container(), st.container())
with errors_shown():
    with places.upload:
        own_uploads.field(
            "trace",
            "Your traces: PyTorch Profiler (.json, .json.gz), Nsight Systems as SQLite (.sqlite, "
            ".sqlite.gz), or what nccl-tests print",
            "trace-files",
            accept_multiple_files=True,
            help="Files stay on this machine, and go when the tab is closed. Several files are several "
            "ranks.",
        )
        own_uploads.in_use_line("trace", "In use:", "Stop using it")
    files = uploads.traces_in_use()
if files is None:
    without_a_trace(request, places)
else:
    uploaded(files, request, places)
