"""Traces as plain text of 80 columns."""

from __future__ import annotations

from typing import Any

from rich.text import Text

from perfmodel.core.units import per_cent, plural, show, shown_part, without_rounding
from perfmodel.evidence.traces.activity import SHARES
from perfmodel.evidence.traces.allocations import CATEGORIES
from perfmodel.evidence.traces.recommendations import saving_words
from perfmodel.evidence.traces.summary import PARTS
from perfmodel.interfaces.cli.render import console, lines_to, table

MOST_ROWS = 8


def show_summary(report: dict[str, Any]) -> None:
    """Print the times of each device, and each collective over all ranks."""
    out = console()
    for device in report["devices"]:
        out.print(Text(_title(device)), style="bold")
        rows = table("", "of the file", "a step", "share")
        for name, total, each, share in _rows(device):
            rows.add_row(name, total, each, share)
        out.print(rows)
        if device["iteration_time"] is not None:
            spread = (
                f", spread {per_cent(device['iteration_time_cv'])}" if device["iteration_time_cv"] else ""
            )
            steps = f"{device['steps']} {plural('step', device['steps'])}"
            out.print(
                Text(
                    f"{'iteration time':<22}{show(device['iteration_time'], 's')}, median of {steps}{spread}"
                )
            )
        for label, value in _figures(device):
            lines_to(out, value, f"{label:<22}")
        out.print(Text(f"{'verdict':<22}{device['verdict']}"))
        for note in device["notes"]:
            out.print(Text(f"note: {note}"))
        if device["collectives"]:
            out.print(_collectives(device["collectives"]))
    if report["collectives"]:
        out.print(_ranks(report["collectives"]))
    if report["ranks"]:
        out.print(_by_rank(report["ranks"]))
        for row in report["ranks"]:
            if row["straggler"]:
                out.print(Text(f"straggler: rank {row['rank']}, last in {row['last_in']} messages"))
    if report["ranges"]:
        out.print(_ranges(report["ranges"]))
    for index, row in enumerate(report["recommendations"]):
        line = f"{saving_words(row)} a step: {row['change']}; {row['basis']}"
        lines_to(out, line, f"{'' if index else 'would save':<22}")
    for timings in report.get("nccl_tests", []):
        rows = table("message", "time", "bus bandwidth", left=0)
        for row in timings["rows"]:
            rows.add_row(
                show(row["message_bytes"], "B"),
                show(row["time"], "s"),
                f"{row['bus_bandwidth'] / 1e9:.2f} GB/s",
            )
        out.print(
            Text(
                f"nccl-tests, {timings['collective'] or 'no reduction'}, {timings['group_size'] or '?'} ranks"
            ),
            style="bold",
        )
        out.print(rows)


def _figures(device: dict[str, Any]) -> list[tuple[str, str]]:
    """Return figures on the use of a device, with labels."""
    lines = [("GPU utilisation", per_cent(device["utilisation"]))]
    if device["sm_efficiency"] is not None:
        lines.append(("SM efficiency", f"{per_cent(device['sm_efficiency'])}, estimated"))
    if device["achieved_occupancy"] is not None:
        lines.append(("achieved occupancy", f"{per_cent(device['achieved_occupancy'])}, estimated"))
    if device["shares"]:
        kinds = ", ".join(
            f"{SHARES[name]} {per_cent(share)}" for name, share in device["shares"].items() if share >= 0.0005
        )
        lines.append(("time by kind of work", kinds))
    memory = device["memory"]
    if device["peak_memory"]:
        lines.append(("peak memory", f"{device['peak_memory'] / 2**30:.2f} GiB allocated"))
    elif memory:
        since = " on top of what was held before" if memory["relative"] else " allocated"
        lines.append(("peak memory", f"{memory['peak'] / 2**30:.2f} GiB{since}"))
    if memory and memory["peak_by_category"]:
        parts = (
            f"{size / 2**30:.2f} {CATEGORIES[name]}"
            for name, size in memory["peak_by_category"].items()
            if size
        )
        lines.append(("", ", ".join(parts)))
    return lines


