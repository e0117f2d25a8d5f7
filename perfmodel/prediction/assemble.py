"""Assemble a prediction: one accelerator's terms, what travels, what is waited for, and what it comes to."""

from __future__ import annotations

import math

import numpy as np

from perfmodel.calibration import Calibration, calibration
from perfmodel.equations.compute import flops_utilization
from perfmodel.equations.memory import largest_local_batch_size, training_memory_bytes
from perfmodel.equations.overlap import contended_time
from perfmodel.equations.scaling import (
    strong_scaling_efficiency,
    strong_speedup,
    weak_scaling_efficiency,
    weak_speedup,
)
from perfmodel.errors import InputError
from perfmodel.prediction.communication import choice_told, communication
from perfmodel.prediction.computation import Computation, computation, one_host_time
from perfmodel.prediction.fabric import Fabric, fabric
from perfmodel.prediction.feeding import input_time
from perfmodel.prediction.interval import Doubt, doubts, interval
from perfmodel.prediction.result import Interval, Memory, Prediction
from perfmodel.prediction.straggling import straggler_time
from perfmodel.prediction.verdict import Network, placement, verdict
from perfmodel.resolve import Setting, resolve
from perfmodel.specs.framework import DEFAULT_FRAMEWORK
from perfmodel.specs.scenario import Scenario
from perfmodel.specs.store import Catalogue


def predict(
    scenario: Scenario, catalogue: Catalogue | None = None, constants: Calibration | None = None
) -> Prediction:
    """Predict one training iteration.

    Parameters
    ----------
    scenario : what is asked; options left open take defaults, which the answer names
    catalogue : hardware to choose from; by default what comes with the package
    constants : learned efficiencies; by default those that come with the package

    Raises
    ------
    InputError : an unknown name, a batch that does not divide, a precision the accelerator lacks

    Examples
    --------
    A ring hides most of its traffic behind the backward pass of ResNet-50:

    >>> from perfmodel.specs.scenario import Scenario
    >>> answer = predict(Scenario(workload="resnet50", accelerator="v100-sxm2-16gb", world_size=32))
    >>> 0.5 < answer.scaling_efficiency < 1
    True
    """
    setting = resolve(scenario, catalogue or Catalogue.built_in())
    if scenario.profile is not None:
        setting, constants = _with_profile(setting, constants or calibration())
    try:
        with np.errstate(over="raise", divide="raise", invalid="raise"):
            return _predicted(setting, constants or calibration())
    except (FloatingPointError, OverflowError) as error:
        raise InputError(f"{error}: a spec, the workload or an option holds an absurd number") from error


def _with_profile(setting: Setting, constants: Calibration) -> tuple[Setting, Calibration]:
    from perfmodel.prediction.profiled import doubts_of, with_profile
    from perfmodel.profile import read_profile

    if setting.scenario.anchor is not None:
        raise InputError("--anchor and --profile: give one, both say how fast one accelerator is")
    profile = read_profile(str(setting.scenario.profile))
    told = (*setting.warnings, *doubts_of(setting, profile))
    return setting._replace(warnings=told), with_profile(constants, profile)


def doubted(scenario: Scenario, catalogue: Catalogue, constants: Calibration) -> tuple[float, list[Doubt]]:
    """Return the iteration time [s] and what may widen its interval: what a spread is learned from.

    Raises
    ------
    InputError : as ``predict``
    """
    setting = resolve(scenario, catalogue)
    work, terms, *_ = _assessed(setting, constants)
    return sum(terms.values()), doubts(setting, work, terms, constants)


def time_of(setting: Setting, constants: Calibration) -> float:
    """Return the iteration time of a setting [s]; what a fit to many runs asks for many times."""
    return sum(_assessed(setting, constants)[1].values())


def _assessed(
    setting: Setting, constants: Calibration
) -> tuple[Computation, dict[str, float], Network, float]:
    """Computation with an anchor's factor in it, the terms, the network, and that factor."""
    work = _computation(setting, setting.local_batch_size, constants, setting.accumulation_steps)
    factor = _anchor_factor(setting, work, constants)
    work = _scaled(work, factor)
    terms, network = _terms(setting, work, factor, constants)
    return work, terms, network, factor


def _predicted(setting: Setting, constants: Calibration) -> Prediction:
    work, terms, network, factor = _assessed(setting, constants)
    chosen = choice_told(setting, work, _fabric(setting, constants))
    if chosen:
        setting = setting._replace(warnings=(*setting.warnings, chosen))
    iteration_time = sum(terms.values())
    baseline_time = _baseline_time(setting, work, factor, constants)
    # a profile stands on a measurement as an anchor does
    mode = "anchored" if setting.scenario.anchor or setting.scenario.profile else "specs"
    uncertain = interval(iteration_time, mode, doubts(setting, work, terms, constants), constants.spread)
    return _prediction(setting, terms, network, iteration_time, baseline_time, uncertain, constants)


