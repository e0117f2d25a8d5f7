"""One evaluation of an iteration: what ``predict``, a fit, a what-if and an explanation all call."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from perfmodel.calibration import Calibration
from perfmodel.equations.iteration import anchored_time, iteration_time
from perfmodel.equations.transformer_anchor import weighted_anchor_factor
from perfmodel.resolve import Setting
from perfmodel.step.computation import Computation
from perfmodel.step.fabric import Fabric
from perfmodel.step.parts import (
    anchor_factor,
    communicates,
    computation_of,
    exchange,
    fabric_of,
    scaled,
    work_alone,
)
from perfmodel.step.terms import Moment, SharedMoment, exposed_traffic, terms_of

if TYPE_CHECKING:
    from perfmodel.transformers.step import Step as SharedStep


class Step(NamedTuple):
    """One iteration, worked out."""

    iteration_time: float
    terms: dict[str, float]
    """Exposed times by name, which sum to ``iteration_time`` [s]."""
    work: Computation
    """Of one accelerator, an anchor's factor in it."""
    anchor_factor: float
    fabric: Fabric
    communication_time: Any
    """On its own, nothing hidden [s]."""
    exposed_communication_time: Any
    """What it adds to the iteration [s]."""


class Outcome(NamedTuple):
    """What one iteration comes to, whichever way the network is trained."""

    iteration_time: Any
    terms: dict[str, Any]
    """Exposed times by name, which sum to ``iteration_time`` [s]."""
    anchor_factor: Any = 1.0
    """By which a measured run moved all of them."""


class MeasuredRun(NamedTuple):
    """A measured run of a transformer that is shared out, and what it says of the predicted job."""

    measured_time: Any
    """[s]"""
    predicted_time: Any
    """Of the same run, from specs [s]."""
    weight: Any
    """Of the logarithm of one over the other, 1 where the job is that run."""


def outcome(setting: Setting, constants: Calibration, start: MeasuredRun | None = None) -> Outcome:
    """Return what one iteration takes, of copies of a network or of a transformer that is shared out.

    Parameters
    ----------
    setting, constants : of the job
    start : the measured run of an anchor, by default as ``measured_run`` says
    """
    if setting.layout is None:
        step = evaluate(setting, constants)
        return Outcome(step.iteration_time, step.terms, step.anchor_factor)
    from perfmodel.transformers.evaluate import step_of_setting

    step_of_job = step_of_setting(setting)
    return outcome_of(setting, step_of_job, constants, start or measured_run(setting, constants))


def measured_run(setting: Setting, constants: Calibration) -> MeasuredRun | None:
    """Return the measured run that a setting's anchor is of; None where there is none."""
    run = setting.measured
    if run is None:
        return None
    from perfmodel.anchor import parse_anchor
    from perfmodel.transformers.anchor import weight_between

    anchor = parse_anchor(str(setting.scenario.anchor))
    measured_time = anchor.iteration_time(run.global_batch_size, run.workload.sequence_length)
    return MeasuredRun(measured_time, outcome(run, constants).iteration_time, weight_between(run, setting))


def outcome_of(
    setting: Setting, step: SharedStep, constants: Calibration, start: MeasuredRun | None = None
) -> Outcome:
    """Return what the step of a transformer that is shared out comes to."""
    terms = terms_of(SharedMoment(setting, step, constants))
    if start is None:
        return Outcome(iteration_time(**terms), terms)
    factor = weighted_anchor_factor(*start)
    terms = {name: anchored_time(time, factor) for name, time in terms.items()}
    return Outcome(iteration_time(**terms), terms, factor)


def evaluate(setting: Setting, constants: Calibration) -> Step:
    """Return what one iteration of copies of a network takes, by the learned efficiencies."""
    work = computation_of(setting, setting.local_batch_size, constants, setting.accumulation_steps)
    factor = anchor_factor(setting, work_alone(setting, work, constants), constants)
    work = scaled(work, factor)
    on = fabric_of(setting, constants)
    alone = exposed = 0.0
    if communicates(setting):
        alone, exposed = exchange(setting, work, on, on, constants)
    terms = terms_of(Moment(setting, work, factor, exposed_traffic(setting, on, exposed), constants))
    whole: Any = iteration_time(**terms)
    return Step(whole, terms, work, factor, on, alone, exposed)
