"""The campaign of submissions to MLPerf Training: how each row was read and predicted."""

from __future__ import annotations

from perfmodel.core.units import show, show_range
from perfmodel.evidence.accuracy.campaign import Campaign, Details
from perfmodel.evidence.accuracy.measured_table import Line
from perfmodel.evidence.accuracy.mlperf.mlperf import Row, compare_mlperf
from perfmodel.evidence.accuracy.mlperf.mlperf_rows import (
    COLUMNS,
    Submission,
    scenario_of_submission,
    shipped_submissions,
    submission_of,
)
from perfmodel.evidence.accuracy.readings import Reading
from perfmodel.evidence.accuracy.training_campaign import scenario_command, scenario_readings
from perfmodel.hardware.catalogue.store import Catalogue
from perfmodel.model.prediction import predict


def _details(line: Line, of: Submission, outcome: Row, catalogue: Catalogue) -> Details:
    made = outcome.made
    if outcome.predicted is None or made.curve is None:
        return Details()
    scenario = scenario_of_submission(of, catalogue)
    readings = scenario_readings(
        line, scenario, predict(scenario, catalogue), "as the benchmark is submitted"
    )
    batch = f"{of.batch} over {of.job.world_size} accelerators"
    split = f"{scenario.local_batch_size} x {scenario.accumulation_steps}"
    target = "" if made.curve.target else ", some of another target"
    why = f"a curve through {made.curve.runs} submissions of the other rounds{target}"
    iteration = made.iteration
    span = (
        f", 80 %: {show_range(iteration.low_80, iteration.high_80, 's')}"
        if iteration.low_80 and iteration.high_80
        else ""
    )
    readings = [
        *(each for each in readings if each.what not in ("samples of an accelerator", "micro-batches")),
        Reading("batch", batch, split, "the fewest micro-batches that fit"),
        Reading("samples to the target", _count(of.samples_to_target), _count(made.samples_to_target), why),
        Reading(
            "iteration time",
            show(iteration.measured, "s") if iteration.measured else "",
            show(iteration.predicted or 0.0, "s") + span,
            "measured and predicted",
        ),
    ]
    evaluation = made.evaluation_time or 0.0
    terms = {"training": outcome.predicted - evaluation, "evaluation": evaluation}
    return Details(readings, terms, scenario_command(scenario, catalogue)._replace(of="one iteration"))


def _count(samples: float | None) -> str:
    return f"{samples:.0f}" if samples else ""


CAMPAIGN = Campaign[Submission](
    kind="mlperf",
    table="mlperf.csv",
    id_column="run_id",
    columns=COLUMNS,
    measures="time to train",
    unit="s",
    is_learned_from=False,
    read=lambda line, catalogue: submission_of(line),
    predict=lambda of, catalogue: compare_mlperf("specs", of, catalogue, others=shipped_submissions()),
    details=_details,
)
