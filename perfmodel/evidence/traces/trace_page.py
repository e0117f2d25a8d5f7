"""What profilers saw of a job as one HTML file that opens alone: inline styles and drawings, no addresses."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from perfmodel.core.files.templating import bar, colour, render
from perfmodel.core.units import show
from perfmodel.evidence.traces.activity import SHARES
from perfmodel.evidence.traces.allocations import CATEGORIES
from perfmodel.evidence.traces.summary import PARTS

MOST_DEVICES = 64
"""Drawn; the rest are counted."""
MOST_ROWS = 40
WIDTH, HEIGHT = 720, 120
"""Of a curve, in pixels."""


def html_report(report: Mapping[str, Any]) -> str:
    """Return the page of a summary of traces.

    Parameters
    ----------
    report : of ``summary``, with ``recommendations``
    """
    devices = report["devices"]
    files = list(dict.fromkeys(device["file"] for device in devices))
    more = f" and {len(files) - 1} more" if len(files) > 1 else ""
    title = f"Profiler traces: {files[0]}{more}" if files else "Profiler traces"
    return render(
        "trace_report.html.j2",
        title=title,
        devices=[_device(device) for device in devices[:MOST_DEVICES]],
        left_out=max(0, len(devices) - MOST_DEVICES),
        ranks=[
            {**row, "bar": _bar(_rank_parts(row), max(_total(each) for each in report["ranks"]))}
            for row in report["ranks"][:MOST_DEVICES]
        ],
        rank_legend=_legend(RANK_PARTS),
        share_legend=_legend(SHARES),
        part_legend=[row for row, name in zip(_legend(PARTS), PARTS, strict=True) if name != "copy_time"],
        ranges=report["ranges"][:MOST_ROWS],
        recommendations=report.get("recommendations", []),
        show=show,
        gib=lambda size: f"{size / 2**30:.2f} GiB",
        most_rows=MOST_ROWS,
    )


RANK_PARTS = {
    "compute_time": "computation",
    "overlap_time": "of it beside communication",
    "transfer_time": "transfer",
    "waiting_time": "waiting for other ranks",
}


def _rank_parts(row: Mapping[str, Any]) -> dict[str, float]:
    """Parts of a rank's time that do not overlap."""
    return {
        "compute_time": row["compute_time"] - row["overlap_time"],
        **{name: row[name] for name in ("overlap_time", "transfer_time", "waiting_time")},
    }


def _total(row: Mapping[str, Any]) -> float:
    return sum(_rank_parts(row).values())


def _device(device: Mapping[str, Any]) -> dict[str, Any]:
    step = device["per_step"]
    parts = {name: value for name, value in (step or {}).items() if name in PARTS}
    drawn = _apart(parts) if step else {}
    memory = device["memory"]
    return {
        **device,
        "heading": f"{device['file']}: device {device['device']}"
        + (f", rank {device['rank']}" if device["rank"] is not None else ""),
        "part_bar": _bar(drawn, sum(drawn.values())) if step else None,
        "share_bar": _bar(device["shares"], 1.0) if device["shares"] else None,
        "parts": [(PARTS[name], value) for name, value in parts.items()],
        "share_rows": [(SHARES[name], share) for name, share in (device["shares"] or {}).items()],
        "curve": _curve(memory["curve"]) if memory else None,
        "category_rows": [
            (CATEGORIES[name], size) for name, size in ((memory and memory["peak_by_category"]) or {}).items()
        ],
    }


def _apart(parts: Mapping[str, float]) -> dict[str, float]:
    """Parts of a step that do not overlap: what is hidden lies beside computation, copies beside anything."""
    hidden = parts["hidden_communication_time"]
    return {**parts, "compute_time": parts["compute_time"] - hidden, "copy_time": 0.0}


def _legend(names: Mapping[str, str]) -> list[tuple[str, str]]:
    return [(colour(index), label) for index, label in enumerate(names.values())]


def _bar(parts: Mapping[str, float], whole: float) -> list[tuple[str, float, str]]:
    return bar([(value, "") for value in parts.values()], whole)


def _curve(points: Sequence[tuple[float, float]]) -> str:
    """Points of a polyline over the width and height of the drawing."""
    first, last = points[0][0], points[-1][0]
    highest = max(size for _, size in points) or 1.0
    return " ".join(
        f"{WIDTH * (time - first) / max(last - first, 1e-30):.1f},{HEIGHT * (1 - size / highest):.1f}"
        for time, size in points
    )
