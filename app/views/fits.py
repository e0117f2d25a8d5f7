"""Page Memory: whether a job fits, by stage, what would make it fit, and what starts it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import streamlit as st

from app import file_marks, memory_chart, session_hardware
from app.backend import backend
from app.layout import PageRequest, copy_buttons, download_buttons, errors_shown, fold, scenario_form
from app.looks import labelled, show_warnings
from app.memory_chart import GIB, MemoryBar
from app.options import SCENARIO, arguments, options, values
from app.plain import plain
from perfmodel.core.units import counted, show
from perfmodel.decide.fits.answer import Change, Fits
from perfmodel.interfaces.function import request_of
from perfmodel.interfaces.register import command
from perfmodel.model.prediction.memory_odds import verdict

START = {"workload": "llama-3-8b", "accelerator": "h100-sxm5-80gb", "gpus": 8}
# Options that the page opens with.
MOST_BARS = 8
# Stages that are drawn; of more the first, the second, the fullest and the last.


def decision(answer: Fits) -> str:
    """Return the verdict in a sentence, with the cheapest change where the job does not surely fit."""
    low, high = (f"{size / GIB:.1f}" for size in (answer.low_80, answer.high_80))
    need = f"{answer.bytes / GIB:.1f} of {answer.capacity / GIB:.1f} GiB (80 %: {low} to {high})"
    words = f"{answer.verdict[0].upper()}{answer.verdict[1:]}: the fullest GPU needs {need}."
    if not answer.changes:
        return words
    first = answer.changes[0]
    cost = f"{first.slowdown:+.0%} GPU time"
    if first.fits_probability < answer.confidence:
        return f"{words} Nothing that was tried makes it fit; closest comes {first.words}."
    return f"{words} The cheapest change that makes it fit is {first.words} ({cost})."


def bars(answer: Fits) -> dict[str, MemoryBar]:
    """Return a bar of memory for each stage; of a long pipeline for those that differ."""
    places = answer.places
    indexes = list(range(len(places)))
    if len(places) > MOST_BARS:
        fullest = max(indexes, key=lambda index: places[index].bytes)
        indexes = sorted({0, 1, fullest, len(places) - 1})
    return {
        f"{places[index].name}, {counted(places[index].accelerators, 'GPU')}": MemoryBar(
            places[index].rows, answer.capacity, places[index].fits_probability
        )
        for index in indexes
    }


def table(answer: Fits) -> list[dict[str, Any]]:
    """Return the changes that make the job fit as a table for display."""
    return [
        {
            "change": labelled(change.words),
            "fits": verdict(change.fits_probability),
            "memory [GiB]": round(change.bytes / GIB, 1),
            "step": show(change.iteration_time, "s"),
            "GPU time of a step": f"{change.slowdown:+.1%}",
            "the same training": "yes" if change.same_training else "no",
            "note": "; ".join(change.warnings),
        }
        for change in answer.changes
    ]


def take(change: Change, picked: Mapping[str, Any]) -> None:
    """Open the page with a change made."""
    names = {one.field: one.name for one in command("fits").fields.values()}
    batch = ("local-batch-size", "global-batch-size", "accumulation-steps", "micro-batch-size")
    kept = {name: str(value) for name, value in picked.items() if name not in batch}
    file_marks.go_to("fits", kept | {names[field]: str(value) for field, value in change.options.items()})


def python(picked: Mapping[str, Any]) -> str:
    """Return Python code that gives the page's answer."""
    given = arguments(values(picked, SCENARIO) | session_hardware.own_names())
    catalogue = session_hardware.catalogue_words("perfmodel.")
    more = [f"confidence={picked['confidence']!r}"] if picked.get("confidence") is not None else []
    more += [f"catalogue={catalogue}"] if catalogue else []
    words = ", ".join([given, *more] if given else more)
    return f"import perfmodel\n\nanswer = perfmodel.fits({words})\nprint(answer.verdict, answer.bytes)"


def page(request: PageRequest) -> None:
    """Draw the page for the chosen options."""
    with errors_shown():
        job = request.scenario()
        given = {name: getattr(job, name) for name in job.model_fields_set}
        confidence = request.picked.get("confidence")
        if confidence is not None:
            given["confidence"] = confidence
        one = command("fits")
        answer: Fits = backend().answer(one, given, request_of(one, (), given))
    with request.top:
        st.subheader(plain(answer.headline), anchor=False)
        st.markdown(f"**{plain(labelled(decision(answer)))}**")
    memory_chart.draw_memory(bars(answer), "stages")
    if answer.not_stated:
        stated = ", ".join(f"--{name}" for name in answer.not_stated)
        st.caption(plain(labelled(f"The interval is less wide with {stated} stated.")))
    if answer.changes:
        st.markdown("**What would make it fit: the same training first, then by cost**")
        st.dataframe(table(answer), hide_index=True)
        if st.button("Make the first change"):
            take(answer.changes[0], request.picked)
    for name, lines in answer.starts.items():
        with fold(f"What starts it: {name}") as is_open:
            if is_open:
                st.code("\n".join(lines), language=None)
    show_warnings(answer.warnings)
    with st.container(horizontal=True):
        copy_buttons("fits", request.picked, python(request.picked))
        download_buttons("fits", answer.records(), answer.to_json())


page(scenario_form("fits", body=[options("fits")["confidence"]], start=START))
