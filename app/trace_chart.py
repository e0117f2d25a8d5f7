"""The chart of page Trace: the parts of a step of each device, what goes on next to them under its bar."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from html import escape
from typing import Any

import streamlit as st

from app import charts
from app.figure import Figure
from app.fills import letters_on
from app.layout import sentence
from app.plain import plain
from perfmodel.core.units import per_cent, show
from perfmodel.evidence.traces.summary import PARTS

NEXT_TO_OTHERS = ("hidden_communication_time", "copy_time")
"""Parts of a step during which other parts go on."""
MOST_DEVICES = 16


def title(device: dict[str, Any]) -> str:
    """Return the name of a device: its file, number and rank."""
    rank = f", rank {device['rank']} of {device['world_size'] or '?'}" if device["rank"] is not None else ""
    return f"{device['file']}: device {device['device']}{rank}"


def short_titles(devices: list[dict[str, Any]]) -> list[str]:
    """Return names of devices for bars: without the file, to save space, if they stay distinct."""
    full = [title(device) for device in devices]
    short = [name.removeprefix(f"{device['file']}: ") for name, device in zip(full, devices, strict=True)]
    return short if len(set(short)) == len(short) else full


def draw_step(devices: list[dict[str, Any]]) -> None:
    """Draw the parts of a step of each device, with a line of their times."""
    rows, marked = rows_of(devices)
    figure = step_chart(rows, marked)
    height = height_of(figure, rows)
    charts.draw(figure, "step", "Parts of a step of each device", height=height)
    words = {name: parts_words(row, marked) for name, row in rows.items()}
    if len(words) == 1:
        first, _, beside = sentence(*words.values()).partition(";")
        st.markdown(f"**{plain(first)}**" + (f";{plain(beside)}" if beside else ""))
    else:
        st.markdown("\n".join(f"- {name}: {plain(parts)}" for name, parts in words.items()))


def rows_of(devices: list[dict[str, Any]]) -> tuple[dict[str, dict[str, float]], bool]:
    """Return the parts of a step of each device, by its name, and whether they are of a step.

    They are of the whole file if no steps are marked.
    """
    marked = all(device["per_step"] for device in devices)
    shown = devices[:MOST_DEVICES]
    rows = {
        escape(name): device["per_step"]
        if marked
        else {
            "compute_time": device["totals"]["compute_time"],
            "exposed_communication_time": device["totals"]["communication_time"]
            - device["totals"]["overlap_time"],
            "hidden_communication_time": device["totals"]["overlap_time"],
        }
        for name, device in zip(short_titles(shown), shown, strict=True)
    }
    return rows, marked


def step_chart(rows: Mapping[str, Mapping[str, float]], marked: bool) -> Figure:
    """Return the chart of the parts of ``rows_of``, with what goes on next to them under the bars."""
    figure = charts.parts(
        {name: in_turn(row) for name, row in rows.items()},
        {part: label for part, label in PARTS.items() if part not in NEXT_TO_OTHERS},
        "time of one step [s]" if marked else "time in the file [s]",
    )
    _write_times(figure, marked)
    for part in NEXT_TO_OTHERS:
        charts.under_bars(
            figure,
            {name: (row["compute_time"], row.get(part, 0.0)) for name, row in rows.items()},
            part,
            PARTS[part],
        )
    return figure


def _write_times(figure: Figure, is_whole: bool) -> None:
    """Write into each part of a bar, where it fits, its time, and its share if the bar is a whole step."""
    wholes = [sum(times) for times in zip(*(trace["x"] for trace in figure.data), strict=True)]
    for trace in figure.data:
        trace["text"] = [
            f"{words} ({per_cent(time / whole, 0)})" if is_whole and whole else words
            for words, time, whole in zip(trace["customdata"], trace["x"], wholes, strict=True)
        ]
        trace |= {"textposition": "inside", "insidetextanchor": "middle", "textangle": 0}
        trace["insidetextfont"] = {"color": letters_on(trace["marker"]["color"])}
    figure.update_layout(uniformtext={"minsize": 11, "mode": "hide"})


def parts_words(parts: Mapping[str, float], is_whole: bool) -> str:
    """Return the parts of a step as text, with their shares where they follow each other through all of it.

    >>> step = {"compute_time": 0.07, "hidden_communication_time": 0.01, "idle_time": 0.03}
    >>> parts_words(step, True)
    'computation 70 ms (70 %), idle 30 ms (30 %); next to these: hidden communication 10 ms'
    """
    turn = in_turn(parts)
    whole = sum(turn.values())

    def said(names: Iterable[str], of: float) -> str:
        times = {PARTS[name]: parts[name] for name in names if parts.get(name)}
        shares = {label: f" ({per_cent(time / of, 0)})" if of else "" for label, time in times.items()}
        return ", ".join(f"{label} {show(time, 's')}{shares[label]}" for label, time in times.items())

    beside = said(NEXT_TO_OTHERS, 0.0)
    first = said((name for name in PARTS if name in turn), whole if is_whole else 0.0)
    return f"{first}; next to these: {beside}" if beside else first


def in_turn(parts: Mapping[str, float]) -> dict[str, float]:
    """Return the parts of a step that follow each other: they sum to its time.

    >>> in_turn({"compute_time": 0.07, "hidden_communication_time": 0.01, "idle_time": 0.02})
    {'compute_time': 0.07, 'idle_time': 0.02}
    """
    return {name: time for name, time in parts.items() if name not in NEXT_TO_OTHERS}


def height_of(figure: Figure, rows: Collection[str]) -> int:
    """Return the height of a chart of bars [px], with a line of the legend for each part."""
    for trace in figure.data:
        trace["width"] = 0.6
    return 140 + 40 * len(rows) + 20 * len(figure.data)
