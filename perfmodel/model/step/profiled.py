"""Replacement of the model's own numbers by those of a measured profile."""

from __future__ import annotations

from typing import Any

from perfmodel.core import ops
from perfmodel.core.errors import refusal
from perfmodel.core.problem import Note, default
from perfmodel.core.units import show
from perfmodel.equations.collective_latencies import LONGEST_CHAIN
from perfmodel.equations.measured_steps import (
    measured_wait,
    ring_hop_latency,
    wait_with_workers,
)
from perfmodel.model.fitted.calibration import Calibration
from perfmodel.model.options.scenario import Scenario
from perfmodel.model.setting.profile import Profile
from perfmodel.model.setting.resolve import Setting
from perfmodel.model.step.computation import Computation, along_layers
from perfmodel.model.step.fabric import Fabric
from perfmodel.model.step.library import ring_part

LEAST_NOISE = 0.03
"""Deviation of a profile from which it is reported [1]."""
LEAST_LATENCY = 1e-9
"""Least latency of a measured line, whose intercept may be zero [s]."""
LEAST_REPORTED = 1e-3
"""Waits of one step from which they are reported [s]."""


def with_profile(constants: Calibration, profile: Profile) -> Calibration:
    """Return constants with the profile's jitter, if measured, which then has stalls in it."""
    if profile.jitter is None:
        return constants
    shared = 0.0 if profile.shared_jitter is None else profile.shared_jitter.value
    of_steps = profile.jitter.value
    return constants._replace(
        jitter=of_steps,
        loader_jitter=of_steps,
        shared_jitter=shared,
        stall_probability=0.0,
        loader_stall_probability=0.0,
    )


def completed(scenario: Scenario, profile: Profile) -> tuple[Scenario, list[Note]]:
    """Return the scenario with open options taken from the profile, and a note of each."""
    left: dict[str, Any] = {
        name: value
        for name, value in (
            ("workload", profile.workload),
            ("accelerator", profile.accelerator),
            ("precision", profile.precision),
            ("local_batch_size", profile.local_batch_size),
            ("input", profile.input),
            ("accumulation_steps", profile.accumulation_steps if profile.accumulation_steps > 1 else None),
        )
        if value is not None and _is_open(scenario, name)
    }
    if scenario.node is not None:
        left.pop("accelerator", None)  # a machine determines its accelerator
    if scenario.global_batch_size is not None:
        left.pop("local_batch_size", None)
        left.pop("accumulation_steps", None)
    given = {name: getattr(scenario, name) for name in scenario.model_fields_set - left.keys()}
    whose = " (from the profile)"
    report = [default(name.replace("_", "-"), value, whose) for name, value in left.items()]
    return Scenario.model_construct(**given, **left), report


def _is_open(scenario: Scenario, option: str) -> bool:
    """Return whether a scenario leaves an option open."""
    return option not in scenario.model_fields_set or getattr(scenario, option) is None


def profiled(work: Computation, profile: Profile, steps: Any, synthetic: bool) -> Computation:
    """Return the times of one accelerator with the profile's computation, gaps between kernels and idle time.

    Parameters
    ----------
    work : times by the model
    profile : measured; without gaps, its factor on computation applies to the whole step
    steps : micro-batches of an iteration, over which gaps are divided; a number, or one for each plan
    synthetic : whether samples are synthetic, without idle time around copies of real ones
    """
    if profile.computation is None:
        return work
    factor = profile.computation.value
    launches: Any
    once: Any
    if profile.launch_overhead is None:
        launches = work.launch_overhead_time * factor
        once = work.iteration_overhead_time * factor
    else:
        launches, once = profile.launch_overhead.value / steps, 0.0
    if profile.idle_time is not None and not _idles_for_samples(profile, synthetic):
        once = once + profile.idle_time.value
    forward_time: Any = work.forward_time * factor
    backward_time: Any = work.backward_time * factor
    stretch = along_layers((forward_time + backward_time + launches) / work.pass_time)
    return work._replace(
        forward_time=forward_time,
        backward_time=backward_time,
        launch_overhead_time=launches,
        update_time=work.update_time * factor,
        iteration_overhead_time=once,
        forward_by_layer=work.forward_by_layer * stretch,
        backward_by_layer=work.backward_by_layer * stretch,
    )


def _idles_for_samples(profile: Profile, synthetic: bool) -> bool:
    """Return whether the profile's idle time is absent in the prediction, since samples are synthetic."""
    return synthetic and profile.input == "real"


