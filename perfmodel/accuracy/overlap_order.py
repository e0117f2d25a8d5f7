"""Whether the model ranks ways of sending gradients in their measured order."""

from __future__ import annotations

import itertools
from collections import Counter, defaultdict
from collections.abc import Sequence
from statistics import fmean
from typing import Any, NamedTuple

from perfmodel.accuracy.anchors import Anchors
from perfmodel.accuracy.compare import Row
from perfmodel.accuracy.scenarios import scenario_of_run
from perfmodel.prediction import predict
from perfmodel.specs.store import Catalogue
from perfmodel.templating import render

SOURCE = "hkbu-ddl-benchmarks"
"""The one source that measured several ways on the same machines."""
APART = 0.05
"""Measured times closer than this are a tie."""


class Method(NamedTuple):
    """How gradients are combined and when they are sent."""

    strategy: str
    overlap: str

    def __str__(self) -> str:
        return f"{self.strategy} {self.overlap}"


PLAIN, PRIORITY = Method("all-reduce", "none"), Method("all-reduce", "priority")


class Pair(NamedTuple):
    """Two methods on the same job; times in seconds."""

    job: tuple[str, str, int]
    """Workload, network (or the link in the node), nodes."""
    faster: Method
    slower: Method
    measured: tuple[float, float]
    predicted: tuple[float, float]
    """Of the faster and the slower by measurement."""

    @property
    def in_order(self) -> bool:
        """Whether the model finds the same one faster."""
        return self.predicted[0] < self.predicted[1]


def pairs(rows: Sequence[Row]) -> list[Pair]:
    """Return every two methods of one job that were measured more than ``APART`` apart.

    Parameters
    ----------
    rows : anchored predictions; other sources are passed over
    """
    result = []
    for job, times in sorted(_times(rows).items()):
        for one, other in itertools.combinations(sorted(times), 2):
            fast, slow = sorted((one, other), key=lambda method: times[method][0])
            if times[slow][0] > (1 + APART) * times[fast][0]:
                result.append(
                    Pair(
                        job,
                        fast,
                        slow,
                        (times[fast][0], times[slow][0]),
                        (times[fast][1], times[slow][1]),
                    )
                )
    return result


def _times(rows: Sequence[Row]) -> dict[tuple[str, str, int], dict[Method, tuple[float, float]]]:
    """Measured and predicted time of each method of each job, the mean of repetitions [s]."""
    jobs: dict[tuple[str, str, int], dict[Method, list[tuple[float, float]]]] = defaultdict(
        lambda: defaultdict(list)
    )
    for row in rows:
        run, measured, predicted = row.run, row.measured_iteration_time, row.predicted_iteration_time
        if run.source == SOURCE and measured is not None and predicted is not None:
            job = (run.workload, run.inter_link or run.intra_link, run.nodes)
            jobs[job][Method(run.strategy, run.overlap)].append((measured, predicted))
    return {
        job: {m: (fmean(t for t, _ in both), fmean(t for _, t in both)) for m, both in methods.items()}
        for job, methods in jobs.items()
    }


def _server_range(rows: Sequence[Row]) -> list[tuple[str, ...]]:
    """The largest wait-free parameter-server jobs: measured, with one server, with one a machine [ms]."""
    ours = [row for row in rows if row.run.source == SOURCE and row.run.strategy == "parameter-server"]
    largest = max((row.run.nodes for row in ours), default=0)
    anchors = Anchors([row.run for row in rows])
    result = set()
    for row in ours:
        anchor, measured = anchors.of(row.run), row.measured_iteration_time
        if row.run.nodes == largest and row.run.overlap == "wfbp" and anchor and measured:
            asked = scenario_of_run(row.run, Catalogue.built_in(), anchor.iteration_time)
            few, many = (
                predict(asked.model_copy(update={"servers": servers})).iteration_time
                for servers in (1, largest)
            )
            job = f"{row.run.workload}, {largest} x {row.run.inter_link}"
            result.add((job, *(f"{1e3 * time:.0f}" for time in (measured, few, many))))
    return sorted(result)


def _in_order(result: Sequence[Pair]) -> float:
    return fmean(pair.in_order for pair in result)


def _with_one_server(rows: Sequence[Row]) -> float:
    """What share would come out in order if every parameter-server job had one server."""
    anchors, others = Anchors([row.run for row in rows]), []
    for row in rows:
        anchor = anchors.of(row.run) if row.run.source == SOURCE else None
        if anchor is not None and row.run.strategy == "parameter-server":
            asked = scenario_of_run(row.run, Catalogue.built_in(), anchor.iteration_time)
            time = predict(asked.model_copy(update={"servers": 1})).iteration_time
            row = row._replace(predicted_iteration_time=time)
        others.append(row)
    return _in_order(pairs(others))


def _priority(rows: Sequence[Row]) -> dict[str, Any]:
    """In how many jobs ByteScheduler's all-reduce was slower than no overlap, by workload and network."""
    jobs = {job: times for job, times in _times(rows).items() if PLAIN in times and PRIORITY in times}
    slower = Counter(job[:2] for job, times in jobs.items() if times[PRIORITY][0] > times[PLAIN][0])
    every = Counter(job[:2] for job in jobs)
    return {
        "slower": slower.total(),
        "n": len(jobs),
        "jobs": [(*kind, slower[kind], n) for kind, n in sorted(every.items())],
    }


def section(rows: Sequence[Row]) -> str:
    """Return the report's section on the order of the methods, as Markdown; empty without such rows."""
    result = pairs(rows)
    if not result:
        return ""
    rest = [pair for pair in result if PRIORITY not in (pair.faster, pair.slower)]
    by_slower: dict[Method, list[Pair]] = defaultdict(list)
    for pair in result:
        by_slower[pair.slower].append(pair)
    return render(
        "overlap_order.md.j2",
        source=SOURCE,
        apart=APART,
        pairs=result,
        wrong=[pair for pair in result if not pair.in_order],
        with_one_server=_with_one_server(rows),
        servers=_server_range(rows),
        by_slower=[(method, len(those), _in_order(those)) for method, those in sorted(by_slower.items())],
        priority=_priority(rows),
        rest={"n": len(rest), "share": _in_order(rest)},
    )
