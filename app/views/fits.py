"""Page Will it fit: the memory of each stage against the capacity, and what would make a job fit."""

from collections.abc import Mapping
from typing import Any

import streamlit as st

from app import answer_card, file_marks, memory_chart
from app.command_answer import answer_of
from app.layout import (
    copy_buttons,
    download_buttons,
    errors_shown,
    scenario_form,
    sentence,
)
from app.looks import for_planners, labelled, main_number, show_warnings
from app.options import SCENARIO, options, written
from app.plain import plain
from perfmodel.core.units import percent, show
from perfmodel.decide.fits.answer import Change, Fits
from perfmodel.interfaces.commands.fits import changes_title, largest_words, shown_places
from perfmodel.model.options.scenario import SHORT
from perfmodel.model.prediction.memory_odds import CERTAIN, short_verdict

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


def figures(answer: Fits) -> None:
    """Draw the main numbers."""
    with st.container(horizontal=True):
        st.metric("Probability that it fits", percent(answer.fits_probability), width="content")
        ends = f"{gib(answer.low_80)} to {gib(answer.high_80)} GiB"
        main_number("Memory of the fullest GPU", f"{gib(answer.bytes)} of {gib(answer.capacity)} GiB", ends)
        st.metric("Largest micro-batch", largest_words(answer), width="content")


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
    if st.button("Take the first that fits" if answer.fitting else "Take the first", type="primary"):
        file_marks.go_to("fits", query_of(picked, first))
    st.dataframe(
        [
            {
                "change": change.words,
                "fits": short_verdict(change.fits_probability),
                "step": show(change.iteration_time, "s"),
                "cost": f"{change.slowdown:+.1%}",
                "memory": f"{gib(change.bytes)} GiB",
                "the same training": "yes" if change.same_training else "no",
                "but": "; ".join(change.warnings),
            }
            for change in answer.changes
        ],
        hide_index=True,
    )
    st.caption("Cost: GPU-seconds for as many tokens, over those of the job if it fitted")


def starts(answer: Fits) -> None:
    """Draw the options that start the job, a tab for each software."""
    if not answer.starts or answer.fits_probability <= 1 - CERTAIN:
        return
    st.subheader("How it would be started", anchor=False)
    names = sorted(answer.starts, key=lambda name: name != answer.software)
    for name, tab in zip(names, st.tabs(names), strict=True):
        with tab:
            st.code("\n".join(answer.starts[name]), language=None, wrap_lines=True)


def page() -> None:
    """Draw the page."""
    request = scenario_form("fits", body=(CONFIDENCE,), start=START)
    with errors_shown():
        answer, _, python = answer_of("fits", request.picked, NAMES)
    with request.top:
        file_marks.examples({question: ("fits", query) for question, query in PRESETS.items()})
        st.subheader(plain(answer.headline), anchor=False)
        answer_card.show(answer.card)
    show_warnings(answer.warnings)
    figures(answer)
    if answer.not_stated:
        less = labelled(", ".join(f"--{name}" for name in answer.not_stated))
        st.caption(f"Less wide with {less}")
    bars = {
        place.name: memory_chart.MemoryBar(place.rows, answer.capacity, place.fits_probability)
        for place in shown_places(answer)
    }
    memory_chart.draw_memory(bars, "memory", "a GPU")
    changes(answer, request.picked)
    starts(answer)
    with st.container(horizontal=True):
        copy_buttons("fits", request.picked, python, card=answer.card)
        download_buttons("fits", answer.records(), answer.to_json)
    if answer.defaults:
        st.caption(plain(for_planners(f"Defaults taken: {', '.join(answer.defaults)}")))


page()
