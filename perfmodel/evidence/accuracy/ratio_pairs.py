"""Pairs of measured runs of one source, and the error of the predicted ratio of their times."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Iterable, Sequence
from itertools import combinations
from random import Random
from typing import NamedTuple

import numpy as np

from perfmodel.core.arrays import Array, Flags, Integers, Names
from perfmodel.evidence.accuracy.campaign import Outcome
from perfmodel.evidence.accuracy.report.error_statistics import trusted
from perfmodel.evidence.accuracy.report.out_of_sample_file import shipped_rows
from perfmodel.evidence.accuracy.training_rows import Run
from perfmodel.evidence.accuracy.transformers.transformer_compare import Row, shipped_out_of_sample
from perfmodel.evidence.accuracy.transformers.transformer_novelty import novelty_of
from perfmodel.evidence.accuracy.transformers.transformer_rows import TransformerRun
from perfmodel.model.prediction.intervals.ratio import (
    COPIES,
    DISTANCES,
    SHARED_OUT,
    Job,
    distances,
    variance_between,
)

MOST_TRIED = 30_000
"""Largest number of pairs of a source that are considered; more are sampled with a fixed seed."""
MOST_ALIKE = 40
"""Largest number of pairs of a source that are kept of those that differ in the same things."""


class Judged(NamedTuple):
    """A measured run, predicted by a fit to other sources."""

    source: str
    job: Job
    miss: float
    """ln(measured / predicted)."""
    half_width: float
    """Logarithm of the upper end of the 80 % interval over the prediction, without the ledger's scale."""


class Pairs(NamedTuple):
    """Pairs of runs of one source; arrays of shape (pairs,)."""

    sources: Names
    differing: Integers
    """What the runs differ in: bit i is set if distance i of ``DISTANCES`` is not 0."""
    miss: Array
    """Absolute error of the logarithm of the ratio."""
    one_half_width: Array
    """Half-width of the first run's 80 % interval, in logarithms."""
    other_half_width: Array
    """Half-width of the second run's 80 % interval, in logarithms."""
    apart: Array
    """Distances between the two runs, shape (pairs, distances)."""
    variance: Array
    """Variance of the difference of two transformers' errors, by levels learned without the source; else
    0."""

    def rows(self, which: Flags) -> Pairs:
        """Return the selected pairs."""
        return Pairs._make(column[which] for column in self)


def judged_runs() -> dict[str, list[Judged]]:
    """Return the shipped runs of trust A and B by kind of prediction, each predicted out of sample."""
    data_parallel, transformers = shipped_rows("specs"), shipped_out_of_sample()[0].rows
    return {
        COPIES: [
            _judged(row, _data_parallel_job(row.run), row.scale or 1.0)
            for row in data_parallel
            if trusted(row) and row.predicted
        ],
        SHARED_OUT: [_judged_transformer(row) for row in transformers if trusted(row) and row.predicted],
    }


def _judged_transformer(row: Row) -> Judged:
    return _judged(row, transformer_job(row.run), novelty_of(row.run).scale.factor)


def _judged(row: Outcome, job: Job, scale: float) -> Judged:
    """Return a predicted row as a judged run, without the ledger's scale in its half-width."""
    assert row.measured
    assert row.predicted
    assert row.high_80
    miss, width = (math.log(time / row.predicted) for time in (row.measured, row.high_80))
    return Judged(row.run.source, job, miss, width / scale)


def _data_parallel_job(run: Run) -> Job:
    """Return the facts of a data-parallel run by which pairs of runs are compared."""
    between = {"inter_link": run.inter_link, "nics": run.nics} if run.nodes > 1 else {}
    return Job(
        kind=COPIES,
        workload=(run.workload, run.sequence_length),
        accelerator=run.accelerator,
        software=f"{run.framework} {run.year}",
        precision=run.precision,
        fabric=_known({"node": run.node, "intra_link": run.intra_link, **between}),
        start=(),
        plan=_known({"strategy": run.strategy, "overlap": run.overlap, "input": run.input}),
        world_size=run.world_size,
        batch=run.local_batch_size or 1,
    )


def transformer_job(run: TransformerRun) -> Job:
    """Return the facts of a transformer's run by which pairs of runs are compared; it must have a case."""
    assert run.case is not None
    layout, fabric = run.case.layout, run.case.fabric
    between = {"inter_link": fabric.inter_link.id} if layout.world_size > fabric.per_node else {}
    words = layout.words()
    following = ("data_parallel", "micro_batch_size", "accumulation_steps")
    return Job(
        kind=SHARED_OUT,
        workload=(run.workload, run.case.sequence_length),
        accelerator=run.accelerator,
        software=f"{run.framework} {run.year}",
        precision=run.precision,
        fabric={"intra_link": fabric.link.id, **between},
        start=(),
        plan={name: word for name, word in words.items() if name not in following},
        world_size=float(layout.world_size),
        batch=float(layout.micro_batch_size),
    )


def _known(facts: dict[str, object]) -> dict[str, object]:
    return {name: value for name, value in facts.items() if value}


def pairs_of(runs: Iterable[Judged]) -> Pairs:
    """Return pairs of runs of one source that differ in something; samples have a fixed seed."""
    of_source = defaultdict(list)
    for run in runs:
        of_source[run.source].append(run)
    rows = [row for source, those in sorted(of_source.items()) for row in _pairs(source, those)]
    columns = list(zip(*rows, strict=True))
    return Pairs(*(np.array(column) for column in columns))


def _pairs(source: str, runs: Sequence[Judged]) -> Iterable[tuple[object, ...]]:
    """Yield the pairs of a source's runs as rows of ``Pairs``."""
    draw = Random(source)
    tried = list(combinations(range(len(runs)), 2))
    if len(tried) > MOST_TRIED:
        tried = draw.sample(tried, MOST_TRIED)
    alike = defaultdict(list)
    for first, second in tried:
        one, other = runs[first], runs[second]
        apart = distances(one.job, other.job)
        if differing := sum(1 << bit for bit, each in enumerate(apart) if each):
            variance = variance_between(one.job, other.job, source) if one.job.kind == SHARED_OUT else 0.0
            widths = one.half_width, other.half_width
            row = source, differing, abs(one.miss - other.miss), *widths, apart, variance
            alike[differing].append(row)
    for those in alike.values():
        yield from draw.sample(those, min(len(those), MOST_ALIKE))


def difference_name(differing: int) -> str:
    """Return the name of what the runs of a pair differ in: one of ``DISTANCES``, or ``several``.

    >>> difference_name(2), difference_name(3)
    ('accelerator', 'several')
    """
    names = [name for bit, name in enumerate(DISTANCES) if differing >> bit & 1]
    return names[0] if len(names) == 1 else "several"
