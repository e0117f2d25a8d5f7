"""What a measured run lets one expect of a claimed job, by the ratio that the model predicts of both."""

from __future__ import annotations

import math
from typing import NamedTuple

from perfmodel.accuracy.scenarios import Refused, scenario_of_run
from perfmodel.equations.ratio import ratio_half_width
from perfmodel.errors import InputError
from perfmodel.prediction import Prediction, predict
from perfmodel.prediction.ratio import Job, job_of, unshared_of
from perfmodel.quote.similar_runs import SimilarRun, as_open
from perfmodel.quote.similar_transformers import SimilarTransformer
from perfmodel.specs.store import Catalogue

SURER = 0.8
"""Of the width of the model's own interval: a run that says hardly more is no better evidence (chosen)."""


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
        measured = predict(scenario_of_run(run, catalogue), catalogue)
    except (Refused, InputError):
        return None
    if measured.interval is None:
        return None
    half = math.log(measured.interval.high_80 / measured.iteration_time)
    ratio = similar.time / measured.iteration_time
    job = job_of(measured)
    job = job._replace(software=as_open(job.software, job_of(prediction).software, framework))
    return _likely(run.run_id, run.source, ratio, half, job, prediction)


def _likely(
    id: str, source: str, ratio: float, half_width: float, job: Job, prediction: Prediction
) -> Likely | None:
    if prediction.interval is None:
        return None
    own = math.log(prediction.interval.high_80 / prediction.iteration_time)
    half = float(ratio_half_width(own, half_width, unshared_of(job_of(prediction), job)))
    return Likely(id, source, prediction.iteration_time * ratio, half) if half < SURER * own else None
