"""Page Diagnose: whether a measured speed or listing is normal for its job, and what may slow it."""

import re
from typing import Any

import streamlit as st

from app import (
    answer_card,
    assumed,
    charts,
    diagnosis_charts,
    file_marks,
    measured_files,
    report_pages,
    samples,
    session_hardware,
    sharing,
)
from app.backend import backend
from app.command_answer import Answered, answer_of
from app.file_marks import in_use
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
from app.layout_options import is_able
from app.looks import labelled
from app.measured_files import TYPED
from app.options import SCENARIO, Option, options
from app.plain import plain
from app.state import choose, clear, is_open, newest
from app.titles import job_of
from perfmodel.core.errors import InputError
from perfmodel.core.units import counted, percent, show, show_range
from perfmodel.decide.diagnosis.answer import Diagnosis
from perfmodel.decide.diagnosis.card import among, bandwidths, own_error, with_cause
from perfmodel.decide.diagnosis.chances import chance_parts, named_causes, shares
from perfmodel.decide.diagnosis.first_action import expected_words, pointers
from perfmodel.evidence.accuracy.training_rows import shipped_runs
from perfmodel.evidence.accuracy.transformers.transformer_rows import shipped_transformer_runs
from perfmodel.interfaces.reports import diagnosed

OF = options("diagnose")
READ = tuple(OF[name]._replace(session=f"diagnose-{name}") for name in ("collective", "skip"))
BATCH, BATCH_OF_STEP = ("local-batch-size",), ("global-batch-size",)
# Option beside the time of a job, on which its verdict turns most often; the second of a layout.
MACHINES = ("node", "inter-link", "nics")
# Options beside the file of a listing over several hosts, which does not name them.
LEFT_OPEN = "listing-left-open"
# Session key: file of the listing for which options were left open.
START = {"gpus": 32, "measured": "400ms"}
SAMPLES: dict[str, tuple[dict[str, str], str, str]] = {
    "ResNet-50 at 400 ms on 32 V100": (
        {"workload": "resnet50", "accelerator": "v100-sxm2-16gb", "gpus": "32", "measured": "400ms"},
        "",
        "",
    ),
    "A log of Llama 3 8B on 64 H100": (
        {
            "workload": "llama-3-8b",
            "node": "dgx-h100",
            "gpus": "64",
            "sharding": "zero3",
            "framework": "torchtitan",
        },
        samples.LOG_NAME,
        samples.LOG,
    ),
    "All-reduces between two DGX H100": (
        {"node": "dgx-h100", "gpus": "16"},
        samples.LISTING_NAME,
        samples.LISTING,
    ),
}
# Label of a button -> query, and name and content of a file.


def draw_samples() -> None:
    """Draw buttons that open example measurements."""
    with st.container(horizontal=True):
        for label, (query, name, text) in SAMPLES.items():
            if st.button(label, key=f"preset-{label}"):
                marks = [session_hardware.keep("measured", name, text.encode())] if name else []
                file_marks.use("measured", marks)
                file_marks.go_to("diagnose", query)


def applies(name: str) -> bool:
    """Return whether an option counts: not a speed next to a file, nor what a listing states.

    The empty field of a speed stays: what is typed replaces the file.
    """
    if name == TYPED.name:
        return not (in_use("measured") and TYPED.key in st.session_state.chosen)
    return measured_files.applies(name)


def is_step_stated() -> bool:
    """Return whether a job's batch is that of a step: of a network with layouts, or where that is chosen."""
    names = ("workload", *BATCH_OF_STEP)
    given = {name: newest(OF[name]) if is_open("diagnose") else st.query_params.get(name) for name in names}
    return is_able({name: value for name, value in given.items() if value}) or bool(given[BATCH_OF_STEP[0]])


def shortly(option: Option) -> Option:
    """Return an option without the kind of scaling in its label, which says nothing of a slow job."""
    return option._replace(label=re.sub(r" \(\w+ scaling\)", "", option.label))


def options_beside() -> tuple[str, ...]:
    """Return the options drawn beside what was measured: a job's batch; of several hosts what joins them.

    A listing that comes into use leaves open what does not apply to it: the address has none of it.
    """
    listing = measured_files.listing_in_use()
    if listing is None:
        return BATCH_OF_STEP if is_step_stated() else BATCH
    if st.session_state.get(LEFT_OPEN) != listing.file:
        st.session_state[LEFT_OPEN] = listing.file
        if is_open("diagnose"):  # an address says what it leaves open
            stated = (name for name in SCENARIO if name == "gpus" or not measured_files.applies(name))
            clear([TYPED, *(OF[name] for name in stated)])
    return MACHINES if (listing.hosts or 1) > 1 else ()


def answered(request: PageRequest) -> tuple[Answered, dict[str, Any]]:
    """Return the answer, and the options of the command that gives it.

    Raises
    ------
    InputError : nothing was measured, or as the command
    """
    picked = {name: value for name, value in request.picked.items() if measured_files.applies(name)}
    names = (*SCENARIO, *(option.name for option in READ))
    file = next(iter(session_hardware.files("measured")), None)
    if file is not None:
        picked["measured"] = file.name
        more, shown = {"measured": str(file)}, {"measured": file.name}
    elif "measured" in picked:
        more, shown = {"measured": picked["measured"]}, {}
    else:
        raise InputError("What was measured? Type a time or a rate, or upload a log, a listing or a trace")
    return answer_of("diagnose", picked, names, more, shown), picked


