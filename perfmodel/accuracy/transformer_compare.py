"""Measured runs of transformers beside the model: by the shipped fit, or each source by the others."""

from __future__ import annotations

import math
from collections import defaultdict
from functools import cache
from statistics import fmean, median
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from perfmodel.accuracy.runs import TRUSTED
from perfmodel.accuracy.summary import by_reason, errors, over_sources
from perfmodel.accuracy.transformer_anchor import anchor_weights, anchored_logs, anchors_of, pairs_of
from perfmodel.accuracy.transformer_fit import (
    Data,
    data_of,
    fit,
    left_out,
    spreads,
)
from perfmodel.accuracy.transformer_rows import (
    SELECTIVE_SOURCES,
    Reading,
    TransformerRun,
    shipped_transformer_runs,
)
from perfmodel.accuracy.transformer_software import software_of_row
from perfmodel.step.profiled import NORMAL_80
from perfmodel.transformers.job import Job
from perfmodel.transformers.parameters import Fitted, fitted
from perfmodel.transformers.step import step_of
from perfmodel.transformers.uncertainty import Novelty, novelty

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from numpy.typing import NDArray

    Array = NDArray[np.float64]

UNKNOWN = "software that nobody described"
ALONE = "unanchored: no other run of this network and source"


class Row(NamedTuple):
    """A measured run and what the model says of it; times in seconds, None where it must refuse."""

    run: TransformerRun
    """What was measured."""
    mode: str
    """Whether it is predicted from specs or from another run."""
    predicted_time: float | None
    naive_time: float | None
    """By one utilisation of the accelerators for all runs."""
    low_80: float | None
    high_80: float | None
    anchor: str | None
    reason: str | None
    """Why there is no prediction."""

    @property
    def error(self) -> float | None:
        """Predicted over measured time, less 1."""
        return None if self.predicted_time is None else self.predicted_time / self.run.time - 1

    def to_dict(self) -> dict[str, Any]:
        """Return the row as people script against it."""
        run = self.run
        return {
            "run_id": run.run_id,
            "source": run.source,
            "workload": run.workload,
            "accelerator": run.accelerator,
            "world_size": run.case and float(run.case.layout.world_size),
            "class": run.kind or None,
            "measured_iteration_time": run.time if run.time > 0 and run.states_batch else None,
            "predicted_iteration_time": self.predicted_time,
            "measured_tokens_per_second": run.tokens / run.time if run.time > 0 else None,
            "predicted_tokens_per_second": run.tokens / self.predicted_time if self.predicted_time else None,
            "low_80": self.low_80,
            "high_80": self.high_80,
            "mode": self.mode,
            "anchor": self.anchor,
            "nearest_stack": run.nearest_stack or None,
            "reason": self.reason,
        }


class Judged(NamedTuple):
    """What is said of runs that have a case, shape (runs,) each."""

    logs: Array
    """Logarithm of the predicted time [s]."""
    spreads: list[float]
    """Of each, the standard deviation of ln(measured / predicted) that its interval stands for."""
    is_anchored: list[bool]


def compare_transformers(
    measured: Sequence[TransformerRun], modes: Sequence[str] = ("specs",), out_of_sample: bool = False
) -> list[list[Row]]:
    """Predict each run in each mode: by the shipped fit, or each source by a fit to all others.

    Out of sample the width of a source's intervals and the weight of its anchors, too, come from the others;
    what predicted those had seen this source, which leaves some per cent of it in both.

    Parameters
    ----------
    measured : runs; those without a case stay in, with their reason
    modes : ``specs``, or ``anchored`` on the nearest other run of the same network and source
    out_of_sample : whether each source is predicted by a fit to the others
    """
    able = [run for run in measured if run.case is not None]
    if not able:
        return [[_row(run, mode, None, 0.0, False, None) for run in measured] for mode in modes]
    data = data_of(able)
    alone = _out_of_sample(able, data) if out_of_sample else _by_shipped_fit(able, data)
    naive = _naive_times(data)
    known = {id(run): row for row, run in enumerate(able)}
    result = []
    for mode in modes:
        said = _anchored(able, data, alone, out_of_sample) if mode == "anchored" else alone
        rows_of = []
        for run in measured:
            row = known.get(id(run))
            if row is None:
                rows_of.append(_row(run, mode, None, 0.0, False, None))
            else:
                log, anchored = float(said.logs[row]), said.is_anchored[row]
                rows_of.append(_row(run, mode, log, said.spreads[row], anchored, float(naive[row])))
        result.append(rows_of)
    return result


def compare_transformers_beside_shipped(own: Sequence[TransformerRun], mode: str = "specs") -> list[Row]:
    """Predict a user's runs, each source by a fit to its others and to those that come along."""
    names, shipped = {run.run_id for run in own}, shipped_transformer_runs()
    others = [run for run in shipped if run.run_id not in names]
    (rows_of,) = compare_transformers([*others, *own], (mode,), out_of_sample=True)
    return rows_of[len(others) :]


