"""The naive baseline: an accelerator is used as well as others of its kind were.

The other naive answer, linear scaling, needs no code: the iteration of one accelerator, unchanged.
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
    """Return the naive iteration time [s] of any run, None where nothing can be said.

    It is that of the median utilisation of its accelerator in its precision, taken from other sources only.
    Where no other source measured that pair, the precision's; where none did, that of all runs.  Learned
    from the runs at world size 1 of trust A and B, so that the naive answer is out of sample as well.
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
    """Time at the peak of one accelerator [s]; gradients travel for nothing."""
    try:
        scenario_of_run(run, catalogue)
        peak, _ = catalogue.accelerator(run.accelerator).training_peak(run.precision)
    except (Refused, InputError):
        return None
    samples = (run.local_batch_size or 0) * run.accumulation_steps
    return samples * workload_named(run.workload, run.sequence_length).training_flops / peak


def _keys(run: Run) -> tuple[tuple[str, str], ...]:
    """Groups a run belongs to, the closest first."""
    return (run.accelerator, run.precision), ("", run.precision), ("", "")
