"""Parts of the evaluation of an iteration, for one setting or for arrays of settings.

``predict`` calls these functions with the numbers of one setting.  A sweep calls the same ones with arrays
in the setting's counts: ``local_batch_size``, ``accumulation_steps`` and the times of a ``Computation`` of
shape (plans, 1), world sizes and other numbers of a placement of shape (places,).
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
from perfmodel.model.step.fabric import Fabric
from perfmodel.model.step.fabric import fabric as fabric_of_specs
from perfmodel.model.step.layout import gradient_group
from perfmodel.model.step.memory import memory_of
from perfmodel.model.step.messages import MERGED
from perfmodel.model.step.model_flops import counted_flops
from perfmodel.model.step.step_context import StepContext
from perfmodel.model.step.terms import counted_alone, time_alone

BY_TIMES = (MERGED, "fused")
"""Overlaps in which the times of messages determine which gradients are merged."""
OVERLAPS = (MERGED, "none", "wfbp", "bucketed", "fused", "priority")
"""Overlaps that ``optimal`` chooses from."""


def computation_of(
    setting: Setting, micro: Any, constants: Calibration, steps: Any, forward_layers: bool | None = None
) -> Computation:
    """Return the times of one accelerator, with a profile's numbers if one is given.

    Parameters as for ``perfmodel.model.step.computation.computation``.
    """
    work = computation(setting, micro, constants, steps, forward_layers)
    if setting.profile is None:
        # learned efficiencies may exceed the peak on hardware unlike any that was measured
        slowdown = slowdown_to_peak(work.alone(steps), peak_time(setting, micro, steps))
        return work if ops.holds(slowdown == 1) else scaled(work, slowdown)
    from perfmodel.model.step.profiled import profiled

    return profiled(work, setting.profile, steps, setting.scenario.input == "synthetic")


def peak_time(setting: Setting, micro: Any, steps: Any) -> Any:
    """Return the time of ``steps`` batches of ``micro`` samples at the peak of one accelerator [s]."""
    samples = steps * (micro[..., 0] if getattr(micro, "ndim", 0) else micro)
    return time_at_peak(counted_flops(setting).computed * samples, setting.peak_flops)


def fabric_of(setting: Setting, constants: Calibration) -> Fabric:
    """Return bandwidths and latencies, with a profile's numbers if one is given."""
    fabric = fabric_of_specs(setting, constants)
    if setting.profile is None:
        return fabric
    from perfmodel.model.step.profiled import profiled_fabric

    return profiled_fabric(fabric, setting, setting.profile)


def work_alone(setting: Setting, work: Computation, constants: Calibration) -> Computation:
    """Return the times of a single accelerator with the same batch, which holds all tables itself."""
    if setting.workload.tables is None:
        return work
    micro, steps = setting.local_batch_size, setting.accumulation_steps
    return computation_of(setting._replace(world_size=1), micro, constants, steps)


def alone_time(
    setting: Setting, work: Computation, micro: Any, steps: Any, factor: Any, constants: Calibration
) -> Any:
    """Return the iteration time of a single accelerator with ``steps`` batches of ``micro`` samples [s].

    An anchor's ``factor`` is already in ``work``; it applies to the wait for input as well.
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

    rest = busy / factor  # the time that hides input, before the anchor's factor
    waits = input_time(setting, 1, steps * micro, rest, constants)
    return busy + waits * factor


def anchor_factor(setting: Setting, work: Computation, constants: Calibration) -> Any:
    """Return measured over predicted time of one accelerator with times ``work``; 1 without an anchor.

    The factor scales computation at any number of accelerators.
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
    """Return ``work`` with every time multiplied by a factor."""
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
    """Return whether gradients are sent: by several accelerators, or to parameter servers."""
    return (setting.world_size > 1) | (setting.strategy == "parameter-server")


class Exchanged(NamedTuple):
    """The communication of one iteration [s], numbers or arrays."""

    alone: Any = 0.0
    """Communication without overlap."""
    exposed: Any = 0.0
    """Communication not hidden by computation."""
    contention: Any = 0.0
    """Slowdown of computation by hidden communication."""

    @property
    def added(self) -> Any:
        """Time that communication adds to the iteration."""
        return self.exposed + self.contention


def exchange(
    setting: Setting, work: Computation, fabric: Fabric, variants: Fabric, constants: Calibration
) -> Exchanged:
    """Return the communication of one iteration.

    Parameters as for ``perfmodel.model.step.communication.communication``.
    """
    candidates = [
        _exchange(each, work, fabric, variants, constants) for each in _candidate_settings(setting, fabric)
    ]
    if len(candidates) == 1:
        return candidates[0]
    if np.ndim(candidates[0].added) == 0:
        return min(candidates, key=lambda candidate: ops.plain(candidate.added))
    added = np.stack([candidate.added for candidate in candidates])
    least = added.argmin(axis=0)[None]
    columns = (
        np.stack(np.broadcast_arrays(*times, added[0])[:-1]) for times in zip(*candidates, strict=True)
    )
    return Exchanged(*(np.take_along_axis(column, least, 0)[0] for column in columns))


