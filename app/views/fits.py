"""Page Will it fit: the memory of each stage against the capacity, and what would make a job fit."""

from collections.abc import Mapping
from typing import Any, Literal

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
from perfmodel.core.units import percent
from perfmodel.decide.fits.advice import Change, is_sure, reasons_against
from perfmodel.decide.fits.answer import Fits
from perfmodel.decide.fits.listing import (
    changes_title,
    largest_words,
    shown_places,
    started_words,
    unstarted_words,
)
from perfmodel.decide.fits.ways import unknown_of
from perfmodel.decide.fits.words import change_words, cost_words, gpu_time_words
from perfmodel.model.options.scenario import SHORT
from perfmodel.model.transformers.layout_words import meaning

GIB = 2**30
START = {"workload": "llama-3-8b", "accelerator": "h100-sxm5-80gb", "gpus": 8}
PRESETS: dict[str, dict[str, str]] = {
    "QLoRA of Llama 3 70B on two RTX 4090, 1,024 tokens": {
        "workload": "llama-3-70b",
        "accelerator": "rtx-4090",
        "gpus": "2",
        "framework": "axolotl",
        "lora": "16",
        "frozen-weights": "nf4",
        "sharding": "zero3",
        "recompute": "full",
        "sequence-length": "1024",
        "host-memory": "128GB",
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
    options = change.options | ({"anchor": change.anchor} if change.anchor else {})
    changed = {short.get(name, name).replace("_", "-"): value for name, value in options.items()}
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
    first = answer.changes[0]
    advised: Literal["primary", "secondary"] = "primary" if is_sure(first, answer.confidence) else "secondary"
    if st.button(f"Use {change_words(first.options)}", type=advised, key="take-first"):
        file_marks.go_to("fits", query_of(picked, first))
    with st.container(key="wrapped-changes"):
        st.markdown(markdown(change_rows(answer)))
    others = dict.fromkeys(line for each in answer.changes for line in each.warnings)
    notes = [labelled(line) for line in others if not unknown_of([line])]
    order = sentence(changes_title(answer))
    time = "GPU time: for as many tokens, over that without the change, if it fitted."
    st.caption(plain(" ".join([order, time, *map(sentence, notes)])))


def change_rows(answer: Fits) -> list[dict[str, str]]:
    """Return the changes as rows of a table, under each what speaks against it."""
    rows = []
    for change in answer.changes:
        against = labelled(sentence("; ".join(reasons_against(change)))) if reasons_against(change) else ""
        rows.append(
            {
                "change": f"{plain(change_words(change.options))} :small[{plain(against)}]"
                if against
                else plain(change_words(change.options)),
                "memory": f"{gib(change.bytes)} GiB",
                "fits": percent(change.fits_probability),
                "GPU time": cost_words(change.slowdown),
            }
        )
    return rows


def figures(answer: Fits) -> dict[str, answer_card.Shown]:
    """Return the figures that the card has no field for: the batch where the job fits, else the change."""
    fitting = answer.fitting
    if answer.fits_probability >= answer.confidence:
        words = largest_words(answer)
        largest = answer_card.cut(words) or answer_card.Shown(words, "")
        fast = answer.card.throughput  # empty where even odds are not reached
        shown = {"Speed": answer_card.with_unit(fast)} if fast else {}
        return {**shown, "Largest micro-batch": largest}
    as_it_is = {"As it is": _needed(answer, answer.capacity)}
    if fitting is None:
        return as_it_is
    host = fitting.host_memory.partition(" (")[0]  # the advice says where it is not known how much there is
    speed = answer_card.with_unit(fitting.throughput)
    time = f"{speed.rest}; a step takes {fitting.time}; {gpu_time_words(fitting.slowdown)} the change"
    return as_it_is | {
        "With the change": _needed(fitting, answer.capacity, host),
        "Speed then": speed._replace(rest=time),
    }


def memory_of(answer: Fits) -> dict[str, memory_chart.MemoryBar]:
    """Return the bars of the places, the fullest with its interval, and of the first change that fits."""
    places = shown_places(answer)
    fullest = max(places, key=lambda place: place.bytes)
    bars = {
        place.name: memory_chart.MemoryBar(
            place.rows,
            answer.capacity,
            place.fits_probability,
            (answer.low_80, answer.high_80) if place is fullest else None,
        )
        for place in places
    }
    if (change := answer.fitting) is not None:
        interval = change.low_80, change.high_80
        bars["with the change"] = memory_chart.MemoryBar(
            change.rows, answer.capacity, change.fits_probability, interval, change.host_bytes
        )
    return bars


def _needed(of: Fits | Change, capacity: float, host: str = "") -> answer_card.Shown:
    """Return the memory of a GPU that is needed as a figure, with the capacity and the odds of fitting.

    Parameters
    ----------
    of : the job, or it with a change
    capacity : memory that is there [B]
    host : memory of the host as text
    """
    ends = f"80 %: {gib(of.low_80)} to {gib(of.high_80)}"
    words = f"of {gib(capacity)} GiB ({ends}); fits with {percent(of.fits_probability)}"
    return answer_card.Shown(f"{gib(of.bytes)} GiB", f"{words}; {host}" if host else words)


def starts(answer: Fits) -> None:
    """Draw the options that start the job, or the first change that fits, a tab for each software."""
    _, lines = started_words(answer)
    if lacking := unstarted_words(answer):
        st.caption(plain(f"{sentence(lacking)}"))
    if not lines:
        return
    fits = answer.fits_probability >= answer.confidence
    with st.expander("How it would be started"):
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
    request = scenario_form(
        "fits", body=(CONFIDENCE,), start=START, at_once=("host-memory", "sequence-length")
    )
    with errors_shown():
        answer, asked, python = answer_of("fits", request.picked, NAMES)
    with request.top:
        name, gpus = answer.headline.rpartition(" on ")[0], job_of(None, answer.card).gpus
        st.subheader(plain(f"Does {name} fit on {gpus}?"), anchor=False)
        hidden = () if answer.fits_probability >= answer.confidence else ("time", "memory", "limit")
        answer_card.show(answer.card, figures(answer), hidden)
    bars = memory_of(answer)
    memory_chart.draw_memory(bars, "memory", "a GPU")
    less = labelled(", ".join(f"--{name}" for name in answer.not_stated))
    narrower = f"; the interval of the memory is less wide with {less}" if less else ""
    st.caption(plain(f"{answer.headline}. Largest micro-batch: {largest_words(answer)}{narrower}."))
    layouts = map(meaning, answer.card.machines.split("; "))
    if words := "; ".join(filter(None, (memory_chart.meanings(bars.values()), *layouts))):
        st.caption(plain(sentence(f"{words}.")))
    changes(answer, request.picked)
    starts(answer)
    sharing.here()
    st.subheader("Examples", anchor=False)
    file_marks.examples({question: ("fits", query) for question, query in PRESETS.items()})
    st.caption("1,024 tokens and a host of 128 GB: as in Answer.AI's published runs on two GPUs of 24 GB.")
    show_warnings(answer.warnings)
    with st.container(horizontal=True):
        copy_buttons("fits", request.picked, python, card=answer.card)
        report = report_pages.of_command("fits", answer, asked, shell_command("fits", request.picked))
        download_buttons("fits", sharing.csv_of("fits", answer), answer.to_json, report)
    assumed.draw(answer.defaults)


page()
