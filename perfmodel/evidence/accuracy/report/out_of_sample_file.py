"""``validation/out_of_sample.csv``: each run predicted by a fit to all other sources, in two modes."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Any

from perfmodel.core.files.resources import folder
from perfmodel.evidence.accuracy.anchors import Anchors
from perfmodel.evidence.accuracy.baselines import constant_utilisation
from perfmodel.evidence.accuracy.campaign import ENDS
from perfmodel.evidence.accuracy.measured_table import records, write_records
from perfmodel.evidence.accuracy.training_compare import Mode, Row
from perfmodel.evidence.accuracy.training_rows import shipped_runs
from perfmodel.hardware.catalogue.store import Catalogue

NAME = "out_of_sample.csv"
TIMES = ("measured_iteration_time", "predicted_iteration_time", *ENDS)
COLUMNS = ("run_id", "mode", *TIMES, "scale", "reason")


def write_rows(path: Path, rows: Iterable[Row]) -> None:
    """Write rows as CSV, times in seconds to six figures; an empty cell means unknown.

    Raises
    ------
    InputError : the file cannot be written; it is then unchanged
    """

    def cells(row: Row) -> list[str | None]:
        numbers = (row.measured, row.predicted, *row.ends.values(), row.scale)
        return [row.run.run_id, row.mode, *("" if n is None else f"{n:.6g}" for n in numbers), row.reason]

    write_records(path, COLUMNS, map(cells, rows))


def shipped_rows(mode: Mode) -> list[Row]:
    """Return the shipped runs with their predictions from the shipped ``out_of_sample.csv``, in order.

    Only the naive baselines, which depend on no fit, are computed.
    """
    known = {row["run_id"]: row for row in records(folder("validation") / NAME) if row["mode"] == mode}
    runs = shipped_runs()
    anchors = Anchors(runs)
    naive = constant_utilisation(runs, Catalogue.built_in()) if mode == "specs" else None
    result = []
    for run in runs:
        if (written := known.get(run.run_id)) is None:
            continue
        anchor = anchors.of(run) if mode == "anchored" and run.world_size > 1 else None
        guess = naive(run) if naive else anchor and anchor.iteration_time
        measured, predicted, *ends, scale = (
            float(written[name]) if written[name] else None for name in (*TIMES, "scale")
        )
        span: dict[str, Any] = dict(zip(ENDS, ends, strict=True))
        row = Row(measured, predicted, **span, mode=mode, scale=scale, run=run)
        row = row._replace(
            reason=written["reason"] or None,
            naive=guess if predicted else None,
            anchor=anchor and anchor.agreement,
        )
        result.append(row)
    return result
