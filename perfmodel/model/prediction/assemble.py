"""Assembly of a prediction: evaluation, interval, memory, verdict and warnings of a scenario."""

from __future__ import annotations

import math
from functools import partial
from typing import TYPE_CHECKING, Any

from perfmodel.core.choices import ONE_PROCESS
from perfmodel.core.errors import refusal
from perfmodel.core.units import show
from perfmodel.hardware.catalogue.store import Catalogue
from perfmodel.model.fitted.calibration import Calibration, calibrated, calibration, constants_of
from perfmodel.model.options.compression import caveats as compression_caveats
from perfmodel.model.options.risk import PLANNING_CONFIDENCE, Risk
from perfmodel.model.options.scenario import AnyScenario, Scenario, scenario_of
from perfmodel.model.prediction.card import at_confidence
from perfmodel.model.prediction.intervals.absurd import absurd, checked
from perfmodel.model.prediction.intervals.bound import (
    above_peak,
    least_computation_time,
    least_exchange_rate,
    least_times,
)
from perfmodel.model.prediction.intervals.interval import interval, mode_of
from perfmodel.model.prediction.intervals.widening import unseen_link, widening_strengths
from perfmodel.model.prediction.limits import network_limit, replicas_alone
from perfmodel.model.prediction.memory import does_not_fit, memory_needed
from perfmodel.model.prediction.numbers import Evaluated, Exchange, job_of_copies, prediction_of
from perfmodel.model.prediction.result import NO_UPDATES, Memory, Prediction
from perfmodel.model.prediction.traffic import traffic_of
from perfmodel.model.prediction.verdict import placement, slower_than_one, verdict
from perfmodel.model.setting.resolve import Setting, resolve
from perfmodel.model.step.communication import choice_note
from perfmodel.model.step.evaluate import Step, evaluate, outcome
from perfmodel.model.step.own_update import with_own_update
from perfmodel.model.step.parts import (
    alone_time,
    communicates,
    computation_of,
    merging_cost,
    peak_time,
    scaled,
    whole_batch,
    with_cheapest_exchange,
    work_alone,
)
from perfmodel.model.step.stragglers import spread_note

if TYPE_CHECKING:
    from typing import Unpack

    from perfmodel.model.options.keywords import SizedOptions


AT_PEAK = "computing is taken at the peak: no similar job was measured, and learned rates would exceed it"
_ROUNDING = 1e-9
TIMES = ("iteration_time", "communication_time", "exposed_communication_time", "contention_time")
"""Times of a step that are converted to plain Python numbers."""


def predict(
    scenario: AnyScenario | None = None,
    catalogue: Catalogue | None = None,
    constants: Calibration | None = None,
    confidence: float = PLANNING_CONFIDENCE,
    **options: Unpack[SizedOptions],
) -> Prediction:
    """Predict one training iteration.

    Parameters
    ----------
    scenario : the job, or a mapping of its options; options left open take defaults, which the answer lists
    catalogue : of hardware; by default the built-in one
    constants : learned efficiencies; the scenario's ``calibration`` takes precedence; by default those
        shipped with the package
    confidence : how sure to be of the throughput to plan with, on the answer card: 0.5 to 0.99
    options : that replace those of the scenario

    Raises
    ------
    InputError : an unknown option or name, a batch that does not divide, a precision the accelerator lacks

    Examples
    --------
    A ring hides most of its traffic behind the backward pass of ResNet-50:

    >>> from perfmodel.model.options.scenario import Scenario
    >>> scenario = Scenario(workload="resnet50", accelerator="v100-sxm2-16gb", gpus=32)
    >>> answer = predict(scenario)
    >>> 0.5 < answer.scaling_efficiency < 1
    True

    Options as keywords form a scenario, or replace options of one:

    >>> predict(workload="resnet50", gpus=32).iteration_time == answer.iteration_time
    True
    >>> predict(scenario, inter_link="ethernet-10g-tcp").iteration_time > answer.iteration_time
    True

    The answer's own scenario, with every default in it, has the same answer:

    >>> predict(answer.scenario).iteration_time == answer.iteration_time
    True
    """
    if options or scenario is None:
        from perfmodel.model.options.keywords import scenario_from

        scenario = scenario_from(scenario, options)
    made = prediction_of_setting(*settled(scenario, Catalogue.of(catalogue), constants_of(constants)))
    return made if confidence == PLANNING_CONFIDENCE else at_confidence(made, Risk(confidence=confidence))


def prediction_of_setting(setting: Setting, constants: Calibration) -> Prediction:
    """Return the prediction of a job as ``settled`` returns it.

    Raises
    ------
    InputError : as for ``predict``
    """
    if setting.layout is None:
        return checked(_data_parallel_prediction, setting, constants)
    from perfmodel.model.prediction.shared import shared_prediction

    try:
        return shared_prediction(setting, constants)
    except (FloatingPointError, OverflowError) as error:
        raise absurd(error) from error


