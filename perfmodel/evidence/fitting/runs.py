"""Hardware and software of measured runs, and the ranges of their sizes."""

from __future__ import annotations

from collections.abc import Sequence

from perfmodel.evidence.accuracy.measured_runs import Measured
from perfmodel.model.prediction.intervals.widening import local_batch_of, software_of
from perfmodel.model.prediction.limits import crossed_link


def seen(rows: Sequence[Measured]) -> dict[str, frozenset[str]]:
    """Return the accelerators, links and software that runs used."""
    return {
        "accelerator": frozenset(row.setting.accelerator.id for row in rows),
        "link": frozenset(crossed_link(row.setting).id for row in rows if row.run.world_size > 1),
        "software": frozenset(software_of(row.setting) for row in rows),
    }


def reach(rows: Sequence[Measured]) -> dict[str, tuple[float, float]]:
    """Return the smallest and largest world size of runs, and local batch size of each network."""
    values: dict[str, list[float]] = {}
    for row in rows:
        values.setdefault("world size", []).append(row.setting.world_size)
        values.setdefault(local_batch_of(row.setting), []).append(row.setting.local_batch_size)
    return {name: (min(of), max(of)) for name, of in values.items()}
