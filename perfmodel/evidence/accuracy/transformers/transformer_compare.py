"""Predict measured runs of transformers, in sample or each source by a fit to the others; summarise."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from functools import cache
from statistics import fmean, median
from typing import Any, NamedTuple, TypeAlias

import numpy as np

from perfmodel.core.arrays import Array
from perfmodel.evidence.accuracy.campaign import Mode, Outcome
from perfmodel.evidence.accuracy.ledger.anchoring import anchored
from perfmodel.evidence.accuracy.measured_runs import shipped_whole_transformers
from perfmodel.evidence.accuracy.report.error_statistics import by_group, counts, statistics, trusted
from perfmodel.evidence.accuracy.training_rows import TRUSTED
from perfmodel.evidence.accuracy.transformers.transformer_fit import Data, data_of, fit, left_out, spreads
from perfmodel.evidence.accuracy.transformers.transformer_novelty import novelty_of
from perfmodel.evidence.accuracy.transformers.transformer_rows import (
    SELECTIVE_SOURCES,
    TransformerRun,
    shipped_transformer_runs,
)
from perfmodel.model.fitted.calibration import NORMAL_80
from perfmodel.model.transformers.job import Job
from perfmodel.model.transformers.levels import learned as learned_levels
from perfmodel.model.transformers.parameters import fitted
from perfmodel.model.transformers.step import step_of

ALONE = "unanchored: no other run of this network and source"
"""Reason why a run has no anchored prediction."""


class Row(Outcome):
    """Measured and predicted time of a step of a transformer; times in seconds."""

    run: TransformerRun
    """The measured run."""

    def to_dict(self) -> dict[str, Any]:
        """Return the row as a dictionary for JSON; times in seconds."""
        run = self.run
        return {
            "run_id": run.run_id,
            "source": run.source,
            "workload": run.workload,
            "accelerator": run.accelerator,
            "world_size": run.case and float(run.case.layout.world_size),
            "class": run.kind or None,
            "measured_iteration_time": run.time if run.time > 0 and run.states_batch else None,
            "predicted_iteration_time": self.predicted,
            "measured_tokens_per_second": run.tokens / run.time if run.time > 0 else None,
            "predicted_tokens_per_second": run.tokens / self.predicted if self.predicted else None,
            **self.ends,
            "mode": self.mode,
            "anchor": self.anchor,
            "nearest_stack": run.nearest_stack or None,
            "reason": self.reason,
        }


def compare_transformers(
    measured: Sequence[TransformerRun], modes: Sequence[Mode] = ("specs",), out_of_sample: bool = False
) -> list[list[Row]]:
    """Predict each run in each mode, by the shipped fit or, out of sample, by a fit without its source.

    Out of sample, the width of a source's intervals and the weight of its anchors also come from the other
    sources.  The fits that predicted those had seen this source, so that its rows have some per cent of
    influence on both.

    Parameters
    ----------
    measured : runs; those without a case stay in, with their reason
    modes : ``specs``, or ``anchored`` on the most similar other run of the same network and source
    out_of_sample : whether each source is predicted by a fit to the others

    Returns
    -------
    rows for each mode, in the order of ``measured``
    """
    able = [run for run in measured if run.case is not None]
    if not able:
        return [[_row(run, mode) for run in measured] for mode in modes]
    data, result = data_of(able), []
    alone = _out_of_sample(able, data) if out_of_sample else _by_shipped_fit(able, data)
    naive = _naive_times(data).tolist()
    for mode in modes:
        logs, spreads = _anchored(able, data, *alone, out_of_sample) if mode == "anchored" else alone
        predictions = zip(able, logs.tolist(), spreads, naive, strict=True)
        known = {id(run): _row(run, mode, *prediction) for run, *prediction in predictions}
        result.append([known.get(id(run)) or _row(run, mode) for run in measured])
    return result


LogTimes: TypeAlias = tuple[Array, list[float]]
"""Predictions of runs, shape (runs,): ln(predicted time [s]), not a number if a run has no anchor, and
standard deviations of ln(measured / predicted)."""


def _by_shipped_fit(able: list[TransformerRun], data: Data) -> LogTimes:
    """Return predictions of runs by the shipped fit; each run must have a case."""
    with np.errstate(divide="ignore", invalid="ignore"):
        logs = np.log(step_of(data.jobs, fitted().parameters).iteration_time)
    return logs, [_spread(run, fitted().spreads) for run in able]


def _spread(run: TransformerRun, spreads: Mapping[str, float]) -> float:
    """Return the standard deviation of the error of a run predicted from specs, by the spreads of classes."""
    return float(novelty_of(run).spread_by(spreads, run.kind))


def _out_of_sample(able: list[TransformerRun], data: Data) -> LogTimes:
    """Return predictions of runs, each by a fit to the other sources."""
    trusted = np.array([run.trust in TRUSTED for run in able])
    learned, whole = data.rows(trusted), shipped_whole_transformers()
    every = data_of([*able, *whole])
    usable = np.append(trusted, np.ones(len(whole), dtype=bool))
    logs = left_out(every, fit(every.rows(usable)), usable)[: len(able)]
    each = {source: spreads(learned, logs[trusted], source) for source in np.unique(data.sources).tolist()}
    return logs, [_spread(run, each[run.source]) for run in able]


def _anchored(
    able: list[TransformerRun], data: Data, logs: Array, spreads: list[float], out_of_sample: bool
) -> LogTimes:
    """Return predictions of runs, corrected by the most similar other run of the same network and source."""
    names = np.unique(data.sources).tolist()
    levels = {name: learned_levels(name if out_of_sample else None) for name in names}
    stretch = np.array([novelty_of(run).stretch for run in able])
    corrected = anchored(able, data.logs - logs, np.array(spreads) / stretch, levels)
    shifted = np.where(corrected.is_anchored, logs + corrected.shifts, np.nan)
    return shifted, (stretch * corrected.spreads).tolist()


def _row(
    run: TransformerRun,
    mode: Mode,
    log: float = math.nan,
    spread: float = 0.0,
    naive: float | None = None,
) -> Row:
    """Return a run with its prediction and 80 % interval, or with the reason why there is none.

    Parameters
    ----------
    run : measured run
    mode : of the prediction
    log : ln(predicted time [s]); not a number if there is no prediction
    spread : standard deviation of ln(measured / predicted)
    naive : time by the naive baseline [s]
    """
    row = Row(None if math.isnan(run.time) else run.time, mode=mode, run=run)
    if math.isnan(log):
        return row._replace(reason=run.reason or ALONE)
    time, near = math.exp(log), math.exp(NORMAL_80 * spread)
    row = row._replace(predicted=time, naive=naive, low_80=time / near, high_80=time * near)
    return row._replace(anchor="unique" if mode == "anchored" else None)


def _naive_times(data: Data) -> Array:
    """Return naive times [s]: the ideal times over one utilisation, the median over the other sources."""
    ratios = data.logs - np.log(_ideal_times(data.jobs))
    of = {
        source: float(np.median(ratios[data.sources == source]))
        for source in np.unique(data.sources).tolist()
    }
    known = {source: median([r for s, r in of.items() if s != source] or [math.log(2.5)]) for source in of}
    return np.asarray(np.exp(data.logs - ratios + [known[source] for source in data.sources.tolist()]))


def _ideal_times(jobs: Job) -> Array:
    """Return the time of a step's products, recomputed ones included, at the best measured rate [s]."""
    layout = jobs.layout
    rate = np.where(jobs.stack.narrow, jobs.chip.product_rate_narrow, jobs.chip.product_rate)
    return np.asarray(jobs.flops(3 + layout.recomputed_layers) / (layout.world_size * rate))


