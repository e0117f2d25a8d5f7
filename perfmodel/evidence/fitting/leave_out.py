"""Leave-out tests of data-parallel training, and the tests of all kinds of measured rows together."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from perfmodel.core.files.tables import Record, Table
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


def judge_from_specs(rows: Sequence[Measured], constants: Calibration) -> Judged:
    """Return errors and interval widths of runs predicted from specs.

    The half-width is that above the prediction, because the lower end may be cut at a physical bound.  That
    of 95 % follows from the quantiles of the spread, even where a prediction would not state it.

    Parameters
    ----------
    rows : measured runs
    constants : learned numbers that predict them
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
    """Return the measured rows with their categories, and the fits that judge them."""
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

    if learned.transformers is not None:  # the fit of computation learns from them, too
        others = transformers.evidence_of(learned.transformers).rows[: len(learned.transformers.runs)]
        facts += [each._replace(is_judged=False) for each in others]

    def judge(fold: Fold) -> Judged:
        judged = [row for row, is_judged in zip(rows, fold.judged.tolist(), strict=False) if is_judged]
        seen, others = np.split(fold.seen, [len(rows)])
        return judge_from_specs(judged, learned.from_some(seen, others if len(others) else None))

    return Evidence(KIND, facts, judge)


def evidence_of_all_kinds(jobs: int = 1) -> list[Evidence]:
    """Return the shipped rows that fits learn from, with the fits that judge them, for each kind of rows.

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
    """Results of one leave-out test."""

    test: str
    rows: dict[str, list[JudgedRow]]
    """Judged rows by kind."""
    summaries: list[Summary]
    """Summaries of each kind, by the current version and, on the same rows, by an earlier one."""

    def records(self) -> list[Record]:
        """Return the summaries as dictionaries for a table."""
        return [{"test": self.test, **each._asdict()} for each in self.summaries]

    def to_dict(self) -> dict[str, Any]:
        """Return rows and summaries as a dictionary for JSON."""
        rows = [{"kind": kind, **row._asdict()} for kind, of in self.rows.items() for row in of]
        return {"test": self.test, "rows": rows, "summary": self.records()}


@dataclass(frozen=True)
class LeaveOutTests(Table):
    """What several tests say."""

    tests: tuple[LeaveOut, ...]

    def records(self) -> list[Record]:
        """Return the summaries of all."""
        return [line for test in self.tests for line in test.records()]

    def to_json(self) -> str:
        """Return what ``perfmodel validate --leave-out`` prints with ``--json``."""
        return json.dumps([test.to_dict() for test in self.tests], allow_nan=False)


def run_test(test: str, evidence: Iterable[Evidence]) -> LeaveOut:
    """Run a leave-out test on every kind of rows.

    Raises
    ------
    InputError : the test is unknown
    """
    check_test(test)
    rows = {each.kind: leave_out(each, test) for each in evidence}
    summaries = [summary for kind, of in rows.items() for summary in compare_with_before(kind, of)]
    return LeaveOut(test, rows, summaries)
