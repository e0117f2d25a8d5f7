"""Measured runs with their predictions and publications, for the page Validation."""

from __future__ import annotations

import csv
import math
import re
from collections.abc import Iterable, Mapping, Sequence
from functools import cache
from typing import Any

from perfmodel.core.files.resources import folder
from perfmodel.core.units import show
from perfmodel.evidence.accuracy import Row, shipped_runs
from perfmodel.evidence.accuracy.report.out_of_sample_file import shipped_rows
from perfmodel.evidence.accuracy.scenarios import measured_time
from perfmodel.evidence.accuracy.training_compare import Mode
from perfmodel.evidence.accuracy.training_rows import Run
from perfmodel.model.prediction.names import accelerator_name, network_name

FILTERS = ("source", "workload", "accelerator", "strategy", "trust")


@cache
def rows(mode: Mode) -> tuple[Row, ...]:
    """Return all shipped runs with out-of-sample predictions, each by a fit to all other sources."""
    return tuple(shipped_rows(mode))


@cache
def addresses() -> dict[str, str]:
    """Return source -> address of its publication."""
    with (folder("validation") / "sources.csv").open(encoding="utf-8") as file:
        addresses = {row["key"]: row["address"].split()[0] for row in csv.DictReader(file)}
    return {key: address for key, address in addresses.items() if address.startswith("https://")}


def known(name: str) -> list[str]:
    """Return the possible values of a filter."""
    return sorted({str(getattr(run, name)) for run in shipped_runs()})


def filtered(mode: Mode, wanted: Mapping[str, Sequence[str]]) -> list[Row]:
    """Return the rows that pass all filters, given as field -> allowed values; an empty filter allows all."""
    return [
        row
        for row in rows(mode)
        if all(str(getattr(row.run, name)) in words for name, words in wanted.items() if words)
    ]


def misses_first(rows: Iterable[Row]) -> list[Row]:
    """Return the predicted rows, those with the largest error factor first."""
    predicted = [row for row in rows if row.error is not None]
    return sorted(predicted, key=lambda row: -abs(math.log1p(row.error or 0.0)))


def off_words(error: float) -> str:
    """Return how far off a predicted time is: in per cent, from a factor of 2 on as a factor.

    >>> off_words(-0.915), off_words(-0.3), off_words(0.12), off_words(1.5)
    ('12 x too fast', '30 % too fast', '12 % too slow', '2.5 x too slow')
    """
    way, factor = ("too fast", 1 / (1 + error)) if error < 0 else ("too slow", 1 + error)
    if factor >= 2:
        return f"{factor:.0f} x {way}" if factor >= 10 else f"{factor:.2g} x {way}"
    return f"{abs(error):.0%} {way}".replace("%", " %")


@cache
def _explained() -> dict[tuple[str, str], str]:
    """Return kind and name of a family of ``misses.md`` -> the first sentence of its entry."""
    text = (folder("validation") / "misses.md").read_text("utf-8")
    return {
        (kind, name.strip()): " ".join(words.split(". ")[0].split())
        for kind, names, words in re.findall(r"^## ([a-z-]+): (.+?)\n\n(.+?)(?=\n\n)", text, re.M | re.S)
        for name in names.split(",")
    }


def why(run: Run) -> str:
    """Return what is known of a run's error, by network, source or accelerator; else the run's own note."""
    families = (("workload", run.workload), ("source", run.source), ("accelerator", run.accelerator))
    known = next((_explained()[each] for each in families if each in _explained()), "")
    return known or run.note or "not explained"


def misses_table(rows: Iterable[Row]) -> list[dict[str, Any]]:
    """Return rows as a table for display: the case in words, why, and where it was measured."""
    return [
        {
            "case": f"{network_name(row.run.workload)}, {row.run.world_size} x "
            f"{accelerator_name(row.run.accelerator)}: {off_words(row.error or 0.0)}",
            "why, or what its source says": why(row.run),
            "precision": row.run.precision,
            "batch": row.run.local_batch_size,
            "strategy": row.run.strategy,
            "measured": show(measured_time(row.run) or 0.0, "s"),
            "predicted": show(row.predicted or 0.0, "s"),
            "source": addresses().get(row.run.source),
            "where": row.run.locator,
            "trust": row.run.trust,
            "run": row.run.run_id,
        }
        for row in rows
    ]


def table(rows: Iterable[Row]) -> list[dict[str, Any]]:
    """Return rows as a table for display, with the addresses of their sources."""
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
    """Return the text of ``validation/report.md``."""
    return (folder("validation") / "report.md").read_text("utf-8")


@cache
def section(heading: str) -> str:
    """Return the text of one section of the report; "" if it has none of that heading."""
    match = re.search(rf"^## {re.escape(heading)}\n(.*?)(?=^## |\Z)", report(), re.DOTALL | re.MULTILINE)
    return match[1].strip() if match else ""


@cache
def misses() -> str:
    """Return the text of ``validation/misses.md``, the model's explained errors, with smaller headings."""
    text = (folder("validation") / "misses.md").read_text("utf-8")
    return re.sub(r"^#+ ", "##### ", text, flags=re.MULTILINE)
