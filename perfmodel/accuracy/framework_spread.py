"""How far frameworks lie apart on the same network and machine, measured and predicted."""

from __future__ import annotations

import itertools
from collections import defaultdict
from collections.abc import Sequence
from statistics import median
from typing import NamedTuple

from perfmodel.accuracy.compare import Row
from perfmodel.accuracy.scenarios import scenario_of_run
from perfmodel.accuracy.summary import counted
from perfmodel.prediction import predict
from perfmodel.specs.framework import parse_framework
from perfmodel.specs.scenario import Scenario
from perfmodel.specs.store import Catalogue
from perfmodel.templating import render

APART = 0.05
"""Measured times closer than this are a tie."""
LEAST_JOBS = 4
"""Jobs of which a pair of frameworks needs as many to have a line of its own."""
WIDEST = 12
"""Jobs in the table of the widest spreads."""


class Times(NamedTuple):
    """Times of one framework on one job [s], medians over its runs."""

    measured: float
    out_of_sample: float
    """Predicted by what all other sources taught."""
    in_sample: float
    """Predicted by what all sources taught, this one among them."""


class Job(NamedTuple):
    """One network on one machine, as one source trained it with several frameworks."""

    source: str
    name: str
    times: dict[str, Times]
    """By framework."""

    @property
    def fastest(self) -> str:
        """The framework that was measured fastest."""
        return min(self.times, key=lambda name: self.times[name].measured)

    @property
    def slowest(self) -> str:
        """The framework that was measured slowest."""
        return max(self.times, key=lambda name: self.times[name].measured)

    @property
    def spread(self) -> Times:
        """Times of the slowest framework by measurement over those of the fastest [1]."""
        return _over(self.times[self.slowest], self.times[self.fastest])


class Pair(NamedTuple):
    """Two frameworks on the jobs that one source trained with both."""

    one: str
    other: str
    jobs: int
    ratio: Times
    """Of the other's time over the one's, medians over the jobs [1]."""
    apart: int
    """Jobs that were measured more than ``APART`` apart."""
    in_order: int
    """Of those, jobs that come out in the measured order, out of sample."""


def section(rows: Sequence[Row]) -> str:
    """Return the section as Markdown, from rows predicted from specs, out of sample; empty without a job."""
    known = jobs(rows)
    if not known:
        return ""
    spreads = [job.spread for job in known]
    return render(
        "framework_spread.md.j2",
        jobs=known,
        spread=_medians(spreads),
        over_half=sum(spread.measured > 1.5 for spread in spreads),
        pairs=pairs(known),
        widest=sorted(known, key=lambda job: (-job.spread.measured, job.name))[:WIDEST],
        apart=APART,
        least=LEAST_JOBS,
    )


def jobs(rows: Sequence[Row]) -> list[Job]:
    """Return every job that one source trained with several frameworks.

    Parameters
    ----------
    rows : predicted from specs, out of sample
    """
    catalogue = Catalogue.built_in()
    groups: dict[tuple[str, ...], dict[str, list[tuple[Row, Scenario]]]] = defaultdict(
        lambda: defaultdict(list)
    )
    for row in rows:
        if row.error is not None and counted(row):
            scenario = scenario_of_run(row.run, catalogue)
            framework, _ = parse_framework(str(scenario.framework))
            groups[_job(row)][framework.name].append((row, scenario))
    return [
        Job(key[0], key[1], {name: _times(runs) for name, runs in sorted(by_name.items())})
        for key, by_name in sorted(groups.items())
        if len(by_name) > 1
    ]


def _job(row: Row) -> tuple[str, ...]:
    """Return source, name and all else that tells one job from another."""
    run = row.run
    size = f"{run.nodes or 1} x {run.accelerators_per_node} {run.accelerator}"
    name = f"{run.workload}, {run.precision}, batch {run.local_batch_size}, {size}"
    return run.source, name, run.node, str(run.sequence_length), str(run.accumulation_steps)


def _times(runs: Sequence[tuple[Row, Scenario]]) -> Times:
    return _medians(
        [
            Times(
                float(row.measured_iteration_time or 0.0),
                float(row.predicted_iteration_time or 0.0),
                predict(scenario).iteration_time,
            )
            for row, scenario in runs
        ]
    )


def _medians(times: Sequence[Times]) -> Times:
    return Times(*(median(column) for column in zip(*times, strict=True)))


def _over(one: Times, other: Times) -> Times:
    return Times(*(a / b for a, b in zip(one, other, strict=True)))


def pairs(known: Sequence[Job]) -> list[Pair]:
    """Return every two frameworks that enough jobs were trained with, those furthest apart first."""
    ratios: dict[tuple[str, str], list[Times]] = defaultdict(list)
    for job in known:
        for one, other in itertools.combinations(job.times, 2):
            ratios[one, other].append(_over(job.times[other], job.times[one]))
    result = []
    for (one, other), each in ratios.items():
        if len(each) < LEAST_JOBS:
            continue
        if median(ratio.measured for ratio in each) < 1:
            one, other, each = other, one, [_over(Times(1.0, 1.0, 1.0), ratio) for ratio in each]
        clear = [ratio for ratio in each if not 1 / (1 + APART) < ratio.measured < 1 + APART]
        right = sum((ratio.measured > 1) == (ratio.out_of_sample > 1) for ratio in clear)
        result.append(Pair(one, other, len(each), _medians(each), len(clear), right))
    return sorted(result, key=lambda pair: (-pair.ratio.measured, pair.one, pair.other))