def _exchange(
    setting: Setting, work: Computation, fabric: Fabric, variants: Fabric, constants: Calibration
) -> Exchanged:
    """Return the communication of one iteration with a given overlap and the scenario's algorithm."""
    if setting.strategy == ONE_PROCESS:
        from perfmodel.model.step.one_process import traffic

        whole: Any = sum(traffic(setting, variants).values())
        whole = whole[..., 0] if np.ndim(whole) else whole
        return Exchanged(whole, whole)
    if setting.updates is not None:
        from perfmodel.model.step.updates import exchange_of_round

        return Exchanged(*exchange_of_round(setting, work, fabric, variants, constants, _together))
    return _together(setting, work, fabric, variants, constants)


def _together(
    setting: Setting, work: Computation, fabric: Fabric, variants: Fabric, constants: Calibration
) -> Exchanged:
    """Return the communication of all workers in one exchange."""
    alone, exposed = communication(setting, work, fabric, variants, merging_cost(setting, constants))
    cost = hiding_cost(setting, alone, variants, constants)
    slowed = contention_time(alone, exposed, cost)
    if setting.workload.tables is None:
        return Exchanged(alone, exposed, slowed)
    from perfmodel.equations.tables import with_tables
    from perfmodel.model.step.tables import exchange_time

    rows = exchange_time(setting, setting.workload.tables, variants)
    return Exchanged(with_tables(alone, rows), with_tables(exposed, rows), slowed)


def visit_time(setting: Setting, work: Computation, fabric: Fabric, constants: Calibration) -> float:
    """Return the time that a push and a pull add to a gradient of a worker without contention [s]."""
    from perfmodel.model.step.updates import alone

    visit: float = ops.number(_together(alone(setting), work, fabric, fabric, constants).added)
    return visit


def merging_cost(setting: Setting, constants: Calibration) -> float:
    """Return the computation lost for each second hidden, for merging by least time [1]."""
    return cost_of_sums(setting.accelerator, constants) if setting.strategy == "all-reduce" else 0.0


def _candidate_settings(setting: Setting, fabric: Fabric) -> list[Setting]:
    """Return a setting with each overlap and algorithm that its scenario lets the model choose from."""
    if setting.overlap != "optimal":
        return _by_algorithm(setting, fabric)
    return [
        candidate for each in OVERLAPS for candidate in _by_algorithm(setting._replace(overlap=each), fabric)
    ]


def _by_algorithm(setting: Setting, fabric: Fabric) -> list[Setting]:
    """Return a setting, and with ``best`` variants with each algorithm, if merging depends on times.

    Merging for the fastest algorithm of each message is not always better than for one algorithm.
    """
    scenario = setting.scenario
    if scenario.algorithm != "best" or setting.strategy != "all-reduce" or setting.overlap not in BY_TIMES:
        return [setting]
    from perfmodel.model.step.all_reduce import named_algorithms

    names = named_algorithms(gradient_group(setting, fabric))
    variants = (scenario.model_copy(update={"algorithm": name}) for name in names)
    return [setting, *(setting._replace(scenario=each) for each in variants)]


def with_cheapest_exchange(
    setting: Setting, work: Computation, fabric: Fabric, constants: Calibration
) -> Setting:
    """Return the setting with the overlap and algorithm that ``optimal`` and ``best`` choose."""
    candidates = _candidate_settings(setting, fabric)
    if len(candidates) == 1:
        return setting
    return min(candidates, key=lambda each: ops.plain(_exchange(each, work, fabric, fabric, constants).added))


def whole_batch(setting: Setting, constants: Calibration) -> tuple[int, float]:
    """Return the micro-batch of a single accelerator for the whole job's batch, and the number of these.

    The micro-batch is the largest that fits; a single accelerator compresses no gradients.
    """
    fits = memory_of(setting._replace(world_size=1, compression=None), constants).largest_local_batch_size
    largest = min(setting.global_batch_size, max(fits, 1))
    micro = max(largest, setting.local_batch_size)
    return micro, setting.global_batch_size / micro


def figures(
    setting: Setting, iteration_time: Any, baseline_time: Any, exposed: Any, replicas: Any = None
) -> dict[str, Any]:
    """Return the figures derived from an iteration time, by the names of a ``Prediction``.

    Parameters
    ----------
    setting : of the job
    iteration_time, baseline_time : of the job, and of one accelerator or replica [s]
    exposed : time that communication adds to the iteration [s]
    replicas : of the network; by default one on each accelerator
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
