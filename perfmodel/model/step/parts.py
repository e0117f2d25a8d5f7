"""What one iteration takes and what that comes to, for one setting or for arrays of settings.

``predict`` calls these functions with the numbers of one setting.  A sweep calls the same ones with arrays
in the setting's counts: ``local_batch_size``, ``accumulation_steps`` and the times of a ``Computation`` of
shape (plans, 1), world sizes and what else tells one place from another of shape (places,).
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from perfmodel.core import ops
from perfmodel.core.choices import ONE_PROCESS
from perfmodel.core.errors import refusal
from perfmodel.core.tracing.tracing import given
from perfmodel.equations.compute import flops_utilization, slowdown_to_peak, time_at_peak
from perfmodel.equations.overlap import contention_time
from perfmodel.equations.scaling import (
    strong_scaling_efficiency,
    strong_speedup,
    weak_scaling_efficiency,
    weak_speedup,
)
from perfmodel.model.fitted.calibration import Calibration
from perfmodel.model.setting.resolve import Setting
from perfmodel.model.step.communication import communication, cost_of_sums, hiding_cost
from perfmodel.model.step.computation import Computation, along_layers, computation
from perfmodel.model.step.fabric import Fabric, fabric
from perfmodel.model.step.layout import gradient_group
from perfmodel.model.step.memory import memory_of
from perfmodel.model.step.messages import MERGED
from perfmodel.model.step.model_flops import counted_flops
from perfmodel.model.step.terms import StepContext, counted_alone, time_alone

BY_TIMES = (MERGED, "fused")
"""Ways to overlap in which the times of messages decide which gradients travel together."""
OVERLAPS = (MERGED, "none", "wfbp", "bucketed", "fused", "priority")
"""Ways to overlap that ``optimal`` chooses from."""


def computation_of(
    setting: Setting, micro: Any, constants: Calibration, steps: Any, forward_layers: bool | None = None
) -> Computation:
    """Return the terms of one accelerator, with a profile's numbers where one is given.

    Takes what ``perfmodel.model.step.computation.computation`` takes.
    """
    work = computation(setting, micro, constants, steps, forward_layers)
    if setting.profile is None:
        # learned efficiencies may be too good for hardware unlike all that was measured
        slowdown = slowdown_to_peak(work.alone(steps), peak_time(setting, micro, steps))
        return work if ops.holds(slowdown == 1) else scaled(work, slowdown)
    from perfmodel.model.step.profiled import profiled

    return profiled(work, setting.profile, steps, setting.scenario.input == "synthetic")


def peak_time(setting: Setting, micro: Any, steps: Any) -> Any:
    """Return the time of ``steps`` batches of ``micro`` samples at the peak of one accelerator [s]."""
    samples = steps * (micro[..., 0] if getattr(micro, "ndim", 0) else micro)
    return time_at_peak(counted_flops(setting).computed * samples, setting.peak_flops)


def fabric_of(setting: Setting, constants: Calibration) -> Fabric:
    """Return bandwidths and latencies, with a profile's numbers where one is given."""
    on = fabric(setting, constants)
    if setting.profile is None:
        return on
    from perfmodel.model.step.profiled import profiled_fabric

    return profiled_fabric(on, setting, setting.profile)


def work_alone(setting: Setting, work: Computation, constants: Calibration) -> Computation:
    """Return the terms of one accelerator that does the same batch by itself: all tables are its own."""
    if setting.workload.tables is None:
        return work
    micro, steps = setting.local_batch_size, setting.accumulation_steps
    return computation_of(setting._replace(world_size=1), micro, constants, steps)


def alone_time(
    setting: Setting, work: Computation, micro: Any, steps: Any, factor: Any, constants: Calibration
) -> Any:
    """Iteration time [s] of one accelerator that does ``steps`` batches of ``micro`` samples.

    An anchor's ``factor`` is in ``work`` already; the samples' way to the accelerator takes it as well.
    """
    if counted_alone():
        one = setting._replace(
            world_size=1,
            nodes=1,
            accelerators_per_node=1,
            local_batch_size=micro,
            global_batch_size=micro * steps,
            accumulation_steps=steps,
            compression=None,
            updates=None,
        )
        return time_alone(StepContext(one, constants, {}, work, factor))
    busy = work.alone(steps)
    if setting.scenario.input == "synthetic":
        return busy
    from perfmodel.model.step.input_wait import input_time

    rest = busy / factor  # what samples are fetched behind, before a measurement is known
    waits = input_time(setting, 1, steps * micro, rest, constants)
    return busy + waits * factor


