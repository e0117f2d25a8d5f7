"""``out_of_sample.csv``, beside the report: each run predicted by a fit to all other sources, twice."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from perfmodel.accuracy.anchors import Anchors
from perfmodel.accuracy.baselines import ConstantUtilisation
from perfmodel.accuracy.compare import Mode, Row
from perfmodel.accuracy.runs import shipped_runs
from perfmodel.resources import folder
from perfmodel.specs.store import Catalogue
from perfmodel.writing import write_whole

NAME = "out_of_sample.csv"
TIMES = (
    "measured_iteration_time",
    "predicted_iteration_time",
    "low_80",
    "high_80",
)
COLUMNS = ("run_id", "mode", *TIMES, "scale", "reason")


def write_rows(path: Path, rows: Iterable[Row]) -> None:
    """Write rows as CSV, times in seconds to six figures, all or nothing; an empty cell is not known.

    Raises
    ------
    InputError : the file cannot be written
    """
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(COLUMNS)
    for row in rows:
        cells = row.to_dict()
        times = ("" if cells[name] is None else f"{cells[name]:.6g}" for name in TIMES)
        scale = "" if row.scale is None else f"{row.scale:g}"
        writer.writerow([row.run.run_id, row.mode, *times, scale, row.reason])
    write_whole(path, text.getvalue())


def shipped_rows(mode: Mode) -> list[Row]:
    """Return every shipped run as the shipped ``out_of_sample.csv`` predicts it, in the order of the runs.

    Nothing is predicted; the naive answers, which know no fit, are taken beside it.
    """
    with (folder("validation") / NAME).open(newline="", encoding="utf-8") as file:
        known = {row["run_id"]: row for row in csv.DictReader(file) if row["mode"] == mode}
    runs = shipped_runs()
    anchors = Anchors(runs)
    naive = ConstantUtilisation(runs, Catalogue.built_in()) if mode == "specs" else None
    result = []
    for run in runs:
        if (written := known.get(run.run_id)) is None:
            continue
        anchor = anchors.of(run) if mode == "anchored" and run.world_size > 1 else None
        guess = naive.iteration_time(run) if naive else anchor and anchor.iteration_time
        times: dict[str, Any] = {name: float(written[name]) if written[name] else None for name in TIMES}
        result.append(
            Row(
                run=run,
                mode=mode,
                **times,
                naive_iteration_time=guess if written["predicted_iteration_time"] else None,
                anchor=None if anchor is None else "unique" if anchor.unique else "ambiguous",
                reason=written["reason"] or None,
                scale=float(written["scale"]) if written["scale"] else None,
            )
        )
    return result
