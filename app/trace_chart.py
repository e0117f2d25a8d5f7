"""The chart of page Trace: the parts of a step of each device, what goes on next to them under its bar."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from html import escape
from typing import Any

import streamlit as st

from app import charts
from app.figure import Figure
from app.fills import letters_on
from app.layout import sentence
from app.plain import plain
from perfmodel.core.units import show
from perfmodel.evidence.traces.summary import PARTS

NEXT_TO_OTHERS = ("hidden_communication_time", "copy_time")
"""Parts of a step during which other parts go on."""
MOST_DEVICES = 16
NARROW = 15
"""Share of a step [%] below which a part of a bar has no room for its time."""


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
    shares = [hundredths(times) for times in zip(*(trace["x"] for trace in figure.data), strict=True)]
    for place, trace in enumerate(figure.data):
        trace["text"] = [
            _in_bar(words, shares[row][place]) if is_whole and wholes[row] else words
            for row, words in enumerate(trace["customdata"])
        ]
        trace |= {"textposition": "inside", "insidetextanchor": "middle", "textangle": 0}
        trace["insidetextfont"] = {"color": letters_on(trace["marker"]["color"])}
    figure.update_layout(uniformtext={"minsize": 11, "mode": "hide"})


def _in_bar(words: str, hundredth: int) -> str:
    """Return what is written into a part of a bar: of a narrow one its share alone."""
    return f"{words} ({hundredth} %)" if hundredth >= NARROW else f"{hundredth} %"


def hundredths(times: Sequence[float]) -> list[int]:
    """Return the shares of times in whole per cent that sum to 100, those cut most rounded up; 0 of nothing.

    >>> hundredths([72.5, 3.4, 6.1]), hundredths([0.0])
    ([88, 4, 8], [0])
    """
    exact = [100 * time / (sum(times) or 1.0) for time in times]
    whole = [int(share) for share in exact]
    lacking = round(sum(exact)) - sum(whole)
    most_cut = sorted(range(len(exact)), key=lambda place: whole[place] - exact[place])[:lacking]
    return [share + (place in most_cut) for place, share in enumerate(whole)]


def parts_words(parts: Mapping[str, float], is_whole: bool) -> str:
    """Return the parts of a step as text, with their shares where they follow each other through all of it.

    >>> step = {"compute_time": 0.07, "hidden_communication_time": 0.01, "idle_time": 0.03}
    >>> parts_words(step, True)
    'computation 70 ms (70 %), idle 30 ms (30 %); next to these: hidden communication 10 ms'
    """
    turn = in_turn(parts)

    def said(names: Iterable[str], with_shares: bool) -> str:
        times = {PARTS[name]: parts[name] for name in names if parts.get(name)}
        shares = [f" ({share} %)" if with_shares else "" for share in hundredths([*times.values()])]
        return ", ".join(
            f"{label} {show(time, 's')}{share}"
            for (label, time), share in zip(times.items(), shares, strict=True)
        )

    beside = said(NEXT_TO_OTHERS, False)
    first = said((name for name in PARTS if name in turn), is_whole)
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
