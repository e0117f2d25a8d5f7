"""Measured runs of a job whose options are changed: they stay those of the job as it is."""

from __future__ import annotations

from perfmodel.hardware.catalogue.store import Catalogue
from perfmodel.model.fitted.calibration import Calibration
from perfmodel.model.options.scenario import Scenario
from perfmodel.model.prediction.assemble import settled
from perfmodel.model.prediction.intervals.node_anchor import UNIT
from perfmodel.model.setting.anchor import parse_anchor
from perfmodel.model.setting.resolve import Setting
from perfmodel.model.step.evaluate import outcome


def settled_by_runs_of(
    job: Setting, changed: Scenario, catalogue: Catalogue, constants: Calibration
) -> tuple[Setting, Calibration]:
    """Return the setting and the constants of a changed job, by the anchors of the job as it is.

    What is said of the runs that anchors measured (batch, precision, sharding) is said of the job, not of the
    change.  The measured over the predicted time of computation is then that of the job.

    Parameters
    ----------
    job : as it is, with its anchors
    changed : the job with other values of some options
    catalogue, constants : as for ``predict``

    Raises
    ------
    InputError : as ``predict``
    """
    free, known = settled(changed.model_copy(update={"anchor": None}), catalogue, constants)
    if changed.anchor is None:
        return free, known
    if job.measured and free.layout is not None:
        scenario = free.scenario.model_copy(update={"anchor": job.scenario.anchor})
        return free._replace(measured=job.measured, scenario=scenario), known
    if free.layout is not None:
        anchor = _with_options_of(job, str(changed.anchor))
    else:
        unit, _ = settled(changed.model_copy(update={"anchor": UNIT}), catalogue, constants)
        factors = (float(outcome(each, known).anchor_factor) for each in (job, unit))
        anchor = f"iteration_time={next(factors) / next(factors):.9g}s@1"
    return settled(changed.model_copy(update={"anchor": anchor}), catalogue, constants)


def _with_options_of(job: Setting, text: str) -> str:
    """Return the anchor of a data-parallel job with the options that its run has as a layout."""
    anchor = parse_anchor(text)
    options = {"sharding": "none", "recompute": "none", "micro_batch_size": int(job.local_batch_size)}
    samples = int(job.local_batch_size * job.accumulation_steps * anchor.world_size)
    options |= {"global_batch_size": samples, "precision": job.precision}
    return anchor._replace(options=options).words()