def profiled_input_time(setting: Setting, profile: Profile, samples: Any, busy_time: Any) -> Any:
    """Return the measured time that an accelerator waits for real samples [s], number or array.

    It is the profile's wait, scaled to the number of samples.  For another number of workers, if the profile
    has the loader's time, it is their decoding time beyond the rest of the iteration.  Every accelerator has
    as many workers as the measured one.

    Parameters
    ----------
    setting : with the number of workers
    profile : with ``measures_input``
    samples : of one accelerator in all micro-batches
    busy_time : the rest of the iteration [s]
    """
    measured = profile.local_batch_size * profile.accumulation_steps
    waited: Any = measured_wait(profile.input_time.value, samples, measured) if profile.input_time else 0.0
    if setting.scenario.loader_workers is None or profile.loader_time is None:
        return waited
    workers = setting.loader_workers
    same = workers == profile.loader_workers
    if same is True:
        return waited
    prepared = measured_wait(profile.loader_time.value, samples, measured)
    predicted = wait_with_workers(prepared, workers, busy_time)
    return predicted if same is False else ops.where(same, waited, predicted)


def profiled_fabric(fabric: Fabric, setting: Setting, profile: Profile) -> Fabric:
    """Return bandwidths and latencies with those that the profile measured inside a node.

    The measurement is a line over the message size, so launch time and ramp in a node become zero; if the
    library reduced in the switch, its rings carry less than the measured bandwidth.
    """
    link = profile.link
    if link is None:
        return fabric
    ranks, latency = link.group_size, max(link.latency.value, LEAST_LATENCY)
    if not link.bandwidth.value:
        raise refusal("profile.no_bandwidth", "profile")
    measured = fabric._replace(
        intra_hop_latency=ring_hop_latency(latency, ranks),
        library_hop_latency=ring_hop_latency(latency, min(ranks, LONGEST_CHAIN + 1.0)),
        intra_link_bandwidth=ring_part(setting.intra_link, setting.accelerator, ranks, link.bandwidth.value),
    )
    if setting.domains > 1:
        return measured
    return measured._replace(launch_time=0.0, ramp_factor=0.0)


def defaults_of(setting: Setting, profile: Profile) -> list[Note]:
    """Return the notes of defaults, except those that the profile measured: input and jitter."""
    scenario = setting.scenario
    measures_input = profile.measures_input and scenario.loader_workers is None
    measured = ("loader-workers", "storage") if measures_input else ()
    lines = [line for line in setting.defaults if line.about not in measured]
    if profile.jitter is None or scenario.jitter is not None:
        return lines
    jitter = default("jitter", f"lognormal:cv={profile.jitter.value:.3g}", " (from the profile)")
    return [jitter if line.about == "jitter" else line for line in lines]


def warnings_of(setting: Setting, profile: Profile) -> list[str]:
    """Return warnings of differences between profiled and predicted job, and notes of waits carried over."""
    predicted = {
        "workload": setting.workload.id,
        "accelerator": setting.accelerator.id,
        "precision": setting.precision,
    }
    taken = [
        f"the profile was taken of {getattr(profile, key)}, and {value} is predicted with it"
        for key, value in predicted.items()
        if getattr(profile, key) != value
    ]
    return taken + _waits_carried_over(setting, profile)


def _waits_carried_over(setting: Setting, profile: Profile) -> list[str]:
    """Return notes of the measured step's waits that are carried over or dropped."""
    report = []
    synthetic = setting.scenario.input == "synthetic"
    idle, waited = profile.idle_time, profile.input_time
    if idle is not None and idle.value >= LEAST_REPORTED:
        if _idles_for_samples(profile, synthetic):
            report.append(f"{show(idle.value, 's')} of host idling dropped, as samples are synthetic")
        else:
            advice = (
                "--input synthetic leaves it" if profile.input == "real" else "remove [idle_time] to leave it"
            )
            report.append(
                f"{show(idle.value, 's')} of host idling carried over from the profile; {advice} out"
            )
    if waited is None or not profile.measures_input:
        return report
    workers, before = setting.scenario.loader_workers, profile.loader_workers
    if not synthetic and workers not in (None, before) and profile.loader_time is None:
        report.append(
            f"{show(waited.value, 's')} of waiting for samples carried over: the profile does not say what "
            "one worker takes; calibrate with --loader-workers on a loop that waits for them"
        )
    elif waited.value < LEAST_REPORTED:
        return report
    elif synthetic:
        report.append(f"{show(waited.value, 's')} of waiting for samples dropped, as they are synthetic")
    elif profile.loader_time is None or workers == before:
        report.append(f"{show(waited.value, 's')} of waiting for samples carried over from the profile")
    elif workers is None:
        report.append(
            f"{show(waited.value, 's')} of waiting for samples carried over from the profile; "
            "--loader-workers N foresees other loaders"
        )
    else:
        report.append(
            f"{show(waited.value, 's')} of waiting for samples replaced by what {workers} loader workers "
            f"leave of {show(profile.loader_time.value, 's')}"
        )
    return report
