"""Learn what step times share, what is independent between ranks, and rare stalls, from measured runs.

One accelerator's times alone (``single_processes``) tell how far steps spread, not what a job pays for it: a
job pays the wait for its slowest rank, which grows with ranks by the part of the spread that is independent,
and a slowdown of all ranks, which does not grow.  Measured runs on 2 to 128 ranks tell them apart.

Every source has numbers of its own, which scatter around the typical ones as far as single processes of
different sources do: a source counts once, however many rows it has.
"""

from __future__ import annotations

import math
from collections import Counter, defaultdict
from collections.abc import Collection, Mapping, Sequence
from functools import cache
from typing import NamedTuple

import numpy as np

from perfmodel.core.arrays import Array
from perfmodel.core.files.resources import folder
from perfmodel.equations.distribution import Distribution
from perfmodel.equations.slowest_worker import straggler_factor
from perfmodel.evidence.accuracy.anchors import Anchors
from perfmodel.evidence.accuracy.by_source import by_source
from perfmodel.evidence.accuracy.ledger.held_out import learned_part
from perfmodel.evidence.accuracy.ledger.ledger import ledger
from perfmodel.evidence.accuracy.measured_runs import measured
from perfmodel.evidence.accuracy.measured_table import records
from perfmodel.evidence.accuracy.scenarios import scenario_of_run
from perfmodel.evidence.accuracy.training_rows import TRUSTED, Run, read_runs, shipped_runs
from perfmodel.hardware.catalogue.store import Catalogue
from perfmodel.model.fitted.calibration import NORMAL_80, Calibration
from perfmodel.model.prediction import time_of
from perfmodel.model.setting.resolve import resolve

NAMES = {
    "synthetic": ("jitter", "stall_probability", "shared_slowdown"),
    "real": ("loader_jitter", "loader_stall_probability", "loader_slowdown"),
}
"""Input of runs on several ranks -> numbers that they determine, in the order of the axes of a likelihood."""
SINGLE = ("jcjohnson", "ryujaehun")
"""Sources of the steps of single processes."""
BEYOND = 5.0
"""Distance of a stall from the median step, in standard deviations of the others."""
AXES = (
    np.geomspace(3e-4, 0.06, 24),
    np.geomspace(3e-5, 0.1, 14),
    np.geomspace(1e-3, 0.15, 20),
)
"""Values of each number at which the likelihood is computed."""
SLOWDOWN = (math.log(0.02), 1.0)
"""Mean and standard deviation of the logarithm of the slowdown: a fiftieth, within a factor of 3."""
NARROWEST = 0.5
"""Least standard deviation of the logarithm of a number between sources; two sources may agree by chance."""
REPEATS = 0.01
"""Relative deviation of the mean time of a run between repeats (assumed)."""
COMMUNICATION = 0.3
"""Relative error of predicted exposed communication, of each row and common to a series (assumed)."""
LEVEL = 0.02
"""Error of a series that is not of its communication: its anchor's (assumed)."""
FREEDOM = 4.0
"""Degrees of freedom of Student's law: a series far off counts little."""
HIDDEN = 1e-6
"""Least share of a step that a spread stretches; all of it may hide behind waiting for samples."""
FULL_WEIGHT_ROWS = 40
"""Largest weight of a source, in rows."""


class SingleProcess(NamedTuple):
    """Typical number of single processes: mean and deviation over sources of its logarithm."""

    mean: float
    deviation: float


@cache
def single_processes(without: frozenset[str] = frozenset()) -> dict[str, SingleProcess]:
    """Return what steps of one accelerator tell: ``jitter``, ``stall_probability`` and ``stall_length``.

    Of each configuration the spread is that of its 50 and 90 % quantiles, which stalls do not move; it
    stalled if its longest step is ``BEYOND`` spreads above the median.  Medians of the configurations of a
    source, then the mean of the logarithms over sources.

    Parameters
    ----------
    without : sources to leave out; if none is left, all count
    """
    rows = [
        (row["source"], {key: float(row[key]) for key in ("samples", "p50", "p90", "maximum")})
        for row in records(folder("validation") / "measured" / "iteration_jitter.csv")
        if row["kind"] == "step-to-step" and row["world_size"] == "1" and row["source"] in SINGLE
    ]
    kept = [(source, row) for source, row in rows if source not in without] or rows
    of_source: dict[str, list[float]] = defaultdict(list)
    for each in by_source(kept).values():
        spreads = [(row["p90"] / row["p50"] - 1) / NORMAL_80 for row in each]
        longest = [row["maximum"] / row["p50"] - 1 for row in each]
        stalls = [size for size, spread in zip(longest, spreads, strict=True) if size > BEYOND * spread > 0]
        steps = float(np.median([row["samples"] for row in each]))
        of_source["jitter"].append(float(np.median(spreads)))
        of_source["stall_probability"].append(1 - (1 - len(stalls) / len(each)) ** (1 / steps))
        of_source["stall_length"].append(float(np.median(stalls)))
    result = {}
    for name, values in of_source.items():
        logs = np.log(values)
        deviation = float(logs.std(ddof=1)) if len(logs) > 1 else 1.0
        result[name] = SingleProcess(float(logs.mean()), max(deviation, NARROWEST))
    return result


