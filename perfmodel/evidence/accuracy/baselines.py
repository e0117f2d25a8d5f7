"""The naive baseline: every accelerator reaches the median utilisation of accelerators of its model.

The other naive baseline, linear scaling, needs no code: the iteration time of one accelerator, unchanged.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import cache
from statistics import median

from perfmodel.core.errors import InputError
from perfmodel.evidence.accuracy.by_source import by_source
from perfmodel.evidence.accuracy.scenarios import Refused, measured_time, scenario_of_run
from perfmodel.evidence.accuracy.training_rows import TRUSTED, Run
from perfmodel.hardware.catalogue.store import Catalogue
from perfmodel.workloads import workload as workload_named


def constant_utilisation(runs: Iterable[Run], catalogue: Catalogue) -> Callable[[Run], float | None]:
    """Return a function from a run to its naive iteration time [s], None if its time at peak is unknown.

    The naive time is the time at peak FLOP/s over the median utilisation that other sources measured with the
    same accelerator and precision; if there are none, with the same precision; if there are none, in all
    runs.  Utilisations come from runs of trust A and B on one accelerator.  The source of the run itself is
    left out, so that the baseline is out of sample, too.
    """
    alone = [run for run in runs if run.world_size <= 1 and run.trust in TRUSTED]
    measured = by_source(
        (key, (run.source, ideal / time))
        for run in alone
        if (time := measured_time(run)) and (ideal := _ideal_time(run, catalogue)) is not None
        for key in _keys(run)
    )

    @cache
    def utilisation(key: tuple[str, str], source: str) -> float | None:
        others = [share for other, share in measured.get(key, []) if other != source]
        return median(others) if others else None

    def iteration_time(run: Run) -> float | None:
        ideal = _ideal_time(run, catalogue)
        share = next((share for key in _keys(run) if (share := utilisation(key, run.source))), None)
        return ideal / share if ideal is not None and share else None

    return iteration_time


def _ideal_time(run: Run, catalogue: Catalogue) -> float | None:
    """Return the iteration time at the peak FLOP/s of one accelerator [s], without communication.

    None if the run cannot be read as a scenario.
    """
    try:
        scenario_of_run(run, catalogue)
        peak, _ = catalogue.accelerator(run.accelerator).training_peak(run.precision)
    except (Refused, InputError):
        return None
    samples = (run.local_batch_size or 0) * run.accumulation_steps
    return samples * workload_named(run.workload, run.sequence_length).training_flops / peak


def _keys(run: Run) -> tuple[tuple[str, str], ...]:
    """Return the groups (accelerator, precision) that a run belongs to, the closest first; "" matches any."""
    return (run.accelerator, run.precision), ("", run.precision), ("", "")