def settled(
    scenario: AnyScenario, catalogue: Catalogue, constants: Calibration
) -> tuple[Setting, Calibration]:
    """Return the setting of a scenario and the constants of its prediction.

    The constants include those of a profile, and the effects of own runs.

    Raises
    ------
    InputError : as for ``predict``
    """
    scenario = scenario_of(scenario)
    if scenario.calibration is not None:
        learned = calibrated(str(scenario.calibration), scenario.profile, catalogue)
        return settled_by_own_runs(scenario, catalogue, learned)
    if scenario.profile is None:
        if scenario.anchor is not None and not scenario.anchor.strip().endswith("@1"):
            from perfmodel.model.prediction.intervals.node_anchor import anchored_setting

            return anchored_setting(scenario, catalogue, constants), constants
        return resolve(scenario, catalogue), constants
    return _settled_with_profile(scenario, catalogue, constants)


def settled_by_own_runs(
    scenario: Scenario, catalogue: Catalogue, constants: Calibration
) -> tuple[Setting, Calibration]:
    """Return setting and constants as ``settled`` does, by the constants of the scenario's calibration."""
    from perfmodel.model.prediction.intervals.own_runs import remark

    path = str(scenario.calibration)
    uncalibrated = scenario.model_copy(update={"calibration": None})
    setting, constants = settled(uncalibrated, catalogue, constants)
    own = constants.own
    notes: tuple[str, ...] = ()
    if own is not None and not (setting.layout and own.transformers):
        notes = (remark(setting, own),)
    is_from_specs = setting.layout is None and scenario.anchor is None and scenario.profile is None
    if own is not None and is_from_specs:
        from perfmodel.model.prediction.intervals.measured_jobs import anchored_on_own_runs, measured_words

        setting = anchored_on_own_runs(setting, own.jobs, uncalibrated, catalogue, constants)
        if setting.repeat is not None:
            notes = (measured_words(setting.repeat, path),)
    if own is not None:
        notes += (f"{path}: {own.caution}",) if own.caution else ()
        before = time_of(*settled(uncalibrated, catalogue, calibration()))
        setting = setting._replace(time_without_own_runs=before)
    calibrated_scenario = setting.scenario.model_copy(update={"calibration": path})
    return setting._replace(scenario=calibrated_scenario, warnings=(*setting.warnings, *notes)), constants


def _settled_with_profile(
    scenario: Scenario, catalogue: Catalogue, constants: Calibration
) -> tuple[Setting, Calibration]:
    """Return setting and constants of a scenario with a measured profile."""
    from perfmodel.model.setting.profile import read_profile
    from perfmodel.model.step.profiled import completed, defaults_of, warnings_of, with_profile

    if scenario.anchor is not None:
        raise refusal("anchor.and_profile")
    profile = read_profile(str(scenario.profile))
    scenario, taken = completed(scenario, profile)
    setting = resolve(scenario, catalogue)
    report = (*setting.warnings, *warnings_of(setting, profile))
    setting = setting._replace(warnings=report, defaults=(*defaults_of(setting, profile), *taken))
    return setting, with_profile(constants, profile)


def time_and_strengths(
    scenario: Scenario, catalogue: Catalogue, constants: Calibration
) -> tuple[float, dict[str, float]]:
    """Return the iteration time [s] and the strengths of conditions that widen its interval.

    Raises
    ------
    InputError : as for ``predict``
    """
    setting = resolve(scenario, catalogue)
    step = evaluate(setting, constants)
    return step.iteration_time, widening_strengths(setting, step.work, step.terms, constants)


def time_of(setting: Setting, constants: Calibration) -> float:
    """Return the iteration time of a setting [s], without the rest of a prediction."""
    return float(outcome(setting, constants).iteration_time)


def _data_parallel_prediction(setting: Setting, constants: Calibration) -> Prediction:
    """Return the prediction of a data-parallel job."""
    step = evaluate(setting, constants)
    plain: dict[str, Any] = {name: float(getattr(step, name)) for name in TIMES}
    step = step._replace(**plain, terms={name: float(time) for name, time in step.terms.items()})
    time, fabric = step.iteration_time, step.fabric
    if not (math.isfinite(time) and time > 0):
        raise refusal("job.time", time=time)
    baseline_time = _baseline_time(setting, step, constants)
    slowest = fabric.inter_link_bandwidth if setting.domains > 1 else fabric.intra_link_bandwidth
    over = Exchange(unseen_link(setting, constants), least_exchange_rate(setting), slowest)
    job, width = job_of_copies(setting, step, baseline_time, over, constants)
    memory = memory_needed(setting, constants, job.need)
    updates = NO_UPDATES
    if setting.updates is not None:
        from perfmodel.model.prediction.training.updates import updates_of

        updates = updates_of(setting, step, constants)
    return prediction_of(
        job,
        constants,
        interval=None if width is None else interval(setting, width, constants),
        mode="anchored" if setting.scenario.anchor else "traced" if setting.profile else "specs",
        memory=memory,
        verdict=partial(checked, verdict, setting, step, constants),
        network_limit=partial(checked, network_limit, setting, constants),
        placement=partial(placement, setting),
        warnings=partial(checked, _warnings, setting, step, job, memory, constants),
        traffic=partial(checked, traffic_of, setting, step),
        **updates,
    )


