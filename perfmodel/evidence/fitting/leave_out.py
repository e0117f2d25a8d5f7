"""Leave-out tests of every kind of measured rows, those of data-parallel training included."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

import numpy as np

from perfmodel.core.files.tables import Record
from perfmodel.evidence.accuracy.by_source import JudgedRow, Summary
from perfmodel.evidence.accuracy.collectives import leave_out_collectives as collectives
from perfmodel.evidence.accuracy.leave_out import (
    Evidence,
    Facts,
    Fold,
    Judged,
    check_test,
    compare_with_before,
    leave_out,
    network_family,
)
from perfmodel.evidence.accuracy.measured_runs import Measured
from perfmodel.evidence.accuracy.scenarios import scenario_of_run
from perfmodel.evidence.accuracy.transformers import leave_out_transformers as transformers
from perfmodel.evidence.fitting.out_of_sample import OutOfSample, shipped
from perfmodel.hardware.catalogue.store import Catalogue
from perfmodel.model.fitted.calibration import Calibration
from perfmodel.model.prediction import predict
from perfmodel.model.prediction.limits import crossed_link

KIND = "data parallel"


def judged_by(rows: Sequence[Measured], constants: Calibration) -> Judged:
    """Return how far runs are missed from specs, and how wide their intervals are.

    The half-width is that above the prediction: no interval is cut here at what physics allows.  That of 95 %
    is what the spread's shape makes of it, whether or not a prediction would state it.
    """
    spread = constants.spread["specs"]
    catalogue = Catalogue.built_in()
    answers = []
    for row in rows:
        answer = predict(scenario_of_run(row.run, catalogue), catalogue, constants)
        assert answer.interval is not None
        answers.append((row.time, answer.interval.high_80, answer.iteration_time))
    measured, high, predicted = np.log(np.reshape(answers, (-1, 3))).T
    half = high - predicted
    return Judged(measured - predicted, half, half * (spread.quantile_95 / spread.quantile_80))


def evidence_of(learned: OutOfSample) -> Evidence:
    """Return what is learned from as evidence."""
    rows = learned.measured
    facts = [
        Facts(
            row.run.run_id,
            row.run.source,
            network_family(row.setting.workload.id),
            row.setting.accelerator.architecture,
            row.setting.software_name.partition("-")[0],
            crossed_link(row.setting).kind if row.run.world_size > 1 else "",
            row.run.year or 0,
            float(row.run.world_size),
        )
        for row in rows
    ]

    if learned.transformers is not None:  # of which computation is learned, too
        others = transformers.evidence_of(learned.transformers).rows[: len(learned.transformers.runs)]
        facts += [each._replace(is_judged=False) for each in others]

    def judge(fold: Fold) -> Judged:
        judged = [row for row, is_judged in zip(rows, fold.judged.tolist(), strict=False) if is_judged]
        seen, others = np.split(fold.seen, [len(rows)])
        return judged_by(judged, learned.from_some(seen, others if len(others) else None))

    return Evidence(KIND, facts, judge)


def every_kind(jobs: int = 1) -> list[Evidence]:
    """Return the shipped rows that are learned from, by kind.

    Parameters
    ----------
    jobs : processes that fit runs of data-parallel training
    """
    return [
        transformers.evidence_of(transformers.shipped_transformers()),
        collectives.evidence_of(collectives.shipped_collectives()),
        evidence_of(shipped(jobs)),
    ]


class LeaveOut(NamedTuple):
    """What one test says of every kind of rows."""

    test: str
    rows: dict[str, list[JudgedRow]]
    """By kind."""
    summaries: list[Summary]
    """Of each kind, next to an earlier version on the same rows."""

    def records(self) -> list[Record]:
        """Return the summaries."""
        return [{"test": self.test, **each._asdict()} for each in self.summaries]

    def to_dict(self) -> dict[str, Any]:
        """Return rows and summaries as people script against them."""
        rows = [{"kind": kind, **row._asdict()} for kind, of in self.rows.items() for row in of]
        return {"test": self.test, "rows": rows, "summary": self.records()}


def tested(test: str, evidence: Iterable[Evidence]) -> LeaveOut:
    """Return what a leave-out test says of every kind of rows.

    Raises
    ------
    InputError : the test is not known
    """
    check_test(test)
    rows = {each.kind: leave_out(each, test) for each in evidence}
    summaries = [summary for kind, of in rows.items() for summary in compare_with_before(kind, of)]
    return LeaveOut(test, rows, summaries)
