"""Numbers from public traces, whose files are not redistributed.

``python -m perfmodel.evidence.traces.public_traces FOLDER validation`` writes two tables: summaries of the
traces, and predictions of some of them by profiles made of others, by the functions of
``perfmodel calibrate --trace`` and ``perfmodel predict --profile``.
"""

from __future__ import annotations

import csv
import io
import sys
import tempfile
from pathlib import Path
from typing import Any

from perfmodel.core.files.resources import folder
from perfmodel.core.files.templating import render
from perfmodel.core.files.writing import write_whole
from perfmodel.evidence.traces.calibrate import profile_of_traces
from perfmodel.evidence.traces.device_trace import DeviceTrace
from perfmodel.evidence.traces.read import files_of, read_trace
from perfmodel.evidence.traces.summary import summary
from perfmodel.hardware.catalogue.store import Catalogue
from perfmodel.model.options.scenario import Scenario
from perfmodel.model.prediction import predict
from perfmodel.model.setting.profile import to_toml

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

JOB: dict[str, Any] = {"workload": "resnet50", "precision": "fp32", "local_batch_size": 32}
"""Job of the predicted traces, as their README states it."""
FEW, MANY = (f"resnet50_v100_ws1_workers{number}_a.json.gz" for number in (0, 4))
OTHER = "ddp_resnet50_v100_ws1_rank0.json.gz"
PREDICTED: tuple[tuple[str, dict[str, Any], str, int], ...] = (
    (FEW, {}, FEW, 0),
    (MANY, {}, MANY, 0),
    (FEW, {"loader_workers": 4}, MANY, 0),
    (MANY, {"input": "synthetic"}, OTHER, 2),  # the trace has no loader, and warms up in its first two steps
)
"""File of the profile, options of the prediction, file whose step is predicted, and its first steps to
skip."""
PREDICTED_COLUMNS = ("profile", "asked", "file", "measured", "predicted", "error")


def rows_of(path: Path) -> list[dict[str, Any]]:
    """Return the summary of each device of each trace in a folder, as a row of a table; times in seconds."""
    rows = []
    for file in files_of([str(path)]):
        result = read_trace(file)
        if not isinstance(result, list):
            continue
        for device in summary(result)["devices"]:
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


def predicted_of(path: Path) -> list[dict[str, Any]]:
    """Return measured and predicted step time [s] of each entry of ``PREDICTED``, as a row of a table."""
    rows = []
    with tempfile.TemporaryDirectory() as place:
        for number, (file, options, other, skip) in enumerate(PREDICTED):
            profile = profile_of_traces(_devices(path / file), [], Scenario(**JOB), Catalogue.built_in())
            written = Path(place) / f"{number}.toml"  # profiles are cached by name
            written.write_text(to_toml(profile), "utf-8")
            predicted = predict(Scenario(**options, profile=str(written))).iteration_time
            measured = summary(_devices(path / other), skip)["devices"][0]["iteration_time"]
            rows.append(
                {
                    "profile": file,
                    "asked": " ".join(
                        f"--{name.replace('_', '-')} {value}" for name, value in options.items()
                    ),
                    "file": other,
                    "measured": f"{measured:.4g}",
                    "predicted": f"{predicted:.4g}",
                    "error": f"{predicted / measured - 1:.3f}",
                }
            )
    return rows


def _devices(path: Path) -> list[DeviceTrace]:
    result = read_trace(path)
    return result if isinstance(result, list) else []


def write_tables(source: Path, target: Path) -> None:
    """Write both tables of the traces in the folder ``source`` as CSV files into ``target``."""
    for name, columns, rows in (
        ("traces.csv", COLUMNS, rows_of(source)),
        ("traces_predicted.csv", PREDICTED_COLUMNS, predicted_of(source)),
    ):
        text = io.StringIO()
        writer = csv.DictWriter(text, columns, lineterminator="\n")
        writer.writeheader()
        writer.writerows(rows)
        write_whole(target / name, text.getvalue())


def _read(name: str) -> list[dict[str, str]]:
    with (folder("validation") / name).open(newline="", encoding="utf-8") as file:
        return list(csv.DictReader(file))


def section() -> str:
    """Return the report's section on traces as Markdown, from the shipped tables."""
    rows = _read("traces.csv")
    verdicts = {row["file"]: row["verdict"] for row in rows}
    return render(
        "traces.md.j2",
        rows=rows,
        few=verdicts[FEW],
        many=verdicts[MANY],
        predicted=_read("traces_predicted.csv"),
    )


if __name__ == "__main__":
    write_tables(Path(sys.argv[1]), Path(sys.argv[2]))