def _by_shipped_fit(able: list[TransformerRun], data: Data) -> Judged:
    known = fitted()
    with np.errstate(divide="ignore", invalid="ignore"):
        logs = np.log(step_of(data.jobs, known.parameters).iteration_time)
    return Judged(logs, [_spread(run, known.spreads) for run in able], [False] * len(able))


def novelty_of(run: TransformerRun, fit: Fitted | None = None) -> Novelty:
    """Return what is new about a run that has a case, to the shipped fit or another."""
    assert run.case is not None
    # software that nobody described may be far from the nearest that somebody did
    software = UNKNOWN if run.nearest_stack else software_of_row(run.framework).stack
    return novelty(run.case.model, run.accelerator, software, fit)


def _spread(run: TransformerRun, spreads: Mapping[str, float]) -> float:
    """That of a run predicted from specs, by the spreads of classes."""
    return novelty_of(run).spread_by(spreads, run.kind)


def _out_of_sample(able: list[TransformerRun], data: Data) -> Judged:
    trusted = np.array([run.trust in TRUSTED for run in able])
    learned = data.rows(trusted)
    logs = left_out(data, fit(learned), trusted)
    each = {source: spreads(learned, logs[trusted], source) for source in np.unique(data.sources).tolist()}
    return Judged(logs, [_spread(run, each[run.source]) for run in able], [False] * len(able))


def _anchored(able: list[TransformerRun], data: Data, judged: Judged, out_of_sample: bool) -> Judged:
    anchors, misses = anchors_of(able), data.logs - judged.logs
    trusted = [row for row, run in enumerate(able) if run.trust in TRUSTED]
    pairs = pairs_of([able[row] for row in trusted], misses[trusted]) if out_of_sample else {}
    logs = judged.logs.copy()
    for source in np.unique(data.sources).tolist():
        known = anchor_weights(pairs, source) if out_of_sample else fitted().anchor_weights
        rows_of = data.sources == source
        logs[rows_of] = anchored_logs(anchors, judged.logs, misses, known)[rows_of]
    held = np.array([anchor is not None for anchor in anchors])
    if not out_of_sample:
        return Judged(logs, [fitted().anchored_spreads[run.kind] for run in able], held.tolist())
    use = held & np.array([run.trust in TRUSTED for run in able])
    near = data.rows(use)
    each = {source: spreads(near, logs[use], source) for source in np.unique(data.sources).tolist()}
    return Judged(logs, [each[run.source].get(run.kind, 0.0) for run in able], held.tolist())


def _row(
    run: TransformerRun,
    mode: str,
    log: float | None,
    spread: float,
    is_anchored: bool,
    naive: float | None,
) -> Row:
    if log is None or (mode == "anchored" and not is_anchored):
        return Row(run, mode, None, None, None, None, None, run.reason or ALONE)
    time = math.exp(log)
    near = math.exp(NORMAL_80 * spread)
    anchor = "unique" if is_anchored else None
    return Row(run, mode, time, naive, time / near, time * near, anchor, None)


def _naive_times(data: Data) -> Array:
    """Time by one utilisation of all accelerators, the median of the other sources; all work is counted."""
    ratios = data.logs - np.log(_ideal_times(data.jobs))
    of = {
        source: float(np.median(ratios[data.sources == source]))
        for source in np.unique(data.sources).tolist()
    }
    known = {source: median([r for s, r in of.items() if s != source] or [math.log(2.5)]) for source in of}
    return np.asarray(np.exp(data.logs - ratios + [known[source] for source in data.sources.tolist()]))


def _ideal_times(jobs: Job) -> Array:
    """Time of a step's products at the best measured rate, on all accelerators alike [s]."""
    model, layout = jobs.model, jobs.layout
    routed = 1 - model.dense_share
    each = model.attention_parameters + model.dense_share * model.dense_parameters
    each = each + routed * (model.top_k + model.shared_experts) * model.expert_parameters
    scores = 2 * model.heads * model.head_size * jobs.sequence_length
    passes = 3 + layout.recomputed_layers
    flops = 2 * passes * model.layers * (each + scores) + 6 * model.embedding_parameters
    tokens = layout.global_batch_size * jobs.sequence_length
    rate = np.where(jobs.stack.in_8_bits, jobs.chip.product_rate_8, jobs.chip.product_rate)
    return np.asarray(flops * tokens / (layout.world_size * rate))


KEYS: dict[str, Callable[[Row], str]] = {
    "source": lambda row: row.run.source,
    "accelerator": lambda row: row.run.accelerator,
    "class": lambda row: row.run.kind,
    "world-size": lambda row: _counted(row.run),
}
"""What rows are grouped by -> the group of a row."""


def _counted(run: TransformerRun) -> str:
    """World sizes in powers of four, so that groups have rows."""
    world = float(run.case.layout.world_size) if run.case is not None else 1.0
    least = 4 ** int(math.log(world, 4) + 1e-9)
    return f"{least} to {4 * least - 1}"


class Comparison(NamedTuple):
    """Predicted runs, and their summary."""

    rows: list[Row]
    summary: dict[str, Any]