def _warnings(
    setting: Setting, step: Step, job: Evaluated, memory: Memory, constants: Calibration
) -> list[str]:
    """Return the warnings of a prediction."""
    warnings = [
        *setting.warnings,
        *_chosen(setting, step, constants),
        *_cautions(setting, step, job, constants),
    ]
    if setting.compression is not None:
        warnings += compression_caveats(setting.compression)
    if not memory.fits:
        warnings.append(does_not_fit(setting, memory))
        if (alone := replicas_alone(setting.workload)) is not None:
            warnings.append(alone)
    if (mfu := job.figures["mfu"]) > 1 + _ROUNDING:
        warnings.append(f"{mfu:.3g} times the {setting.precision} peak: {_above_peak(setting, step)}")
    if setting.updates is not None:
        from perfmodel.model.prediction.training.updates import discarded_note

        if (note := discarded_note(setting.updates, setting.world_size)) is not None:
            warnings.append(note)
    return warnings


def _chosen(setting: Setting, step: Step, constants: Calibration) -> list[str]:
    """Return a note on the algorithm that was chosen, if the scenario requests a choice."""
    chosen = (
        with_cheapest_exchange(setting, step.work, step.fabric, constants)
        if communicates(setting)
        else setting
    )
    if (one := chosen.scenario.algorithm) != setting.scenario.algorithm:
        return [f"--algorithm {setting.scenario.algorithm} chose {one} for every message"]
    note = choice_note(chosen, step.work, step.fabric, merging_cost(setting, constants))
    return [note] if note else []


def _cautions(setting: Setting, step: Step, job: Evaluated, constants: Calibration) -> list[str]:
    """Return warnings of times near physical limits, of doubtful anchors, of slow-downs and of stragglers."""
    least_computing, least_time = least_times(setting)
    steps, cautions = setting.accumulation_steps, []
    computing = float(with_own_update(setting, step.work).alone(steps))
    if mode_of(setting) == "specs" and computing <= (1 + _ROUNDING) * peak_time(
        setting, setting.local_batch_size, steps
    ):
        cautions.append(AT_PEAK)
    elif computing < least_computing:
        cautions.append(_impossible(setting, computing, least_computing))
    elif step.iteration_time < least_time:
        cautions.append(_too_fast(step.iteration_time, least_time))
    if setting.scenario.anchor is not None and not (setting.repeat and setting.repeat.anchor is None):
        from perfmodel.model.prediction.intervals.anchor_slip import slip_note

        doubt = slip_note(setting.scenario.anchor, float(step.anchor_factor))
        cautions += [doubt] if doubt else []
    if setting.strategy == ONE_PROCESS and setting.world_size > 1 and job.figures["speedup"] < 1:
        cautions.append(slower_than_one(setting, step, job.baseline_time))
    waiting, efficiency = step.terms["straggler_time"], job.figures["scaling_efficiency"]
    note = spread_note(setting, waiting, step.iteration_time, efficiency, constants)
    return cautions if note is None else [*cautions, note]


def _too_fast(iteration_time: float, least_time: float) -> str:
    """Return the warning of an iteration below the physical lower bound."""
    return (
        f"{show(iteration_time, 's')} is less than the {show(least_time, 's')} that peaks and links allow: "
        f"check the unit and the batch of what was measured"
    )


def _baseline_time(setting: Setting, step: Step, constants: Calibration) -> float:
    """Return the iteration time of one accelerator that efficiency is relative to [s].

    Weak scaling: the same batch.  Strong scaling: the whole job's batch.
    """
    if setting.measured_alone is not None:
        return setting.measured_alone
    micro: int = setting.local_batch_size
    steps: float = setting.accumulation_steps
    work = step.work
    if setting.scaling == "strong":
        micro, steps = whole_batch(setting, constants)
        alone = setting._replace(world_size=1)
        work = scaled(computation_of(alone, micro, constants, steps), step.anchor_factor)
    elif setting.workload.tables is not None:
        work = scaled(work_alone(setting, work, constants), step.anchor_factor)
    return float(alone_time(setting, work, micro, steps, step.anchor_factor, constants))


def _above_peak(setting: Setting, step: Step) -> str:
    """Return the reason for a utilisation above 1: fast algorithms, or an impossible time."""
    if step.work.alone(setting.accumulation_steps) < least_computation_time(setting):
        return "no machine computes so fast"
    return above_peak(setting)


def _impossible(setting: Setting, computing: float, least: float) -> str:
    """Return a warning that one accelerator's computation is faster than physically possible."""
    words = (
        f"computing takes {show(computing, 's')} on each accelerator, faster than {show(least, 's')}, "
        f"the least that its arithmetic and memory allow"
    )
    if setting.scenario.anchor:
        run = "the anchor's" if setting.repeat is None or setting.repeat.anchor else "your own run's"
        return f"{words}: check {run} unit and batch"
    if setting.profile:
        return f"{words}: check that the profile is of this accelerator and precision"
    return f"{words}: no similar job was measured; treat that as the prediction's lower limit"
