"""The measured runs that can be learned from."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import NamedTuple

from perfmodel.accuracy.held_out import UNSEEN
from perfmodel.accuracy.runs import TRUSTED, Run
from perfmodel.accuracy.scenarios import Refused, measured_time, scenario_of_run
from perfmodel.errors import InputError
from perfmodel.prediction.interval import local_batch_of, software_of
from perfmodel.prediction.limits import crossed_link
from perfmodel.resolve import Setting, resolve
from perfmodel.specs.store import Catalogue


class Measured(NamedTuple):
    """A run, the setting the model takes it for, and what it took."""

    run: Run
    setting: Setting
    time: float
    """Measured iteration time [s]."""


def measured(runs: Iterable[Run], catalogue: Catalogue) -> list[Measured]:
    """Return the trusted runs that the model can be asked for, in order, but for those of ``UNSEEN``."""
    result = []
    for run in runs:
        time = measured_time(run)
        if run.trust not in TRUSTED or time is None or run.source in UNSEEN:
            continue
        try:
            result.append(Measured(run, resolve(scenario_of_run(run, catalogue), catalogue), time))
        except (Refused, InputError):
            continue  # validate names each of them, with the reason
    return result


def seen(rows: Sequence[Measured]) -> dict[str, frozenset[str]]:
    """Return what runs were made with, by kind."""
    return {
        "accelerator": frozenset(row.setting.accelerator.id for row in rows),
        "link": frozenset(crossed_link(row.setting).id for row in rows if row.run.world_size > 1),
        "software": frozenset(software_of(row.setting) for row in rows),
    }


def reach(rows: Sequence[Measured]) -> dict[str, tuple[float, float]]:
    """Return the smallest and largest world size of runs, and local batch of each network."""
    values: dict[str, list[float]] = {}
    for row in rows:
        values.setdefault("world size", []).append(row.setting.world_size)
        values.setdefault(local_batch_of(row.setting), []).append(row.setting.local_batch_size)
    return {name: (min(of), max(of)) for name, of in values.items()}