def _terms(
    setting: Setting, work: Computation, factor: float, constants: Calibration
) -> tuple[dict[str, float], Network]:
    """The exposed terms [s], and what the network does on its own and could do."""
    steps = setting.accumulation_steps
    network = _network(setting, work, _fabric(setting, constants), constants)
    terms = {
        "forward_time": steps * work.forward_time,
        "backward_time": steps * work.backward_time,
        "launch_overhead_time": steps * work.launch_overhead_time,
        "update_time": work.update_time,
        "exposed_communication_time": network.exposed_communication_time,
        "input_time": 0.0,
        "straggler_time": 0.0,
    }
    terms["launch_overhead_time"] += work.iteration_overhead_time + steps * one_host_time(
        setting, work, constants
    )
    busy_time = steps * work.pass_time
    terms["straggler_time"] = straggler_time(setting, busy_time, network.communication_time, constants)
    busy = sum(terms.values())
    samples = setting.local_batch_size * steps
    terms["input_time"] = factor * input_time(
        setting, setting.accelerators_per_node, samples, busy / factor, constants
    )
    return terms, network


def _network(setting: Setting, work: Computation, on: Fabric, constants: Calibration) -> Network:
    """Communication as it is, and with twice the bandwidth or half the latency of the link that matters."""
    if setting.world_size == 1 and setting.strategy != "parameter-server":
        return Network(0.0, 0.0, 0.0, 0.0)
    better = np.array([[1.0], [2.0], [1.0]]), np.array([[1.0], [1.0], [0.5]])
    if setting.nodes > 1 or setting.strategy == "parameter-server":
        varied = on._replace(
            inter_link_bandwidth=on.inter_link_bandwidth * better[0],
            inter_hop_latency=on.inter_hop_latency * better[1],
        )
    else:
        varied = on._replace(
            intra_link_bandwidth=on.intra_link_bandwidth * better[0],
            intra_hop_latency=on.intra_hop_latency * better[1],
        )
    alone, exposed = communication(setting, work, on, varied)
    if setting.strategy == "all-reduce":
        # its kernels add up gradients on the accelerator; copies to a server need no multiprocessor
        exposed = contended_time(alone, exposed, constants.contention)
    return Network(float(alone[0]), *(float(t) for t in exposed))


def _computation(setting: Setting, micro: int, constants: Calibration, steps: float) -> Computation:
    work = computation(setting, micro, constants, steps)
    if setting.scenario.profile is None:
        return work
    from perfmodel.prediction.profiled import profiled
    from perfmodel.profile import read_profile

    return profiled(work, read_profile(setting.scenario.profile), steps)


def _fabric(setting: Setting, constants: Calibration) -> Fabric:
    on = fabric(setting, constants)
    if setting.scenario.profile is None:
        return on
    from perfmodel.prediction.profiled import profiled_fabric
    from perfmodel.profile import read_profile

    return profiled_fabric(on, read_profile(setting.scenario.profile))


def _anchor_factor(setting: Setting, work: Computation, constants: Calibration) -> float:
    """Measured over predicted time of one accelerator; 1 without a measurement."""
    if setting.scenario.anchor is None:
        return 1.0
    from perfmodel.anchor import parse_anchor

    anchor = parse_anchor(setting.scenario.anchor)
    measured = anchor.iteration_time(setting.local_batch_size * setting.accumulation_steps)
    return measured / _alone(
        setting, work, setting.local_batch_size, setting.accumulation_steps, 1.0, constants
    )


def _scaled(work: Computation, factor: float) -> Computation:
    if factor == 1.0:
        return work
    return work._replace(
        forward_time=work.forward_time * factor,
        backward_time=work.backward_time * factor,
        launch_overhead_time=work.launch_overhead_time * factor,
        update_time=work.update_time * factor,
        iteration_overhead_time=work.iteration_overhead_time * factor,
        forward_by_layer=work.forward_by_layer * factor,
        backward_by_layer=work.backward_by_layer * factor,
    )


def _alone(
    setting: Setting, work: Computation, micro: int, steps: float, factor: float, constants: Calibration
) -> float:
    """Iteration time [s] of one accelerator that does ``steps`` batches of ``micro`` samples.

    An anchor's ``factor`` is in ``work`` already; the samples' way to the accelerator takes it as well.
    """
    busy = work.alone(steps)
    return busy + factor * input_time(setting, 1, micro * steps, busy / factor, constants)