class Row(NamedTuple):
    """A measured run on several ranks, and its prediction without any spread."""

    run_id: str
    source: str
    input: str
    """``synthetic`` or ``real``: loaders of ranks share a host."""
    series: tuple[object, ...]
    """What it has in common with runs on other numbers of ranks of the same links."""
    world_size: int
    time: float
    """Measured iteration time [s]."""
    still: float
    """Predicted without spread and slowdown [s]."""
    busy: float
    """What a spread stretches: the predicted step of one rank [s]."""


def predicted_runs() -> list[Run]:
    """Return the shipped runs that fits may learn from: those not held out, and those with a ledger entry.

    Unlike other fits this one learns from all sources: few have many ranks.
    """
    known, predicted = {run.run_id for run in shipped_runs()}, {entry.id for entry in ledger()}
    every = read_runs(learned_part("training_runs.csv")[0])
    return [run for run in every if run.run_id in known or run.run_id in predicted]


def rows_of(runs: Sequence[Run], catalogue: Catalogue, constants: Calibration) -> list[Row]:
    """Return the runs on several ranks that tell how much their steps spread, with their predictions.

    They exchange gradients by all-reduces, and are not predicted to wait for samples.  Each starts from the
    time of one accelerator; several nodes without one still tell how the time grows.

    Parameters
    ----------
    runs : measured runs
    catalogue : of their hardware
    constants : learned numbers, whose spread is not used
    """
    still = constants._replace(jitter=0.0, shared_slowdown=0.0, loader_jitter=0.0, loader_slowdown=0.0)
    stretched, anchors = still._replace(shared_slowdown=1.0, loader_slowdown=1.0), Anchors(runs)
    result = []
    for row in measured([run for run in runs if _tells(run)], catalogue, unseen=frozenset()):
        run, anchor = row.run, anchors.of(row.run)
        if not (anchor.unique if anchor is not None else run.nodes > 1):
            continue
        time = None if anchor is None else anchor.iteration_time
        setting = resolve(scenario_of_run(run, catalogue, time), catalogue)
        at_rest = time_of(setting, still)
        busy = time_of(setting, stretched) - at_rest
        if busy < HIDDEN * at_rest:
            continue
        which = run.run_id, run.source, run.input, _series(run, time), run.world_size
        result.append(Row(*which, row.time, at_rest, busy))
    return result


def _tells(run: Run) -> bool:
    """Return whether a run's time depends on the spread of steps and on little else that is unknown."""
    several = run.world_size > 1 and run.strategy == "all-reduce"
    return several and run.trust in TRUSTED and run.input in NAMES


def _series(run: Run, anchor: float | None) -> tuple[object, ...]:
    """Return what runs have in common that differ in the number of nodes, or of ranks of one node."""
    between = (run.inter_link, run.accelerators_per_node) if run.nodes > 1 else ()
    job = run.framework, run.workload, run.sequence_length, run.precision, run.overlap
    batch = run.local_batch_size, run.accumulation_steps
    return (*job, *batch, run.accelerator, run.intra_link, *between, anchor)


class Learned(NamedTuple):
    """Learned numbers by name, with the standard deviations of their logarithms."""

    numbers: dict[str, float]
    deviations: dict[str, float]


