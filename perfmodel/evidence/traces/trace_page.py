"""Draw the summary of traces as one self-contained HTML file, with inline styles and drawings."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from perfmodel.core.files.templating import bar, colour, render
from perfmodel.core.units import show
from perfmodel.evidence.traces.activity import SHARES
from perfmodel.evidence.traces.allocations import CATEGORIES
from perfmodel.evidence.traces.recommendations import saving_words
from perfmodel.evidence.traces.summary import PARTS

MOST_DEVICES = 64
"""Largest number of devices that are drawn; the page states how many are left out."""
MOST_ROWS = 40
"""Largest number of rows of the table of ranges."""
WIDTH, HEIGHT = 720, 120
"""Size of a curve, in pixels."""


def html_report(report: Mapping[str, Any]) -> str:
    """Return the summary of traces as an HTML page.

    Parameters
    ----------
    report : result of ``summary``, with ``recommendations``
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
        saving=saving_words,
        show=show,
        gib=lambda size: f"{size / 2**30:.2f} GiB",
        most_rows=MOST_ROWS,
    )


RANK_PARTS = {
    "compute_time": "computation",
    "overlap_time": "computation during communication",
    "transfer_time": "transfer",
    "waiting_time": "waiting for other ranks",
}


def _rank_parts(row: Mapping[str, Any]) -> dict[str, float]:
    """Return the parts of a rank's time, which do not overlap [s]."""
    return {
        "compute_time": row["compute_time"] - row["overlap_time"],
        **{name: row[name] for name in ("overlap_time", "transfer_time", "waiting_time")},
    }


def _total(row: Mapping[str, Any]) -> float:
    return sum(_rank_parts(row).values())


def _device(device: Mapping[str, Any]) -> dict[str, Any]:
    """Return what the page shows of a device."""
    step = device["per_step"]
    parts = {name: value for name, value in (step or {}).items() if name in PARTS}
    drawn = _disjoint_parts(parts) if step else {}
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


def _disjoint_parts(parts: Mapping[str, float]) -> dict[str, float]:
    """Return the parts of a step so that they do not overlap.

    Hidden communication is subtracted from computation; copies, which overlap with anything, are 0.
    """
    hidden = parts["hidden_communication_time"]
    return {**parts, "compute_time": parts["compute_time"] - hidden, "copy_time": 0.0}


def _legend(names: Mapping[str, str]) -> list[tuple[str, str]]:
    return [(colour(index), label) for index, label in enumerate(names.values())]


def _bar(parts: Mapping[str, float], whole: float) -> list[tuple[str, float, str]]:
    return bar([(value, "") for value in parts.values()], whole)


def _curve(points: Sequence[tuple[float, float]]) -> str:
    """Return points of time and size as those of an SVG polyline."""
    first, last = points[0][0], points[-1][0]
    highest = max(size for _, size in points) or 1.0
    return " ".join(
        f"{WIDTH * (time - first) / max(last - first, 1e-30):.1f},{HEIGHT * (1 - size / highest):.1f}"
        for time, size in points
    )