def anchor_factor(setting: Setting, work: Computation, constants: Calibration) -> Any:
    """Measured over predicted time of one accelerator, whose terms ``work`` has; 1 without a measurement.

    It scales computation alike at every number of accelerators.
    """
    if setting.scenario.anchor is None:
        return 1.0
    from perfmodel.model.setting.anchor import parse_anchor

    micro, steps = setting.local_batch_size, setting.accumulation_steps
    anchor = parse_anchor(setting.scenario.anchor)
    if anchor.world_size > 1 or anchor.options:
        raise refusal("anchor.one_accelerator", "anchor", anchor=setting.scenario.anchor)
    anchor = anchor._replace(value=given(anchor.value, f"anchor.{anchor.quantity}", "the anchor"))
    measured = anchor.iteration_time(micro * steps, setting.workload.sequence_length)
    return measured / alone_time(setting, work, micro, steps, 1.0, constants)


def scaled(work: Computation, factor: Any) -> Computation:
    """Return every time of ``work`` multiplied by an anchor's factor."""
    if type(factor) is float and factor == 1.0:
        return work
    by_layer = along_layers(factor)
    return work._replace(
        forward_time=work.forward_time * factor,
        backward_time=work.backward_time * factor,
        launch_overhead_time=work.launch_overhead_time * factor,
        update_time=work.update_time * factor,
        iteration_overhead_time=work.iteration_overhead_time * factor,
        forward_by_layer=work.forward_by_layer * by_layer,
        backward_by_layer=work.backward_by_layer * by_layer,
    )


def communicates(setting: Setting) -> Any:
    """Whether gradients travel at all: one accelerator keeps them, unless a server adds them."""
    return (setting.world_size > 1) | (setting.strategy == "parameter-server")


class Exchanged(NamedTuple):
    """The communication of one iteration [s], numbers or arrays."""

    alone: Any = 0.0
    """On its own, nothing hidden."""
    exposed: Any = 0.0
    """What no computation hides."""
    contention: Any = 0.0
    """By how much what is hidden slows the computation that hides it."""

    @property
    def added(self) -> Any:
        """What it adds to the iteration."""
        return self.exposed + self.contention


def exchange(
    setting: Setting, work: Computation, on: Fabric, variants: Fabric, constants: Calibration
) -> Exchanged:
    """Return the communication of one iteration.

    Takes what ``perfmodel.model.step.communication.communication`` takes.
    """
    ways = [_exchange(each, work, on, variants, constants) for each in _ways(setting, on)]
    if len(ways) == 1:
        return ways[0]
    if np.ndim(ways[0].added) == 0:
        return min(ways, key=lambda way: ops.plain(way.added))
    added = np.stack([way.added for way in ways])
    least = added.argmin(axis=0)[None]
    columns = (np.stack(np.broadcast_arrays(*times, added[0])[:-1]) for times in zip(*ways, strict=True))
    return Exchanged(*(np.take_along_axis(column, least, 0)[0] for column in columns))


def _exchange(
    setting: Setting, work: Computation, on: Fabric, variants: Fabric, constants: Calibration
) -> Exchanged:
    """Return the same of one way to overlap, whose messages go by what the scenario's algorithm says."""
    if setting.strategy == ONE_PROCESS:
        from perfmodel.model.step.one_process import traffic

        whole: Any = sum(traffic(setting, variants).values())
        whole = whole[..., 0] if np.ndim(whole) else whole
        return Exchanged(whole, whole)
    if setting.updates is not None:
        from perfmodel.model.step.updates import exchange_of_round

        return Exchanged(*exchange_of_round(setting, work, on, variants, constants, _together))
    return _together(setting, work, on, variants, constants)


def _together(
    setting: Setting, work: Computation, on: Fabric, variants: Fabric, constants: Calibration
) -> Exchanged:
    """Return the exchange of all workers at once."""
    alone, exposed = communication(setting, work, on, variants, merging_cost(setting, constants))
    cost = hiding_cost(setting, alone, variants, constants)
    slowed = contention_time(alone, exposed, cost)
    if setting.workload.tables is None:
        return Exchanged(alone, exposed, slowed)
    from perfmodel.equations.tables import with_tables
    from perfmodel.model.step.tables import exchange_time

    rows = exchange_time(setting, setting.workload.tables, variants)
    return Exchanged(with_tables(alone, rows), with_tables(exposed, rows), slowed)