class StragglerFit:
    """The fit to runs on several ranks, and fits to a part of them."""

    def __init__(self, rows: Sequence[Row]) -> None:
        """Compute the likelihood of every series at every point of the grid.

        Parameters
        ----------
        rows : measured runs
        """
        series = by_source(((row.source, row.input, row.series), row) for row in rows)
        counts = Counter((row.source, row.input) for row in rows)
        factors = _factors(sorted({row.world_size for row in rows}))
        self.sources = sorted({row.source for row in rows})
        self._series = [
            _Series(
                *key[:2],
                frozenset(row.run_id for row in each),
                _loss(each, factors) * min(1.0, FULL_WEIGHT_ROWS / counts[key[:2]]),
            )
            for key, each in series.items()
        ]

    def learned(self, without: Collection[str] = (), only: Collection[str] | None = None) -> Learned:
        """Return the learned numbers, to four digits, and how well they are known.

        Parameters
        ----------
        without : sources to leave out
        only : ids of the runs that may be used: series with others are left out; by default all
        """
        numbers: dict[str, float] = {}
        deviations: dict[str, float] = {}
        priors = _priors(without)
        for given, names in NAMES.items():
            weight = self._posterior(given, priors, without, only)
            for axis, name in enumerate(names):
                logs, share = np.log(AXES[axis]), weight.sum(axis=tuple({0, 1, 2} - {axis}))
                mean = float(share @ logs)
                numbers[name], deviations[name] = math.exp(mean), math.sqrt(float(share @ (logs - mean) ** 2))
        single = single_processes(frozenset(without))
        length, whole = single["stall_length"], math.exp(single["jitter"].mean)
        numbers["stall_length"], deviations["stall_length"] = math.exp(length.mean), length.deviation
        numbers["shared_jitter"] = math.sqrt(max(whole**2 - numbers["jitter"] ** 2, 0.0))
        rounded = ({name: float(f"{each:.4g}") for name, each in of.items()} for of in (numbers, deviations))
        return Learned(*rounded)

    def _posterior(
        self,
        given: str,
        priors: Sequence[SingleProcess],
        without: Collection[str],
        only: Collection[str] | None,
    ) -> Array:
        """Return the probability of every point of the grid, by runs with one kind of input."""
        of_source: dict[str, Array] = {}
        for each in self._series:
            left_out = each.source in without or (only is not None and not each.members <= set(only))
            if each.input == given and not left_out:
                of_source[each.source] = of_source.get(each.source, np.zeros(())) + each.density
        score = np.zeros(tuple(map(len, AXES)))
        for density in of_source.values():
            score = score + _of_typical(density, priors)
        for axis, (values, prior) in enumerate(zip(AXES, priors, strict=True)):
            shape = [-1 if axis == other else 1 for other in range(len(AXES))]
            score = score - (((np.log(values) - prior.mean) / prior.deviation) ** 2 / 2).reshape(shape)
        weight = np.exp(score - score.max())
        return np.asarray(weight / weight.sum())

    def shares(self) -> dict[str, dict[str, float]]:
        """Return by number each source's share of the information: how much it alone narrows the number."""
        before = dict(zip(NAMES["synthetic"], _priors(), strict=True))
        gained: dict[str, dict[str, float]] = {name: {} for names in NAMES.values() for name in names}
        for source in self.sources:
            alone = self.learned(without=[other for other in self.sources if other != source]).deviations
            for names in NAMES.values():
                for name, prior in zip(names, before.values(), strict=True):
                    gained[name][source] = max(alone[name] ** -2 - prior.deviation**-2, 0.0)
        result = {}
        for name, of in gained.items():
            order = sorted(of, key=lambda source: -of[source])
            whole = sum(of.values()) or 1.0
            result[name] = {
                source: round(of[source] / whole, 2) for source in order if of[source] > 0.02 * whole
            }
        alone = {name: round(1 / len(SINGLE), 2) for name in SINGLE}
        return result | {"stall_length": alone, "shared_jitter": dict(alone)}


class _Series(NamedTuple):
    """A series of runs, with the logarithm of the density of its errors at every point of the grid."""

    source: str
    input: str
    members: frozenset[str]
    density: Array


def _priors(without: Collection[str] = ()) -> list[SingleProcess]:
    """Return the priors of the numbers along the axes."""
    single = single_processes(frozenset(without))
    return [single["jitter"], single["stall_probability"], SingleProcess(*SLOWDOWN)]


def _factors(sizes: Sequence[int]) -> dict[int, Array]:
    """Return the slowest rank's mean time over the mean of one at every spread and stall rate, by ranks."""
    length = math.exp(single_processes()["stall_length"].mean)
    laws = [[Distribution("stalling", (1.0, cv, p, length)) for p in AXES[1]] for cv in AXES[0].tolist()]
    return {n: np.array([[straggler_factor(law, n) for law in of] for of in laws])[:, :, None] for n in sizes}


def _loss(rows: Sequence[Row], factors: Mapping[int, Array]) -> Array:
    """Return the logarithm of Student's density of a series' errors, less a constant, at every point.

    The errors of a series have a part in common: that of its anchor and of its communication.
    """
    logs = [
        np.log(row.time / (row.still + row.busy * (factors[row.world_size] - 1 + AXES[2]))) for row in rows
    ]
    errors = np.stack(logs)
    talk = np.array([max(row.still / row.busy - 1, 0.0) for row in rows])
    own = np.diag(REPEATS**2 + (COMMUNICATION * talk) ** 2)
    inverse = np.linalg.inv(own + LEVEL**2 + COMMUNICATION**2 * np.outer(talk, talk))
    square = np.einsum("i...,ij,j...->...", errors, inverse, errors)
    density: Array = -(FREEDOM + len(rows)) / 2 * np.log1p(square / FREEDOM)
    return density


def _of_typical(density: Array, priors: Sequence[SingleProcess]) -> Array:
    """Return the logarithm of the density by typical numbers, around which a source's own scatter."""
    most = density.max()
    likelihood = np.exp(density - most)
    for axis, (values, prior) in enumerate(zip(AXES, priors, strict=True)):
        logs = np.log(values)
        kernel = np.exp(-(((logs[:, None] - logs[None, :]) / prior.deviation) ** 2) / 2)
        kernel /= kernel.sum(axis=1, keepdims=True)
        likelihood = np.moveaxis(np.tensordot(kernel, likelihood, axes=(1, axis)), 0, axis)
    return np.asarray(np.log(np.maximum(likelihood, 1e-300)) + most)
