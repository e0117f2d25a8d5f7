"""Novelty of a measured run of a transformer: what the fit has not seen, which widens the interval."""

from __future__ import annotations

from perfmodel.evidence.accuracy.transformers.transformer_rows import PRECISIONS, TransformerRun
from perfmodel.evidence.accuracy.transformers.transformer_software import software_of_row
from perfmodel.model.transformers.figures import peak_of
from perfmodel.model.transformers.job import job_of
from perfmodel.model.transformers.parameters import Fitted, fitted
from perfmodel.model.transformers.step import step_of
from perfmodel.model.transformers.uncertainty import Novelty, novelty, widenings

UNKNOWN = "software that nobody described"


def novelty_of(run: TransformerRun, fit: Fitted | None = None) -> Novelty:
    """Return what a fit has not seen of a run, which must have a case.

    Parameters
    ----------
    run : measured run
    fit : by default the shipped one
    """
    assert run.case is not None
    # unknown software may differ much from the known stack that replaces it
    software = UNKNOWN if run.nearest_stack else software_of_row(run.framework).stack
    others = widenings(run.case.model, float(run.case.sequence_length), run.precision, _utilisation(run))
    return novelty(run.case.model, run.accelerator, software, fit, others)


def _utilisation(run: TransformerRun) -> float:
    """Return the utilisation that the shipped fit predicts for a run, which must have a case."""
    assert run.case is not None
    job, precision = job_of(run.case), PRECISIONS[run.precision]
    peak = peak_of(run.case.fabric.accelerator, precision)
    time = step_of(job, fitted().parameters).iteration_time
    return float(job.flops(3.0) / (job.layout.world_size * peak * time))