KEYS: dict[str, Callable[[Row], str]] = {
    "source": lambda row: row.run.source,
    "accelerator": lambda row: row.run.accelerator,
    "class": lambda row: row.run.kind,
    "world-size": lambda row: _world_size_range(row.run),
}
"""Name of a grouping -> function from a row to the label of its group."""


def _world_size_range(run: TransformerRun) -> str:
    """Return the range between powers of four that contains the run's world size, such as "4 to 15"."""
    world = float(run.case.layout.world_size) if run.case is not None else 1.0
    least = 4 ** int(math.log(world, 4) + 1e-9)
    return f"{least} to {4 * least - 1}"


class Comparison(NamedTuple):
    """Predicted runs in one mode, and the summary of their errors."""

    rows: list[Row]
    summary: dict[str, Any]


def compared(
    read: Callable[[bool], Sequence[TransformerRun]],
    modes: Sequence[Mode] = ("specs",),
    out_of_sample: bool = False,
) -> list[Comparison]:
    """Predict runs in each mode and summarise the errors.

    If some runs come from a source whose statement of recomputation is not taken at its word, the summaries
    also have the main errors with all rows read as stated.

    Parameters
    ----------
    read : returns the runs; its argument says whether to read rows as stated
    modes, out_of_sample : as in ``compare_transformers``
    """
    runs = read(False)
    usual = compare_transformers(runs, modes, out_of_sample)
    result = [
        Comparison(rows_of, {"mode": mode, **summarise_transformers(rows_of), "as_stated": None})
        for mode, rows_of in zip(modes, usual, strict=True)
    ]
    if any(run.source in SELECTIVE_SOURCES for run in runs):
        other = compare_transformers(read(True), modes, out_of_sample)
        for each, rows_of in zip(result, other, strict=True):
            again = summarise_transformers(rows_of)
            each.summary["as_stated"] = {name: again[name] for name in ("all", STATED_NODES, "regret")}
    return result


