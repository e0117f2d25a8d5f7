"""Page Will it fit: the memory of each stage against the capacity, and what would make a job fit."""

from collections.abc import Mapping
from typing import Any

import streamlit as st

from app import answer_card, assumed, file_marks, memory_chart, report_pages, sharing
from app.command_answer import answer_of
from app.layout import (
    copy_buttons,
    download_buttons,
    errors_shown,
    scenario_form,
    sentence,
    shell_command,
)
from app.looks import labelled, show_warnings
from app.options import SCENARIO, options, written
from app.plain import markdown, plain
from app.titles import job_of
from perfmodel.core.units import show
from perfmodel.decide.fits.answer import Change, Fits
from perfmodel.decide.fits.listing import changes_title, largest_words, shown_places, started_words
from perfmodel.decide.fits.words import change_words, cost_words
from perfmodel.model.options.scenario import SHORT
from perfmodel.model.prediction.memory_odds import short_verdict

GIB = 2**30
START = {"workload": "llama-3-8b", "accelerator": "h100-sxm5-80gb", "gpus": 8}
PRESETS: dict[str, dict[str, str]] = {
    "QLoRA of 70B on two RTX 4090": {
        "workload": "llama-2-70b",
        "accelerator": "rtx-4090",
        "gpus": "2",
        "framework": "axolotl",
        "lora": "16",
        "frozen-weights": "nf4",
        "sharding": "zero3",
        "recompute": "full",
        "sequence-length": "1024",
    },
    "Llama 3 8B on eight H100": {name: str(value) for name, value in START.items()},
    "Llama 3 70B in four stages on 64 H100": {
        "workload": "llama-3-70b",
        "node": "dgx-h100",
        "gpus": "64",
        "tensor-parallel": "8",
        "pipeline-parallel": "4",
        "global-batch-size": "64",
    },
}
# Question -> the query that asks it.
CONFIDENCE = options("fits")["confidence"]
NAMES = (*SCENARIO, CONFIDENCE.name)


def gib(size: float) -> str:
    """Return a size [B] in GiB."""
    return f"{size / GIB:.1f}"


def query_of(picked: Mapping[str, Any], change: Change) -> dict[str, str]:
    """Return the query of the page for a job with a change."""
    short = {field: name for name, field in SHORT.items()}
    changed = {short.get(name, name).replace("_", "-"): value for name, value in change.options.items()}
    kept = {name: value for name, value in {**picked, **changed}.items() if value is not None}
    return {name: written(tuple(v) if isinstance(v, list) else v) for name, v in kept.items()}


def changes(answer: Fits, picked: Mapping[str, Any]) -> None:
    """Draw the changes by which the job comes to fit, and a button that makes the first."""
    if answer.fits_probability >= answer.confidence:
        return
    st.subheader("What would make it fit", anchor=False)
    if not answer.changes:
        st.markdown("No change of options was found that makes it fit.")
        return
    st.markdown(f"{sentence(changes_title(answer)).removesuffix('.')}:")
    first = answer.fitting or answer.changes[0]
    if st.button(f"Use {change_words(first.options)}", type="primary", key="take-first"):
        file_marks.go_to("fits", query_of(picked, first))
    with st.container(key="wrapped-changes"):
        st.markdown(markdown(change_rows(answer)))
    st.caption("Cost: GPU-seconds for as many tokens, over those of the job if it fitted")


def change_rows(answer: Fits) -> list[dict[str, str]]:
    """Return the changes as rows of a table: what a phone shows first, without columns that say nothing."""
    rows = [
        {
            "change": plain(field_words(change.options)),
            "memory": f"{gib(change.bytes)} GiB",
            "fits": short_verdict(change.fits_probability),
            "cost": cost_words(change.slowdown),
            "step": show(change.iteration_time, "s"),
            "same training": "yes" if change.same_training else "no",
            "but": plain(labelled("; ".join(change.warnings))),
        }
        for change in answer.changes
    ]
    says_nothing = {
        name
        for name, same in (("same training", "yes"), ("but", ""))
        if all(row[name] == same for row in rows)
    }
    return [{name: text for name, text in row.items() if name not in says_nothing} for row in rows]


def field_words(changed: Mapping[str, Any]) -> str:
    """Return changed options by the labels of their fields, the number of GPUs first.

    >>> field_words({"tensor_parallel": 2, "world_size": 4, "local_batch_size": None, "offload": "both"})
    "GPUs: 4, Tensor parallel: 2, In the host's memory: both"
    """
    short = {field: name for name, field in SHORT.items()}
    known = {short.get(name, name).replace("_", "-"): value for name, value in changed.items()}
    words = {
        name: f"{options()[name].label.partition(' [')[0]}: {value}"
        for name, value in known.items()
        if value is not None
    }
    return ", ".join(words[name] for name in sorted(words, key=lambda name: name != "gpus"))


def starts(answer: Fits) -> None:
    """Draw the options that start the job, or the first change that fits, a tab for each software."""
    _, lines = started_words(answer)
    if not lines:
        return
    fits = answer.fits_probability >= answer.confidence
    with st.expander("How it would be started", expanded=fits):
        if not fits and answer.fitting is not None:
            st.caption(plain(f"With {change_words(answer.fitting.options)}, by which it fits."))
        elif not fits:
            st.caption("As it is, which may not fit.")
        names = sorted(lines, key=lambda name: name != answer.software)
        for name, tab in zip(names, st.tabs(names), strict=True):
            with tab:
                st.code("\n".join(lines[name]), language=None, wrap_lines=True)


def page() -> None:
    """Draw the page."""
    request = scenario_form("fits", body=(CONFIDENCE,), start=START)
    with errors_shown():
        answer, asked, python = answer_of("fits", request.picked, NAMES)
    with request.top:
        job = job_of(request.picked.get("workload"), answer.card)
        st.subheader(plain(f"Does {job.network} fit on {job.gpus}?"), anchor=False)
        answer_card.show(answer.card)
        bars = {
            place.name: memory_chart.MemoryBar(place.rows, answer.capacity, place.fits_probability)
            for place in shown_places(answer)
        }
        memory_chart.draw_memory(bars, "memory", "a GPU")
        less = labelled(", ".join(f"--{name}" for name in answer.not_stated))
        narrower = f"; the interval of the memory is less wide with {less}" if less else ""
        st.caption(plain(f"{answer.headline}. Largest micro-batch: {largest_words(answer)}{narrower}."))
        changes(answer, request.picked)
        file_marks.examples({question: ("fits", query) for question, query in PRESETS.items()})
    show_warnings(answer.warnings)
    starts(answer)
    with st.container(horizontal=True):
        copy_buttons("fits", request.picked, python, card=answer.card)
        report = report_pages.of_command("fits", answer, asked, shell_command("fits", request.picked))
        download_buttons("fits", sharing.csv_of("fits", answer), answer.to_json, report)
    assumed.draw(answer.defaults)


page()