def _baseline_time(setting: Setting, work: Computation, factor: float, constants: Calibration) -> float:
    """The iteration that efficiency is measured against [s], on one accelerator.

    Weak scaling: the same batch.  Strong scaling: the whole job's batch, in the largest micro-batches that
    fit, since one accelerator alone would use them.
    """
    if setting.scaling == "weak":
        return _alone(setting, work, setting.local_batch_size, setting.accumulation_steps, factor, constants)
    largest = min(setting.global_batch_size, max(_memory(setting, constants).largest_local_batch_size, 1))
    micro = max(largest, setting.local_batch_size)
    steps = setting.global_batch_size / micro
    whole = _scaled(_computation(setting, micro, constants, steps), factor)
    return _alone(setting, whole, micro, steps, factor, constants)


def _memory(setting: Setting, constants: Calibration) -> Memory:
    workload = setting.workload
    state = setting.states.state_bytes + setting.format.weight_copy_bytes
    activation = setting.format.activation_bytes * float(workload.column("saved_elements").sum())
    capacity = setting.accelerator.memory_capacity
    reserved = constants.reserved_bytes
    batch = setting.local_batch_size
    needed = float(training_memory_bytes(workload.parameters, state, batch, activation, reserved))
    largest = largest_local_batch_size(capacity, workload.parameters, state, activation, reserved)
    return Memory.model_construct(
        bytes=needed, capacity=capacity, fits=needed <= capacity, largest_local_batch_size=int(float(largest))
    )


def _prediction(
    setting: Setting,
    terms: dict[str, float],
    network: Network,
    iteration_time: float,
    baseline_time: float,
    uncertain: Interval | None,
    constants: Calibration,
) -> Prediction:
    workload, n = setting.workload, setting.world_size
    if not (math.isfinite(iteration_time) and iteration_time > 0):
        raise InputError(
            f"iteration time comes out as {iteration_time} s; a spec or workload holds an absurd number"
        )
    if setting.scaling == "weak":
        speedup = weak_speedup(n, baseline_time, iteration_time)
        efficiency = weak_scaling_efficiency(baseline_time, iteration_time)
    else:
        speedup = strong_speedup(baseline_time, iteration_time)
        efficiency = strong_scaling_efficiency(n, baseline_time, iteration_time)
    rate = setting.global_batch_size / iteration_time
    exposed = network.exposed_communication_time
    memory = _memory(setting, constants)
    warnings = list(setting.warnings)
    if not memory.fits:
        warnings.append(_does_not_fit(setting, memory))
    mfu = float(
        flops_utilization(
            workload.training_flops * setting.global_batch_size, iteration_time, n, setting.peak_flops
        )
    )
    if mfu > 1:
        warnings.append(f"{mfu:.3g} times the {setting.precision} peak: check the anchor's unit and batch")
    return Prediction.model_construct(
        iteration_time=iteration_time,
        terms=terms,
        interval=uncertain,
        mode="anchored" if setting.scenario.anchor else "traced" if setting.scenario.profile else "specs",
        samples_per_second=rate,
        sample=workload.sample,
        tokens_per_second=rate * workload.sequence_length if workload.sequence_length else None,
        speedup=float(speedup),
        scaling_efficiency=float(efficiency),
        scaling="weak" if setting.scaling == "weak" else "strong",
        baseline_time=baseline_time,
        communication_time=network.communication_time,
        communication_overhead=exposed / (iteration_time - exposed),
        epoch_time=workload.dataset_samples / rate if workload.dataset_samples else None,
        mfu=mfu,
        memory=memory,
        verdict=verdict(setting, terms, iteration_time, network),
        placement=placement(setting),
        defaults=list(setting.defaults),
        warnings=warnings,
        scenario=_understood(setting),
    )


def _does_not_fit(setting: Setting, memory: Memory) -> str:
    gib = 2**30
    needed = f"does not fit: {memory.bytes / gib:.1f} GiB needed, {memory.capacity / gib:.1f} GiB there"
    if memory.largest_local_batch_size:
        return f"{needed}; the largest batch that does is {memory.largest_local_batch_size}"
    return f"{needed}; not even a batch of 1 does"


def _understood(setting: Setting) -> dict[str, object]:
    """The scenario with every default filled in."""
    filled = setting.scenario.__dict__ | {
        "accelerator": setting.accelerator.id,
        "node": setting.node.id,
        "nodes": setting.nodes,
        "accelerators_per_node": setting.accelerators_per_node,
        "intra_link": setting.intra_link.id,
        "inter_link": setting.inter_link.id,
        "nics": setting.nics,
        "servers": setting.servers or None,
        "overlap": setting.overlap,
        "precision": setting.precision,
        "local_batch_size": setting.local_batch_size,
        "global_batch_size": setting.global_batch_size,
        "sequence_length": setting.workload.sequence_length,
        "optimizer": setting.optimizer,
        "framework": setting.scenario.framework or DEFAULT_FRAMEWORK,
        "loader_workers": setting.loader_workers or None,
        "storage": setting.storage or None,
    }
    return filled