def visit_time(setting: Setting, work: Computation, on: Fabric, constants: Calibration) -> float:
    """Return what a push and a pull add to a gradient of a worker that meets nobody on its way [s]."""
    from perfmodel.model.step.updates import alone

    visit: float = ops.number(_together(alone(setting), work, on, on, constants).added)
    return visit


def merging_cost(setting: Setting, constants: Calibration) -> float:
    """Return what every second of a hidden message costs, as merging for the least time weighs it."""
    return cost_of_sums(setting.accelerator, constants) if setting.strategy == "all-reduce" else 0.0


def _ways(setting: Setting, on: Fabric) -> list[Setting]:
    if setting.overlap != "optimal":
        return _by_algorithm(setting, on)
    return [way for each in OVERLAPS for way in _by_algorithm(setting._replace(overlap=each), on)]


def _by_algorithm(setting: Setting, on: Fabric) -> list[Setting]:
    """Return a setting, and by ``best`` the same with each algorithm, where merging goes by times.

    The fastest algorithm for each message merges them otherwise than any one does, and not always better.
    """
    asked = setting.scenario
    if asked.algorithm != "best" or setting.strategy != "all-reduce" or setting.overlap not in BY_TIMES:
        return [setting]
    from perfmodel.model.step.all_reduce import named_algorithms

    names = named_algorithms(gradient_group(setting, on))
    each = (asked.model_copy(update={"algorithm": name}) for name in names)
    return [setting, *(setting._replace(scenario=scenario) for scenario in each)]


def best_way(setting: Setting, work: Computation, on: Fabric, constants: Calibration) -> Setting:
    """Return the setting with what ``optimal``, and ``best``, chose in its place; any other as it is."""
    ways = _ways(setting, on)
    if len(ways) == 1:
        return setting
    return min(ways, key=lambda each: ops.plain(_exchange(each, work, on, on, constants).added))


def whole_batch(setting: Setting, constants: Calibration) -> tuple[int, float]:
    """Return the micro-batch one accelerator would do the whole job's batch in, and how many of them.

    The largest that fits, since one accelerator alone would use it; it compresses no gradients.
    """
    fits = memory_of(setting._replace(world_size=1, compression=None), constants).largest_local_batch_size
    largest = min(setting.global_batch_size, max(fits, 1))
    micro = max(largest, setting.local_batch_size)
    return micro, setting.global_batch_size / micro


def figures(
    setting: Setting, iteration_time: Any, baseline_time: Any, exposed: Any, replicas: Any = None
) -> dict[str, Any]:
    """Return what an iteration time comes to, by the names of a ``Prediction``.

    Parameters
    ----------
    setting : whose iteration it is
    iteration_time, baseline_time : of the job and of one accelerator, or one replica [s]
    exposed : what communication adds to the iteration [s]
    replicas : of the network, by default one on each accelerator
    """
    workload, n, samples = setting.workload, setting.world_size, setting.global_batch_size
    copies = n if replicas is None else replicas
    if setting.scaling == "weak":
        speedup = weak_speedup(copies, baseline_time, iteration_time)
        efficiency = weak_scaling_efficiency(baseline_time, iteration_time)
    else:
        speedup = strong_speedup(baseline_time, iteration_time)
        efficiency = strong_scaling_efficiency(copies, baseline_time, iteration_time)
    rate = samples / iteration_time
    flops = counted_flops(setting)
    return {
        "samples_per_second": rate,
        "tokens_per_second": rate * workload.sequence_length if workload.sequence_length else None,
        "speedup": speedup,
        "scaling_efficiency": efficiency,
        "communication_overhead": exposed / (iteration_time - exposed),
        "epoch_time": workload.dataset_samples / rate if workload.dataset_samples else None,
        "mfu": flops_utilization(flops.computed * samples, iteration_time, n, setting.peak_flops),
        "mfu_nominal": flops_utilization(flops.nominal * samples, iteration_time, n, setting.peak_flops),
    }
