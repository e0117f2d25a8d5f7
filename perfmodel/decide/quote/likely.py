"""What a measured run lets one expect of a claimed job, by the ratio that the model predicts of both."""

from __future__ import annotations

import math
from typing import NamedTuple

from perfmodel.core.errors import InputError
from perfmodel.decide.quote.similar_runs import SimilarRun, as_open
from perfmodel.decide.quote.similar_transformers import SimilarTransformer
from perfmodel.equations.ratio import ratio_half_width
from perfmodel.evidence.accuracy.mlperf.mlperf_rows import scenario_of_submission
from perfmodel.evidence.accuracy.scenarios import Refused, scenario_of_run
from perfmodel.hardware.catalogue.store import Catalogue
from perfmodel.model.prediction import Prediction, predict
from perfmodel.model.prediction.intervals.ratio import Job, job_of, unshared_of
from perfmodel.workloads.catalogue import version_of

SURER = 0.8
"""Of the width of the model's own interval: a run that says hardly more is no better evidence (chosen)."""

MIXED = ("fp16", "amp")
"""Precisions that people call the one MLPerf's submissions train in."""


class Likely(NamedTuple):
    """The time of a claimed job, as a measured run has it."""

    id: str
    source: str
    time: float
    """Of an iteration [s]: the predicted one, as far off as that run's prediction is."""
    half_width: float
    """Of its 80 % interval, as a logarithm: what the two predictions do not share of their error."""


def likely_of_transformer(similar: SimilarTransformer, prediction: Prediction) -> Likely | None:
    """Return what a run of a transformer lets one expect; None where the prediction alone says more."""
    run = similar.run
    ratio = run.time / similar.predicted_time
    return _likely(run.run_id, run.source, ratio, similar.half_width, similar.job, prediction)


def likely_of_copies(
    similar: SimilarRun, prediction: Prediction, catalogue: Catalogue, framework: str | None
) -> Likely | None:
    """Return what a run of copies of a network lets one expect; None where the prediction alone says more.

    The framework is the one that the claim states.
    """
    run = similar.run
    try:
        asked = (
            scenario_of_run(run, catalogue)
            if similar.submission is None
            else scenario_of_submission(similar.submission, catalogue)
        )
        measured = predict(asked, catalogue)
    except (Refused, InputError):
        return None
    if measured.interval is None:
        return None
    half = math.log(measured.interval.high_80 / measured.iteration_time) / measured.interval.scale
    ratio = similar.time / measured.iteration_time
    job = job_of(measured)
    job = job._replace(software=as_open(job.software, job_of(prediction).software, framework))
    if similar.submission is not None:
        job = _as_submitted(job, prediction)
    return _likely(run.run_id, run.source, ratio, half, job, prediction)


def _as_submitted(job: Job, prediction: Prediction) -> Job:
    """The job of a submission, as far as it is assumed or a name leaves it open as the claim has it.

    Rules assume mixed precision as fp16, and how gradients travelled; people call each version of a network
    by the name of one.
    """
    claimed = job_of(prediction)
    precision = claimed.precision if claimed.precision in MIXED else job.precision
    (name, length), (claimed_name, claimed_length) = job.workload, claimed.workload
    alike = (version_of(name), length) == (version_of(claimed_name), claimed_length)
    return job._replace(
        workload=claimed.workload if alike else job.workload,
        precision=precision,
        plan={**job.plan, "overlap": claimed.plan.get("overlap")},
    )


def _likely(
    id: str, source: str, ratio: float, half_width: float, job: Job, prediction: Prediction
) -> Likely | None:
    if prediction.interval is None:
        return None
    own = math.log(prediction.interval.high_80 / prediction.iteration_time)
    halves = own / prediction.interval.scale, half_width
    half = float(ratio_half_width(*halves, unshared_of(job_of(prediction), job, halves, is_again=True)))
    return Likely(id, source, prediction.iteration_time * ratio, half) if half < SURER * own else None
