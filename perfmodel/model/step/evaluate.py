"""The evaluation of one iteration, used by predictions, fits, what-if comparisons and explanations."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from perfmodel.core import ops
from perfmodel.core.choices import ONE_PROCESS
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
from perfmodel.model.step.step_context import StepContext
from perfmodel.model.step.terms import terms_of

if TYPE_CHECKING:
    from perfmodel.model.transformers.levels import Update
    from perfmodel.model.transformers.step import Step as TransformerStep


class Step(NamedTuple):
    """The evaluation of one iteration of a data-parallel job."""

    iteration_time: float
    terms: dict[str, float]
    """Exposed times by name, which sum to ``iteration_time`` [s]."""
    work: Computation
    """Times of one accelerator, including an anchor's factor."""
    anchor_factor: float
    fabric: Fabric
    communication_time: Any
    """Communication without overlap [s]."""
    exposed_communication_time: Any
    """Communication not hidden by computation [s]."""
    contention_time: Any
    """Slowdown of computation by hidden communication [s]."""


class Outcome(NamedTuple):
    """Time and terms of one iteration, of a data-parallel job or of a transformer with a layout."""

    iteration_time: Any
    terms: dict[str, Any]
    """Exposed times by name, which sum to ``iteration_time`` [s]."""
    anchor_factor: Any = 1.0
    """Factor of measured runs in all terms."""


def outcome(setting: Setting, constants: Calibration, start: Update | None = None) -> Outcome:
    """Return time and terms of one iteration, of a data-parallel job or of a transformer with a layout.

    Parameters
    ----------
    setting, constants : of the job
    start : update by measured runs, by default the result of ``start_of``
    """
    if setting.layout is None:
        step = evaluate(setting, constants)
        return Outcome(step.iteration_time, step.terms, step.anchor_factor)
    from perfmodel.model.transformers.evaluate import step_of_setting

    step_of_job = step_of_setting(setting)
    return outcome_of(setting, step_of_job, constants, start or start_of(setting, constants))


def start_of(setting: Setting, constants: Calibration) -> Update | None:
    """Return the update of a transformer's prediction by anchors and own runs; None without any."""
    if setting.layout is None or not (setting.measured or (constants.own and constants.own.transformers)):
        return None
    from perfmodel.model.transformers.own_runs import runs_of, update_of

    return update_of(setting, runs_of(setting, constants))


def outcome_of(
    setting: Setting, step: TransformerStep, constants: Calibration, start: Update | None = None
) -> Outcome:
    """Return time and terms of a transformer's iteration, given the terms of its step."""
    terms = terms_of(StepContext(setting, constants, step._asdict()))
    if start is None:
        return Outcome(iteration_time(**terms), terms)
    shift = start.shift
    if ops.plain(shift) is shift:
        shift = given(shift, "own_runs.shift", "your own runs, by what jobs of one source share")
    factor = own_runs_factor(shift)
    terms = {name: time * factor for name, time in terms.items()}
    return Outcome(iteration_time(**terms), terms, factor)


def evaluate(setting: Setting, constants: Calibration, work: Computation | None = None) -> Step:
    """Return the evaluation of one iteration of a data-parallel job.

    Parameters
    ----------
    setting, constants : of the job
    work : computation of the job, where it is known
    """
    if work is None:
        work = own_work(setting, constants)
    factor = anchor_factor(setting, work_alone(setting, work, constants), constants)
    work = scaled(work, factor)
    fabric = fabric_of(setting, constants)
    exchanged = exchange(setting, work, fabric, fabric, constants) if communicates(setting) else Exchanged()
    return step_of_parts(setting, work, factor, fabric, exchanged, constants)


def own_work(setting: Setting, constants: Calibration) -> Computation:
    """Return the computation of one accelerator with the batch of a job, without an anchor's factor."""
    return computation_of(setting, setting.local_batch_size, constants, setting.accumulation_steps)


def step_of_parts(
    setting: Setting,
    work: Computation,
    factor: Any,
    fabric: Fabric,
    exchanged: Exchanged,
    constants: Calibration,
) -> Step:
    """Return an iteration of a data-parallel job from its parts, numbers or arrays.

    Parameters
    ----------
    setting, work, factor, fabric : of the iteration, as in ``Step``
    exchanged : communication of the iteration
    constants : learned constants
    """
    known = _exposed_traffic(setting, fabric, exchanged.exposed, exchanged.contention)
    terms = terms_of(StepContext(setting, constants, known, work, factor))
    whole: Any = iteration_time(**terms)
    return Step(whole, terms, work, factor, fabric, *exchanged)


def _exposed_traffic(setting: Setting, fabric: Fabric, exposed: Any, contention: Any = 0.0) -> dict[str, Any]:
    """Return the times that communication of replicas adds, by the names of their terms [s].

    Parameters
    ----------
    setting, fabric : of the iteration; numbers, or in a sweep arrays
    exposed : total communication not hidden [s]; 0 without communication
    contention : slowdown of computation by hidden communication [s]
    """
    if setting.strategy == ONE_PROCESS:
        from perfmodel.model.step.one_process import traffic

        return traffic(setting, fabric)
    return {"exposed_communication_time": exposed, "contention_time": contention}
