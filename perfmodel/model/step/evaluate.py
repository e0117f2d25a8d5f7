"""One evaluation of an iteration: what ``predict``, a fit, a what-if and an explanation all call."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from perfmodel.core import ops
from perfmodel.core.tracing.tracing import given
from perfmodel.equations.iteration import iteration_time
from perfmodel.equations.levels import own_runs_factor
from perfmodel.model.fitted.calibration import Calibration
from perfmodel.model.setting.resolve import Setting
from perfmodel.model.step.computation import Computation
from perfmodel.model.step.fabric import Fabric
from perfmodel.model.step.parts import (
    Exchanged,
    anchor_factor,
    communicates,
    computation_of,
    exchange,
    fabric_of,
    scaled,
    work_alone,
)
from perfmodel.model.step.terms import StepContext, exposed_traffic, terms_of

if TYPE_CHECKING:
    from perfmodel.model.transformers.levels import Update
    from perfmodel.model.transformers.step import Step as SharedStep


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
    """What no computation hides [s]."""
    contention_time: Any
    """By how much what is hidden slows computation [s]."""


class Outcome(NamedTuple):
    """What one iteration comes to, whichever way the network is trained."""

    iteration_time: Any
    terms: dict[str, Any]
    """Exposed times by name, which sum to ``iteration_time`` [s]."""
    anchor_factor: Any = 1.0
    """By which a measured run moved all of them."""


def outcome(setting: Setting, constants: Calibration, start: Update | None = None) -> Outcome:
    """Return what one iteration takes, of copies of a network or of a transformer that is shared out.

    Parameters
    ----------
    setting, constants : of the job
    start : what measured runs say of it, by default as ``start_of`` says
    """
    if setting.layout is None:
        step = evaluate(setting, constants)
        return Outcome(step.iteration_time, step.terms, step.anchor_factor)
    from perfmodel.model.transformers.evaluate import step_of_setting

    step_of_job = step_of_setting(setting)
    return outcome_of(setting, step_of_job, constants, start or start_of(setting, constants))


def start_of(setting: Setting, constants: Calibration) -> Update | None:
    """Return what an anchor and own runs say of a transformer; None where there are none of it."""
    if setting.layout is None or not (setting.measured or (constants.own and constants.own.transformers)):
        return None
    from perfmodel.model.transformers.own_runs import runs_of, update_of

    return update_of(setting, runs_of(setting, constants))


def outcome_of(
    setting: Setting, step: SharedStep, constants: Calibration, start: Update | None = None
) -> Outcome:
    """Return what the step of a transformer that is shared out comes to."""
    terms = terms_of(StepContext(setting, constants, step._asdict()))
    if start is None:
        return Outcome(iteration_time(**terms), terms)
    shift = start.shift
    if ops.plain(shift) is shift:
        shift = given(shift, "own_runs.shift", "your own runs, by what jobs of one source share")
    factor = own_runs_factor(shift)
    terms = {name: time * factor for name, time in terms.items()}
    return Outcome(iteration_time(**terms), terms, factor)


def evaluate(setting: Setting, constants: Calibration) -> Step:
    """Return what one iteration of copies of a network takes, by the learned efficiencies."""
    work = computation_of(setting, setting.local_batch_size, constants, setting.accumulation_steps)
    factor = anchor_factor(setting, work_alone(setting, work, constants), constants)
    work = scaled(work, factor)
    on = fabric_of(setting, constants)
    exchanged = exchange(setting, work, on, on, constants) if communicates(setting) else Exchanged()
    return step_of_parts(setting, work, factor, on, exchanged, constants)


def step_of_parts(
    setting: Setting, work: Computation, factor: Any, on: Fabric, exchanged: Exchanged, constants: Calibration
) -> Step:
    """Return an iteration of a data-parallel job from its parts, numbers or arrays.

    Parameters
    ----------
    setting, work, factor, on : of the iteration, as ``Step`` has them
    exchanged : its communication
    constants : what was learned
    """
    known = exposed_traffic(setting, on, exchanged.exposed, exchanged.contention)
    terms = terms_of(StepContext(setting, constants, known, work, factor))
    whole: Any = iteration_time(**terms)
    return Step(whole, terms, work, factor, on, *exchanged)
