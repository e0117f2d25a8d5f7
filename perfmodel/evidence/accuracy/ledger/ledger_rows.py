"""Make entries of the ledger from measured rows that no fit has learned from."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

from perfmodel.evidence.accuracy.campaign import Outcome
from perfmodel.evidence.accuracy.collectives.collective_compare import Row as CollectiveRow
from perfmodel.evidence.accuracy.collectives.collective_rows import shipped_measurements
from perfmodel.evidence.accuracy.ledger.ledger import COLUMNS, MISREAD, NO_TIME, NOT_NEW, Entry, read_ledger
from perfmodel.evidence.accuracy.measured_table import write_records
from perfmodel.evidence.accuracy.report.error_statistics import trusted
from perfmodel.evidence.accuracy.scenarios import scenario_of_run
from perfmodel.evidence.accuracy.training_rows import shipped_runs
from perfmodel.evidence.accuracy.transformers.transformer_compare import Row as TransformerRow
from perfmodel.evidence.accuracy.transformers.transformer_novelty import novelty_of
from perfmodel.evidence.accuracy.transformers.transformer_rows import shipped_transformer_runs
from perfmodel.hardware.catalogue.store import Catalogue
from perfmodel.model.fitted.calibration import calibration
from perfmodel.model.fitted.ledger_scales import KNOWN, NEW
from perfmodel.model.prediction.collectives.collective_spread import is_seen, scale_at, size_class
from perfmodel.model.prediction.intervals.widening import is_new_to
from perfmodel.model.setting.resolve import resolve


def append(
    path: Path, rows: Iterable[Any], version: str, catalogue: Catalogue | None = None
) -> tuple[int, int]:
    """Append the errors of predicted rows to a ledger; return the numbers of new entries and of those it had.

    A row that an earlier version misread gets a new entry.  Rows that cannot be predicted, rows of trust C
    and D, and rows that the fit learned from get none.

    Parameters
    ----------
    path : of the ledger; rewritten as a whole, or unchanged after an error
    rows : of any kind, predicted from specs by the shipped fit
    version : of perfmodel
    catalogue : hardware; by default the built-in catalogue

    Raises
    ------
    InputError : the ledger cannot be read or written
    """
    held = read_ledger(path)
    known = {(each.kind, each.id) for each in held if each.job not in (MISREAD, NO_TIME)}
    learned = _learned()
    sources = set(learned.values())
    entries = [
        each._replace(job=NOT_NEW) if each.source in sources else each
        for each in _entries(rows, version, Catalogue.of(catalogue))
        if each.id not in learned
    ]
    fresh = [each for each in entries if (each.kind, each.id) not in known]
    write_records(path, COLUMNS, (each.cells() for each in (*held, *fresh)))
    return len(fresh), len(entries) - len(fresh)


def _learned() -> dict[str, str]:
    """Return the source by id of the rows that the shipped fits learned from."""
    every: Iterable[Any] = (*shipped_runs(), *shipped_transformer_runs(), *shipped_measurements())
    return {each.run_id: each.source for each in every}


def _entries(rows: Iterable[Outcome], version: str, catalogue: Catalogue) -> Iterator[Entry]:
    """Yield an entry for each trusted row that has a measured time, a prediction and an interval."""
    for row in rows:
        if row.predicted is None or not row.measured or row.high_80 is None or not trusted(row):
            continue
        kind, job, scale = _class_of(row, catalogue)
        error, half = math.log(row.measured / row.predicted), math.log(row.high_80 / row.predicted)
        yield Entry(
            version, kind, row.run.source, row.run.run_id, job, round(error, 3), round(half, 3), scale
        )


def _class_of(row: Any, catalogue: Catalogue) -> tuple[str, str, float]:
    """Return kind and class of a row's entry, and the ledger's factor in its interval."""
    if isinstance(row, TransformerRow):
        new = novelty_of(row.run)
        return "transformers, from specs", new.job if row.run.states_batch else NO_TIME, new.scale.factor
    if isinstance(row, CollectiveRow):
        point = row.run.point
        assert point is not None
        size, several = int(size_class(point.message_bytes)), point.nodes > 1
        where = f"{'several nodes' if several else 'one node'}, from 1 MiB" if size else "below 1 MiB"
        return f"collectives, {where}", KNOWN if is_seen(point) else NEW, scale_at(several, size).factor
    setting = resolve(scenario_of_run(row.run, catalogue), catalogue)
    job = NEW if is_new_to(setting, calibration()) else KNOWN
    on = "one accelerator" if row.run.world_size == 1 else "several accelerators"
    return f"data parallel, from specs, {on}", job, row.scale
