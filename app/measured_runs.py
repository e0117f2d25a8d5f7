"""Measured runs and what the model says of them, with where each was published."""

from __future__ import annotations

import csv
import math
import re
from collections.abc import Iterable, Mapping, Sequence
from functools import cache
from typing import Any

from perfmodel.core.files.resources import folder
from perfmodel.evidence.accuracy import Row, shipped_runs
from perfmodel.evidence.accuracy.report.out_of_sample_file import shipped_rows
from perfmodel.evidence.accuracy.scenarios import measured_time
from perfmodel.evidence.accuracy.training_compare import Mode

FILTERS = ("source", "workload", "accelerator", "strategy", "trust")


@cache
def rows(mode: Mode) -> tuple[Row, ...]:
    """Return every shipped run as a fit to all other sources predicts it; read once, never changed."""
    return tuple(shipped_rows(mode))


@cache
def addresses() -> dict[str, str]:
    """Return where each source was published."""
    with (folder("validation") / "sources.csv").open(encoding="utf-8") as file:
        addresses = {row["key"]: row["address"].split()[0] for row in csv.DictReader(file)}
    return {key: address for key, address in addresses.items() if address.startswith("https://")}


def known(name: str) -> list[str]:
    """Return what a filter can be."""
    return sorted({str(getattr(run, name)) for run in shipped_runs()})


def filtered(mode: Mode, wanted: Mapping[str, Sequence[str]]) -> list[Row]:
    """Return the rows that pass every filter; an empty one lets all pass."""
    return [
        row
        for row in rows(mode)
        if all(str(getattr(row.run, name)) in words for name, words in wanted.items() if words)
    ]


def misses_first(rows: Iterable[Row]) -> list[Row]:
    """Return the predicted rows, those farthest off by factor first."""
    predicted = [row for row in rows if row.error is not None]
    return sorted(predicted, key=lambda row: -abs(math.log1p(row.error or 0.0)))


def table(rows: Iterable[Row]) -> list[dict[str, Any]]:
    """Return rows as a table people read, each with its source's address."""
    return [
        {
            "error": row.error,
            "run": row.run.run_id,
            "workload": row.run.workload,
            "accelerator": row.run.accelerator,
            "GPUs": row.run.world_size,
            "precision": row.run.precision,
            "batch": row.run.local_batch_size,
            "strategy": row.run.strategy,
            "measured [s]": measured_time(row.run),
            "predicted [s]": row.predicted,
            "source": addresses().get(row.run.source),
            "where": row.run.locator,
            "trust": row.run.trust,
        }
        for row in rows
    ]


@cache
def report() -> str:
    """Return ``validation/report.md``, which judges each source by a fit to the others."""
    return (folder("validation") / "report.md").read_text("utf-8")


@cache
def section(heading: str) -> str:
    """Return one section of the report."""
    match = re.search(rf"^## {re.escape(heading)}\n(.*?)(?=^## |\Z)", report(), re.DOTALL | re.MULTILINE)
    return match[1].strip() if match else ""


@cache
def misses() -> str:
    """Return ``validation/misses.md`` with smaller headings: what the model gets wrong, and why."""
    text = (folder("validation") / "misses.md").read_text("utf-8")
    return re.sub(r"^#+ ", "##### ", text, flags=re.MULTILINE)
