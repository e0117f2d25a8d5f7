"""Submissions to MLPerf Training, as a campaign."""

from __future__ import annotations

from collections.abc import Sequence

from perfmodel.accuracy.campaign import Campaign, Command, Outcome
from perfmodel.accuracy.measured_table import Line
from perfmodel.accuracy.mlperf import Answer, answers_beside, curve_without
from perfmodel.accuracy.mlperf_rows import COLUMNS, Submission, shipped_submissions, submission_of
from perfmodel.accuracy.mlperf_rules import scenario_of_submission
from perfmodel.accuracy.readings import Reading
from perfmodel.accuracy.training_campaign import scenario_command, scenario_readings
from perfmodel.prediction import predict
from perfmodel.specs.store import Catalogue
from perfmodel.units import show, show_range


def outcomes(submissions: Sequence[Submission], catalogue: Catalogue) -> list[Outcome]:
    """Predict submissions from specs, their epochs by the other rounds that come along."""
    return [
        Outcome(each.submission.time_to_train, each.time_to_train, reason=each.reason or None)
        for each in _answers(submissions, catalogue)
    ]


def _answers(submissions: Sequence[Submission], catalogue: Catalogue) -> list[Answer]:
    return answers_beside(submissions, shipped_submissions(), catalogue)


def _readings(line: Line, submission: Submission, catalogue: Catalogue) -> list[Reading]:
    (answer,) = _answers([submission], catalogue)
    if answer.reason:
        return []
    scenario = scenario_of_submission(submission, catalogue)
    result = scenario_readings(line, scenario, predict(scenario, catalogue), "as the benchmark is submitted")
    batch = f"{submission.global_batch_size} over {submission.world_size} accelerators"
    split = f"{scenario.local_batch_size} x {scenario.accumulation_steps}"
    curve = curve_without(submission.round, submission.benchmark, [*shipped_submissions(), submission])
    target = "" if curve.same_target else ", some of another target"
    why = f"a curve through {curve.submissions} submissions of the other rounds{target}"
    iteration = answer.iteration.predicted or 0.0
    measured = show(answer.iteration_time, "s") if answer.iteration_time else ""
    interval = answer.interval
    span = f", 80 %: {show_range(interval.low_80, interval.high_80, 's')}" if interval else ""
    return [
        *(each for each in result if each.what not in ("samples of an accelerator", "micro-batches")),
        Reading("batch", batch, split, "the fewest micro-batches that fit"),
        Reading(
            "samples to the target",
            _count(submission.samples_to_target),
            _count(answer.samples_to_target),
            why,
        ),
        Reading("iteration time", measured, show(iteration, "s") + span, "predicted beside measured"),
    ]


def _count(samples: float | None) -> str:
    return f"{samples:.0f}" if samples else ""


def _terms(submission: Submission, catalogue: Catalogue) -> dict[str, float]:
    (answer,) = _answers([submission], catalogue)
    assert answer.samples_to_target is not None
    assert answer.samples_per_second is not None
    training = answer.samples_to_target / answer.samples_per_second
    return {"training": training, "evaluation": answer.evaluation_time or 0.0}


def _command(line: Line, submission: Submission, catalogue: Catalogue) -> Command:
    command = scenario_command(scenario_of_submission(submission, catalogue), catalogue)
    return command._replace(of="one iteration")


CAMPAIGN = Campaign[Submission](
    kind="mlperf",
    table="mlperf.csv",
    id_column="run_id",
    columns=COLUMNS,
    measures="time to train",
    unit="s",
    is_learned_from=False,
    read=lambda line, catalogue: submission_of(line),
    predict=outcomes,
    readings=_readings,
    terms=_terms,
    command=_command,
)