def title(answer: Diagnosis, network: str | None) -> str:
    """Return the question that the page answers."""
    job = job_of(network, answer.card)
    if answer.kind == "training":
        return f"Is {show(answer.measured, 's')} normal for {job}?"
    return f"Is {show(answer.measured, 'B/s')} normal between {job.gpus}?"


def figures(answer: Diagnosis) -> dict[str, answer_card.Shown]:
    """Return what was measured and predicted, and the chance that nothing is wrong of what is normal.

    Of what is not, the advice has the likeliest cause, and the list of causes has all chances.
    """
    drawn = {}
    if answer.kind == "training":
        interval = f"80 %: {show_range(answer.low_80, answer.high_80, 's')}"
        drawn["Measured"] = answer_card.Shown(show(answer.measured, "s"), among(answer.quantile))
        drawn["Predicted"] = answer_card.Shown(show(answer.predicted, "s"), interval)
    if answer.sizes:
        value = show(answer.measured, "B/s")
        rest = bandwidths(answer.sizes[-1]).removeprefix(f"{value} ")
        drawn["Bus bandwidth"] = answer_card.Shown(value, rest)
    if answer.verdict == "normal":
        share, of, others = chance_parts(answer)
        label = f"Chance {of}" if of.startswith("that ") else f"Chance of {of}"
        drawn[label] = answer_card.Shown(share, others.lstrip(",; "))
    return drawn


def offer_adapters(answer: Diagnosis) -> None:
    """Draw a button that takes another number of network adapters than the one assumed."""
    if answer.adapters is not None:
        words = f"With {counted(answer.adapters.other, 'network adapter')} a machine"
        values = {OF["nics"]: answer.adapters.other}
        st.button(words, on_click=choose, args=(values,), key="other-adapters")


def causes(answer: Diagnosis) -> None:
    """List what may be the case, the likeliest first, each cause with what it would mean and what to try."""
    if answer.verdict == "fast" or not answer.causes:
        return
    st.subheader(diagnosed.heading_of_causes(answer), anchor=False)
    lines = []
    for share, what in shares(answer, named_causes(answer)):
        if isinstance(what, str):
            lines.append(_share(share, what, "."))
        else:
            to_do = "" if answer.verdict == "normal" else f" {sentence(what.next)}"
            name = f"{what.name}{' than assumed' * what.is_assumption}"
            lines.append(_share(share, name, f" ({what.change}): {with_cause(what)}.{to_do}"))
    st.markdown("\n".join(lines))
    if said := own_error(answer):
        st.caption(plain(sentence(said)))


def _share(probability: float, name: str, more: str) -> str:
    """Return a probability and what it is of as an item of a list."""
    return f"- **{plain(percent(probability))} {plain(name)}**{plain(labelled(more))}"


def next_runs(answer: Diagnosis) -> None:
    """List what to measure next, with the causes that each time would point to."""
    if not answer.next:
        return
    st.subheader(diagnosed.NEXT, anchor=False)
    lines = []
    for each in answer.next:
        lines.append(f"1. **{plain(sentence(each.words))}**")
        results = pointers(each.expected, answer)
        lines += [f"    - {plain(value)}: {plain(named)}" for value, named in results]
    st.markdown("\n".join(lines))
    st.caption(plain(expected_words(answer)))


def details(answer: Diagnosis) -> None:
    """Draw the folded tables: each message size or term of the iteration, and what was published."""
    for listing in (
        diagnosed.similar(answer),
        diagnosed.sizes(answer) if answer.kind == "collective" else diagnosed.terms(answer),
    ):
        if listing.rows:
            with fold(listing.heading) as is_open:
                if is_open:
                    st.dataframe(listing.records(), hide_index=True)


def page() -> None:
    """Draw the page."""
    beside = options_beside()
    request = scenario_form(
        "diagnose",
        body=(TYPED, *(shortly(OF[name]) for name in beside)),
        without=beside,
        columns={"How it is read": READ} if in_use("measured") else {},
        picture=() if in_use("measured") else READ,
        start={"gpus": START["gpus"]} if in_use("measured") else START,
        counts=applies,
        fitted=measured_files.fitted,
    )
    with errors_shown("Is it normal?", request.top, measured_files.offer_listed):
        with st.expander("Or a log, a listing or a trace", key="other-measurements"):
            draw_samples()
            measured_files.fields()
        (answer, asked, python), picked = answered(request)
    with request.top:
        st.subheader(plain(title(answer, request.picked.get("workload"))), anchor=False)
        answer_card.show(answer.card, figures(answer), without=("chance", "time"))
        measured_files.offer_listed()
        offer_adapters(answer)
    if answer.kind == "training":
        charts.draw(diagnosis_charts.in_interval(answer), "interval", answer.sentence, height=340)
    else:
        charts.draw(diagnosis_charts.over_sizes(answer), "sizes", answer.sentence)
        if answer.above_ports:
            st.caption(plain(sentence(answer.above_ports)))
    sharing.here()
    if in_use("measured"):
        (file,) = session_hardware.files("measured")
        st.caption(plain(labelled(f"Measured: {answer.reading}, in {measured_files.called(file.name)}")))
    causes(answer)
    next_runs(answer)
    details(answer)
    assumed.draw(answer.defaults, answer.notes)
    with st.container(horizontal=True):
        copy_buttons("diagnose", picked, python, card=answer.card)
        report = report_pages.of_command("diagnose", answer, asked, shell_command("diagnose", picked))
        download_buttons("diagnosis", sharing.csv_of("diagnose", answer), answer.to_json, report)
    if not backend().place:  # read while the answer is looked at, not at the first job of the other kind
        shipped_runs()
        shipped_transformer_runs()


page()
