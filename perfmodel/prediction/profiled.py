"""A measured profile in place of the model's own numbers."""

from __future__ import annotations

from typing import Any

from perfmodel.calibration import Calibration
from perfmodel.prediction.computation import Computation, along_layers
from perfmodel.prediction.fabric import Fabric
from perfmodel.profile import Profile
from perfmodel.resolve import Setting
from perfmodel.specs.scenario import Scenario


def with_profile(constants: Calibration, profile: Profile) -> Calibration:
    """Return constants with the measured spread of steps."""
    return constants if profile.jitter is None else constants._replace(jitter=profile.jitter.value)


def completed(scenario: Scenario, profile: Profile) -> tuple[Scenario, list[str]]:
    """Return the scenario with what it leaves open taken from the profile, and those options by name."""
    left: dict[str, Any] = {
        name: value
        for name, value in (
            ("workload", profile.workload),
            ("accelerator", profile.accelerator),
            ("precision", profile.precision),
            ("local_batch_size", profile.local_batch_size),
        )
        if name not in scenario.model_fields_set
    }
    if scenario.node is not None:
        left.pop("accelerator", None)  # a machine says what is in it
    if scenario.global_batch_size is not None:
        left.pop("local_batch_size", None)
    given = {name: getattr(scenario, name) for name in scenario.model_fields_set}
    told = [f"--{name.replace('_', '-')} {value} (from the profile)" for name, value in left.items()]
    return Scenario.model_construct(**given, **left), told


def profiled(work: Computation, profile: Profile, steps: Any) -> Computation:
    """Return the terms of one accelerator with the measured computation and gaps between kernels.

    Parameters
    ----------
    work : as the model says
    profile : measured; without gaps of its own, its computation stands for the whole step
    steps : micro-batches of an iteration, which share the measured gaps; a number, or one for each plan
    """
    if profile.computation is None:
        return work
    factor = profile.computation.value
    launches, once = work.launch_overhead_time * factor, work.iteration_overhead_time * factor
    if profile.launch_overhead is not None:
        launches, once = profile.launch_overhead.value / steps, 0.0
    forward_time, backward_time = work.forward_time * factor, work.backward_time * factor
    stretch = (forward_time + backward_time + launches) / work.pass_time
    return work._replace(
        forward_time=forward_time,
        backward_time=backward_time,
        launch_overhead_time=launches,
        update_time=work.update_time * factor,
        iteration_overhead_time=once,
        forward_by_layer=work.forward_by_layer * along_layers(stretch),
        backward_by_layer=work.backward_by_layer * along_layers(stretch),
    )


def profiled_fabric(on: Fabric, profile: Profile) -> Fabric:
    """Return bandwidths and latencies with those measured inside a node."""
    link = profile.link
    if link is None:
        return on
    hops = 2 * (link.group_size - 1)
    return on._replace(intra_hop_latency=link.latency.value / hops, intra_link_bandwidth=link.bandwidth.value)


def doubts_of(setting: Setting, profile: Profile) -> list[str]:
    """Say where the profile was taken of something else than is predicted."""
    asked = {
        "workload": setting.workload.id,
        "accelerator": setting.accelerator.id,
        "precision": setting.precision,
    }
    return [
        f"the profile was taken of {getattr(profile, key)}, and {value} is predicted with it"
        for key, value in asked.items()
        if getattr(profile, key) != value
    ]
