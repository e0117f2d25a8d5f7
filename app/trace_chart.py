"""The chart of page Trace: the parts of a step of each device, what goes on next to them under its bar."""

from __future__ import annotations

from collections.abc import Collection
from html import escape
from typing import Any

from app import charts
from app.figure import Figure
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
    """Draw the parts of a step of each device; of the whole file if no steps are marked."""
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
    figure = charts.parts(
        {name: in_turn(row) for name, row in rows.items()},
        {part: label for part, label in PARTS.items() if part not in NEXT_TO_OTHERS},
        "time of one step [s]" if marked else "time in the file [s]",
    )
    height = height_of(figure, rows)
    for part in NEXT_TO_OTHERS:
        charts.under_bars(
            figure,
            {name: (row["compute_time"], row.get(part, 0.0)) for name, row in rows.items()},
            part,
            PARTS[part],
        )
    charts.draw(figure, "step", "Parts of a step of each device", height=height)


def in_turn(parts: dict[str, float]) -> dict[str, float]:
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
