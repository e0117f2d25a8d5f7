"""Pairs of measured runs of one source, and by how much their ratio was missed."""

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
"""Pairs of a source that are looked at; of more, so many drawn with a fixed seed."""
MOST_ALIKE = 40
"""Pairs of a source kept of those that differ in the same things."""


class Judged(NamedTuple):
    """A measured run, predicted by a fit to other sources."""

    source: str
    job: Job
    miss: float
    """Logarithm of measured over predicted time."""
    half_width: float
    """Logarithm of the upper end of the 80 % interval over the prediction, without the ledger's scale."""


class Pairs(NamedTuple):
    """Pairs of runs, arrays of shape (pairs,)."""

    sources: Names
    differing: Integers
    """Bits: which of ``DISTANCES`` are not 0."""
    miss: Array
    """By which the logarithm of the ratio was missed."""
    one_half_width: Array
    other_half_width: Array
    apart: Array
    """Shape (pairs, distances)."""
    variance: Array
    """Of the difference of transformers' errors, by levels that have not seen the source; else 0."""

    def rows(self, which: Flags) -> Pairs:
        """Return some of the pairs."""
        return Pairs._make(column[which] for column in self)


def judged_runs() -> dict[str, list[Judged]]:
    """Return the trusted runs of the published sources by kind of prediction, each judged out of sample."""
    copies, shared_out = shipped_rows("specs"), shipped_out_of_sample()[0].rows
    return {
        COPIES: [
            _judged(row, _job_of_copies(row.run), row.scale or 1.0)
            for row in copies
            if trusted(row) and row.predicted
        ],
        SHARED_OUT: [judged_transformer(row) for row in shared_out if trusted(row) and row.predicted],
    }


def judged_transformer(row: Row) -> Judged:
    """Return a predicted run of a transformer as one that pairs are made of."""
    return _judged(row, job_shared_out(row.run), novelty_of(row.run).scale.factor)


def _judged(row: Outcome, job: Job, scale: float) -> Judged:
    assert row.measured
    assert row.predicted
    assert row.high_80
    miss, width = (math.log(time / row.predicted) for time in (row.measured, row.high_80))
    return Judged(row.run.source, job, miss, width / scale)


def _job_of_copies(run: Run) -> Job:
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


def job_shared_out(run: TransformerRun) -> Job:
    """Return what a measured run of a transformer that is shared out is of; it must have a case."""
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
    """Return pairs of runs of one source that differ in something; the same pairs in every call."""
    of_source = defaultdict(list)
    for run in runs:
        of_source[run.source].append(run)
    rows = [row for source, those in sorted(of_source.items()) for row in _pairs(source, those)]
    columns = list(zip(*rows, strict=True))
    return Pairs(*(np.array(column) for column in columns))


def _pairs(source: str, runs: Sequence[Judged]) -> Iterable[tuple[object, ...]]:
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


def named(differing: int) -> str:
    """Return what pairs differ in: one of ``DISTANCES``, or ``several``.

    >>> named(2), named(3)
    ('accelerator', 'several')
    """
    names = [name for bit, name in enumerate(DISTANCES) if differing >> bit & 1]
    return names[0] if len(names) == 1 else "several"
