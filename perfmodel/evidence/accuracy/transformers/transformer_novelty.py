"""What is new about a measured run of a transformer."""

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
    """Return what is new about a run that has a case, to the shipped fit or another."""
    assert run.case is not None
    # software that nobody described may be far from the nearest that somebody did
    software = UNKNOWN if run.nearest_stack else software_of_row(run.framework).stack
    others = widenings(run.case.model, float(run.case.sequence_length), run.precision, _utilisation(run))
    return novelty(run.case.model, run.accelerator, software, fit, others)


def _utilisation(run: TransformerRun) -> float:
    """Return the utilisation that the shipped fit predicts of a run that has a case."""
    assert run.case is not None
    job, precision = job_of(run.case), PRECISIONS[run.precision]
    peak = peak_of(run.case.fabric.accelerator, precision)
    time = step_of(job, fitted().parameters).iteration_time
    return float(job.flops(3.0) / (job.layout.world_size * peak * time))
