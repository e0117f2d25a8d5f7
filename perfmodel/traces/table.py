"""What public traces show, as figures: the files themselves stay with their owners.

``python -m perfmodel.traces.table FOLDER validation/traces.csv`` makes the table again.
"""

from __future__ import annotations

import csv
import io
import sys
from pathlib import Path
from typing import Any

from perfmodel.resources import folder
from perfmodel.traces.read import files_of, read_trace
from perfmodel.traces.summary import summary
from perfmodel.writing import write_whole

COLUMNS = (
    "file",
    "device",
    "accelerator",
    "rank",
    "steps",
    "iteration_time",
    "busy_time",
    "compute_time",
    "communication_time",
    "overlap_time",
    "input_time_per_step",
    "utilisation",
    "verdict",
)


def rows_of(path: Path) -> list[dict[str, Any]]:
    """Return one row for each device of each trace in a folder; times in seconds."""
    rows = []
    for file in files_of([str(path)]):
        found = read_trace(file)
        if not isinstance(found, list):
            continue
        for device in summary(found)["devices"]:
            totals, each = device["totals"], device["per_step"]
            busy = totals["compute_time"] + totals["communication_time"] - totals["overlap_time"]
            shown = {
                **{key: device[key] for key in ("file", "device", "accelerator", "rank", "steps", "verdict")},
                "iteration_time": device["iteration_time"],
                "busy_time": busy,
                **{key: totals[key] for key in ("compute_time", "communication_time", "overlap_time")},
                "input_time_per_step": each["input_time"] if each else None,
                "utilisation": device["utilisation"],
            }
            rows.append(
                {key: f"{value:.6g}" if isinstance(value, float) else value for key, value in shown.items()}
            )
    return rows


def write_table(source: Path, target: Path) -> None:
    """Write the table of a folder of traces as CSV."""
    text = io.StringIO()
    writer = csv.DictWriter(text, COLUMNS, lineterminator="\n")
    writer.writeheader()
    writer.writerows(rows_of(source))
    write_whole(target, text.getvalue())


def section() -> list[str]:
    """Return the report's section on traces, from the figures that come along."""
    with (folder("validation") / "traces.csv").open(newline="", encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    lines = [
        "## Traces",
        "",
        "Public profiler files as `perfmodel trace summary` reads them, milliseconds over the whole file;",
        "step: median of the marks.  From facebookresearch/HolisticTraceAnalysis, facebookresearch/param,",
        "pytorch/kineto, GindaChen/nsys-ai.  A collective's time contains the wait for its last peer.",
        "",
        "| file | device | step | busy | computation | communication | overlap | verdict |",
        "| --- | --: | --: | --: | --: | --: | --: | --- |",
    ]
    for row in rows:
        times = [
            f"{1e3 * float(row[key]):.1f}" if row[key] else "-"
            for key in ("iteration_time", "busy_time", "compute_time", "communication_time", "overlap_time")
        ]
        lines.append(f"| {row['file']} | {row['device']} | {' | '.join(times)} | {row['verdict']} |")
    by = {row["file"]: row for row in rows}
    slow, fast = (by[f"resnet50_v100_ws1_workers{n}_a.json.gz"] for n in (0, 4))
    without = float(slow["iteration_time"]) - float(slow["input_time_per_step"])
    measured = float(fast["iteration_time"])
    return [
        *lines,
        "",
        f"The pair of ResNet-50 with 0 and 4 loader workers: {slow['verdict']} and {fast['verdict']}.",
        f"The first without its waiting for samples would take {1e3 * without:.1f} ms; the second takes",
        f"{1e3 * measured:.1f} ms ({without / measured - 1:+.1%}).",
        "",
    ]


if __name__ == "__main__":
    write_table(Path(sys.argv[1]), Path(sys.argv[2]))