@cache
def shipped_out_of_sample() -> list[Comparison]:
    """Return the shipped runs, each source predicted by a fit to the others, in both modes; computed once."""
    return compared(shipped_transformer_runs, ("specs", "anchored"), out_of_sample=True)


STATED_NODES = "dense, stated layout, several nodes"


def summarise_transformers(compared: Sequence[Row]) -> dict[str, Any]:
    """Return error statistics of rows, by the groups of ``KEYS`` too, and the regret of layouts.

    Rows of trust C count in ``untrusted`` alone.
    """
    able = [row for row in compared if row.predicted is not None]
    sure = [row for row in able if trusted(row)]
    stated = [
        row
        for row in sure
        if row.run.case is not None
        and row.run.states_layout
        and row.run.kind != "experts"
        and row.run.case.nodes > 1
    ]
    return {
        **counts(compared),
        "read_as_nearest": _read_as_nearest(able),
        "without_batch": sum(not row.run.states_batch for row in able),
        "all": statistics(sure),
        STATED_NODES: statistics(stated),
        "by": by_group(sure, KEYS),
        "regret": {name: regret(part)._asdict() for name, part in _series(sure).items()},
        "untrusted": statistics(row for row in able if not trusted(row)),
    }


def _read_as_nearest(able: list[Row]) -> dict[str, dict[str, int]]:
    """Return the number of rows with unknown software, by the stack in its place and the source's name."""
    result: dict[str, dict[str, int]] = defaultdict(lambda: defaultdict(int))
    for run in (row.run for row in able if row.run.nearest_stack):
        result[run.nearest_stack][run.framework] += 1
    return {stack: dict(names) for stack, names in result.items()}


class Regret(NamedTuple):
    """Loss of the layout with the shortest predicted time: its measured time over the shortest, less 1."""

    groups: int
    """Number of groups of runs that differ in their layout alone."""
    mean: float | None
    """Mean over groups."""
    worst: float | None
    """Largest of all groups."""
    random: float | None
    """Mean over groups of the loss of a layout chosen at random."""


def _series(compared: list[Row]) -> dict[str, list[Row]]:
    """Return the dense runs whose layouts are compared: those of the one large sweep, and all others."""
    dense = [row for row in compared if row.run.kind != "experts"]
    sweep = "vtrain-single"
    return {
        sweep: [row for row in dense if row.run.source == sweep],
        "all other sources": [row for row in dense if row.run.source != sweep],
    }


def regret(compared: Sequence[Row]) -> Regret:
    """Return the regret of choosing layouts by prediction, over groups of runs of one source and job."""
    groups: dict[tuple[object, ...], list[Row]] = defaultdict(list)
    for row in compared:
        run, case = row.run, row.run.case
        if case is not None:
            layout = case.layout
            batch = round(float(layout.global_batch_size), 3)
            job = float(layout.world_size), batch, case.sequence_length
            what = run.source, run.workload, run.accelerator, run.precision, run.year, run.series
            groups[what + job].append(row)
    lost, chance = [], []
    for group in groups.values():
        if len({row.run.case.layout for row in group if row.run.case is not None}) > 1:
            times = [row.run.time for row in group]
            chosen = min(group, key=lambda row: row.predicted or math.inf)
            lost.append(chosen.run.time / min(times) - 1)
            chance.append(fmean(times) / min(times) - 1)
    if not lost:
        return Regret(0, None, None, None)
    return Regret(len(lost), fmean(lost), max(lost), fmean(chance))
