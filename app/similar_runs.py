"""Measured runs of the same network on the same accelerator as a prediction."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from perfmodel.evidence.accuracy import Run

SHOWN = 8


def family(scenario: Mapping[str, Any]) -> list[Run]:
    """Return the measured runs of a scenario's network and accelerator, the most similar first.

    Runs of the same precision and strategy come first, then those with the nearest number of GPUs.
    """
    from perfmodel.evidence.accuracy import shipped_runs
    from perfmodel.evidence.accuracy.scenarios import measured_time

    similar = [
        run
        for run in shipped_runs()
        if run.workload == scenario["workload"]
        and run.accelerator == scenario["accelerator"]
        and run.trust != "D"
        and measured_time(run) is not None
    ]
    return sorted(
        similar,
        key=lambda run: (
            run.precision != scenario["precision"],
            run.world_size > 1 and run.strategy != scenario["strategy"],
            abs(run.world_size - scenario["world_size"]),
            abs((run.local_batch_size or 0) - scenario["local_batch_size"]),
        ),
    )


def rows(runs: Sequence[Run]) -> list[dict[str, Any]]:
    """Return runs as a table for display."""
    from perfmodel.evidence.accuracy.scenarios import measured_time

    return [
        {
            "GPUs": run.world_size,
            "iteration [s]": measured_time(run),
            "samples/s": run.samples_per_second,
            "precision": run.precision,
            "batch per GPU": run.local_batch_size,
            "strategy": run.strategy,
            "network": run.inter_link or "-",
            "year": run.year,
            "source": run.source,
            "where": run.locator,
        }
        for run in runs
    ]