def compared(
    read: Callable[[Reading], Sequence[TransformerRun]],
    modes: Sequence[str] = ("specs",),
    out_of_sample: bool = False,
) -> list[Comparison]:
    """Predict runs as they are usually read; where some can be read otherwise, say what becomes of all then.

    Parameters
    ----------
    read : runs by ``Reading``
    modes, out_of_sample : as of ``compare_transformers``
    """
    runs = read(Reading())
    usual = compare_transformers(runs, modes, out_of_sample)
    result = [
        Comparison(rows_of, {"mode": mode, **summarise_transformers(rows_of), "as_stated": None})
        for mode, rows_of in zip(modes, usual, strict=True)
    ]
    if any(run.source in SELECTIVE_SOURCES for run in runs):
        other = compare_transformers(read(Reading(selective=False)), modes, out_of_sample)
        for each, rows_of in zip(result, other, strict=True):
            again = summarise_transformers(rows_of)
            each.summary["as_stated"] = {name: again[name] for name in ("all", STATED_NODES, "regret")}
    return result


@cache
def shipped_out_of_sample() -> list[Comparison]:
    """Predict the runs that come along, each source by a fit to the others, in both modes; made once."""
    return compared(shipped_transformer_runs, ("specs", "anchored"), out_of_sample=True)


STATED_NODES = "dense, stated layout, several nodes"


def summarise_transformers(compared: Sequence[Row]) -> dict[str, Any]:
    """Return errors of all rows of trust A and B, by source, class and the like, and regret of layouts."""
    able = [row for row in compared if row.predicted_time is not None]
    trusted = [row for row in able if row.run.trust in TRUSTED]
    stated = [
        row
        for row in trusted
        if row.run.case is not None
        and row.run.states_layout
        and row.run.kind != "experts"
        and row.run.case.nodes > 1
    ]
    return {
        "rows": len(compared),
        "refused": len(compared) - len(able),
        "refused_by_reason": by_reason(row.reason for row in compared),
        "read_as_nearest": _read_as_nearest(able),
        "without_batch": sum(not row.run.states_batch for row in able),
        "all": _errors(trusted),
        STATED_NODES: _errors(stated),
        "by": {name: _by(trusted, key) for name, key in KEYS.items()},
        "regret": {name: regret(part)._asdict() for name, part in _series(trusted).items()},
        "untrusted": _errors([row for row in able if row.run.trust not in TRUSTED]),
    }


def _read_as_nearest(able: list[Row]) -> dict[str, dict[str, int]]:
    """Rows by the stack they are read by, and by what their sources call the software nobody described."""
    result: dict[str, dict[str, int]] = defaultdict(lambda: defaultdict(int))
    for run in (row.run for row in able if row.run.nearest_stack):
        result[run.nearest_stack][run.framework] += 1
    return {stack: dict(names) for stack, names in result.items()}


def _by(compared: list[Row], key: Callable[[Row], str]) -> dict[str, Any]:
    groups: dict[str, list[Row]] = defaultdict(list)
    for row in compared:
        groups[key(row)].append(row)
    return {name: _errors(groups[name]) for name in sorted(groups)}


def _errors(compared: list[Row]) -> dict[str, Any]:
    """Errors of rows, each alike and each source alike, beside those of a naive answer."""
    signed = [(row.run.source, row.error) for row in compared if row.error is not None]
    naive = errors([row.naive_time / row.run.time - 1 for row in compared if row.naive_time])
    held: dict[str, list[bool]] = defaultdict(list)
    for row in compared:
        if row.low_80 is not None and row.high_80 is not None:
            held[row.run.source].append(row.low_80 <= row.run.time <= row.high_80)
    return {
        **errors([error for _, error in signed])._asdict(),
        **over_sources(signed),
        "baseline": naive._asdict(),
        "coverage_80": fmean(each for of in held.values() for each in of) if held else None,
        "coverage_80_over_sources": fmean(map(fmean, held.values())) if held else None,
    }


class Regret(NamedTuple):
    """What the layout that is predicted to be fastest costs over the fastest measured, the mean of groups."""

    groups: int
    mean: float | None
    worst: float | None
    random: float | None
    """The same of a layout taken at random."""


def _series(compared: list[Row]) -> dict[str, list[Row]]:
    """Dense runs whose layouts are compared: of the one large sweep, and of all other sources."""
    dense = [row for row in compared if row.run.kind != "experts"]
    sweep = "vtrain-single"
    return {
        sweep: [row for row in dense if row.run.source == sweep],
        "all other sources": [row for row in dense if row.run.source != sweep],
    }


def regret(compared: Sequence[Row]) -> Regret:
    """Return what choosing layouts by prediction costs, over groups of one source, network and machine."""
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
            chosen = min(group, key=lambda row: row.predicted_time or math.inf)
            lost.append(chosen.run.time / min(times) - 1)
            chance.append(fmean(times) / min(times) - 1)
    if not lost:
        return Regret(0, None, None, None)
    return Regret(len(lost), fmean(lost), max(lost), fmean(chance))