def show_difference(result: list[dict[str, Any]]) -> None:
    """Print the parts of two steps with their differences."""
    rows = table("a step", "measured", "predicted", "difference", "ratio")
    whole = max(row["first"] for row in result)
    for row in result:
        difference = shown_part(row["difference"], whole)
        label = {"iteration_time": "iteration time", **PARTS}[row["part"]]
        sign = "" if difference.startswith(("-", "0 ")) else "+"
        rows.add_row(
            label,
            shown_part(row["first"], whole),
            shown_part(row["second"], whole),
            f"{sign}{difference}",
            f"{row['ratio']:.2f}" if without_rounding(row["first"], whole) else "-",
        )
    console().print(rows)


def _title(device: dict[str, Any]) -> str:
    """Return file, device, accelerator and rank in words."""
    rank = f", rank {device['rank']} of {device['world_size'] or '?'}" if device["rank"] is not None else ""
    return f"{device['file']}: device {device['device']}, {device['accelerator'] or 'unnamed GPU'}{rank}"


def _rows(device: dict[str, Any]) -> list[tuple[str, str, str, str]]:
    """Return a row for each part of a device's time: label, total, per step, share."""
    totals, each = device["totals"], device["per_step"]
    over = {
        "compute_time": totals["compute_time"],
        "exposed_communication_time": totals["communication_time"] - totals["overlap_time"],
        "hidden_communication_time": totals["overlap_time"],
    }
    rows, whole = [], device["iteration_time"]
    for key, label in PARTS.items():
        value = each[key] if each else None
        total = show(over[key], "s") if key in over else ""
        share = per_cent(value / whole) if whole and value is not None else ""
        if each or key in over:
            rows.append((label, total, show(value, "s") if value is not None else "", share))
    for key, value in (device["passes"] or {}).items():
        label = f"  {key.removesuffix('_time')} kernels"
        report = ("", show(value / device["steps"], "s")) if each else (show(value, "s"), "")
        rows.insert(1, (label, *report, ""))
    rows.append(("first to last kernel", show(totals["span"], "s"), "", ""))
    return rows


def _collectives(result: list[dict[str, Any]]) -> Any:
    """Return a table of the collectives of a device."""
    rows = table("collective", "message", "count", "median", "least", "bus bandwidth")
    for row in result[:MOST_ROWS]:
        how = "/".join(part for part in (row["algorithm"], row["protocol"]) if part)
        rows.add_row(
            f"{row['collective']}{f' ({how})' if how else ''}",
            show(row["message_bytes"], "B") if row["message_bytes"] else "-",
            str(row["count"]),
            show(row["time"], "s"),
            show(row["least_time"], "s"),
            f"{row['bus_bandwidth'] / 1e9:.2f} GB/s" if row["bus_bandwidth"] else "-",
        )
    return rows


def _by_rank(result: list[dict[str, Any]]) -> Any:
    """Return a table of the times of each rank."""
    rows = table("rank", "computation", "overlap", "transfer", "waiting", "waited for")
    for row in result[: 4 * MOST_ROWS]:
        names = ("compute_time", "overlap_time", "transfer_time", "waiting_time", "waited_for")
        rows.add_row(row["rank"], *(show(row[name], "s") for name in names))
    return rows


def _ranges(result: list[dict[str, Any]]) -> Any:
    """Return a table of marked ranges."""
    rows = table("marked range", "count", "on the host", "of kernels")
    for row in result[:MOST_ROWS]:
        device = row["device_time"]
        rows.add_row(
            Text(row["name"]),
            str(row["occurrences"]),
            show(row["host_time"], "s"),
            show(device, "s") if device is not None else "-",
        )
    return rows


def _ranks(result: list[dict[str, Any]]) -> Any:
    """Return a table of the collectives over all ranks."""
    rows = table("over all ranks", "transfer", "waiting, mean", "longest", "by rank")
    for row in result[: 4 * MOST_ROWS]:
        waits = row["waiting_time"]
        longest = max(waits, key=lambda rank: waits[rank])
        rows.add_row(
            f"{row['index']}: {row['collective']}",
            show(row["wire_time"], "s"),
            show(sum(waits.values()) / len(waits), "s"),
            show(waits[longest], "s"),
            longest,
        )
    return rows
