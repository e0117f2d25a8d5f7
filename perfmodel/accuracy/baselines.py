"""The naive baseline: an accelerator is used as well as others of its kind were.

The other naive answer, linear scaling, needs no code: the iteration of one accelerator, unchanged.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
from functools import lru_cache
from statistics import median

from perfmodel.accuracy.runs import Run
from perfmodel.accuracy.scenarios import Refused, measured_time, scenario_of_run
from perfmodel.errors import InputError
from perfmodel.specs.store import Catalogue
from perfmodel.workloads import workload as workload_named


class ConstantUtilisation:
    """The median utilisation of one accelerator in one precision, taken from other sources only.

    Where no other source measured that pair, the precision's; where none did, that of all runs.  Learned
    from the runs at world size 1 of trust A and B, so that the naive answer is out of sample as well.
    """

    def __init__(self, runs: Iterable[Run], catalogue: Catalogue) -> None:
        """Learn from ``runs``; those that cannot be asked for are passed over."""
        self._catalogue = catalogue
        self._measured: dict[tuple[str, str], list[tuple[str, float]]] = defaultdict(list)
        for run in runs:
            time = measured_time(run)
            if run.world_size > 1 or run.trust not in ("A", "B") or time is None:
                continue
            ideal = self._ideal_time(run)
            if ideal is not None:
                for key in _keys(run):
                    self._measured[key].append((run.source, ideal / time))
        self._utilisation = lru_cache(maxsize=None)(self._utilisation_without)

    def iteration_time(self, run: Run) -> float | None:
        """Return the naive iteration time [s], or None where nothing can be said."""
        ideal = self._ideal_time(run)
        if ideal is None:
            return None
        for key in _keys(run):
            share = self._utilisation(key, run.source)
            if share is not None:
                return ideal / share
        return None

    def _utilisation_without(self, key: tuple[str, str], source: str) -> float | None:
        others = [share for other, share in self._measured.get(key, []) if other != source]
        return median(others) if others else None

    def _ideal_time(self, run: Run) -> float | None:
        """Time at the peak of one accelerator [s]; gradients travel for nothing."""
        try:
            scenario_of_run(run, self._catalogue)
            peak, _ = self._catalogue.accelerator(run.accelerator).training_peak(run.precision)
        except (Refused, InputError):
            return None
        samples = (run.local_batch_size or 0) * run.accumulation_steps
        return samples * workload_named(run.workload, run.sequence_length).training_flops / peak


def _keys(run: Run) -> tuple[tuple[str, str], ...]:
    """Groups a run belongs to, the closest first."""
    return (run.accelerator, run.precision), ("", run.precision), ("", "")
