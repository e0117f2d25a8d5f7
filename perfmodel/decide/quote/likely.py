"""A claimed job's time by a measured run, scaled with the ratio that the model predicts."""

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
"""Largest interval width, relative to the model's own, for which a run counts as better evidence (a choice).
"""

MIXED = ("fp16", "amp")
"""Names of the precision in which MLPerf's submissions train."""


class Likely(NamedTuple):
    """The time of a claimed job, scaled from a measured run."""

    id: str
    source: str
    words: str
    """Machines, precision and batch of the run."""
    time: float
    """Iteration time [s]: the predicted one times the error of the run's prediction."""
    half_width: float
    """Half-width of its 80 % interval in log time: the error that the two predictions do not share."""


def likely_of_transformer(similar: SimilarTransformer, prediction: Prediction) -> Likely | None:
    """Return the time scaled from a measured transformer; None where the prediction is more certain."""
    run = similar.run
    ratio = run.time / similar.predicted_time
    return _likely(
        (run.run_id, run.source, similar.words), ratio, similar.half_width, similar.job, prediction
    )


def likely_of_copies(
    similar: SimilarRun, prediction: Prediction, catalogue: Catalogue, framework: str | None
) -> Likely | None:
    """Return the time scaled from a data-parallel run; None where the prediction is more certain.

    Parameters
    ----------
    framework : that the claim states, or None
    """
    run = similar.run
    try:
        options = (
            scenario_of_run(run, catalogue)
            if similar.submission is None
            else scenario_of_submission(similar.submission, catalogue)
        )
        measured = predict(options, catalogue)
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
    return _likely((run.run_id, run.source, similar.words), ratio, half, job, prediction)


def _as_submitted(job: Job, prediction: Prediction) -> Job:
    """Return the job of a submission, with what its rules leave open as in the claim.

    Submission rules assume mixed precision as fp16, and how gradients are exchanged; all versions of a
    network go by the same name.
    """
    claimed = job_of(prediction)
    precision = claimed.precision if claimed.precision in MIXED else job.precision
    (name, length), (claimed_name, claimed_length) = job.workload, claimed.workload
    is_same_network = (version_of(name), length) == (version_of(claimed_name), claimed_length)
    return job._replace(
        workload=claimed.workload if is_same_network else job.workload,
        precision=precision,
        plan={**job.plan, "overlap": claimed.plan.get("overlap")},
    )


def _likely(
    run: tuple[str, str, str], ratio: float, half_width: float, job: Job, prediction: Prediction
) -> Likely | None:
    """Return a job's time scaled by a measured run; None where the prediction is more certain.

    Parameters
    ----------
    run : its id, its source, and its words
    ratio, half_width : measured over predicted time of the run, and half-width of its prediction in log time
    job : of the run
    """
    if prediction.interval is None:
        return None
    own = math.log(prediction.interval.high_80 / prediction.iteration_time)
    halves = own / prediction.interval.scale, half_width
    half = float(ratio_half_width(*halves, unshared_of(job_of(prediction), job, halves, is_again=True)))
    return Likely(*run, prediction.iteration_time * ratio, half) if half < SURER * own else None
