"""Time of the exchange of gradients, and its part that the backward pass does not hide."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from perfmodel.core import ops
from perfmodel.equations.bandwidths import all_reduce_bus_factor
from perfmodel.equations.exchange import (
    hiding_cost_of_units,
    partitioned_times,
    shared_hiding_cost,
    time_beyond_passes,
    with_waits,
)
from perfmodel.equations.layer_sums import sum_over_layers
from perfmodel.equations.overlap import exposed_communication_time
from perfmodel.equations.parameter_server import parameter_server_time, pipelined_parameter_server_time
from perfmodel.equations.ring_all_reduce import ring_all_reduce_time
from perfmodel.hardware.accelerator import Accelerator
from perfmodel.model.collectives.all_reduce import ALWAYS, algorithms
from perfmodel.model.collectives.generation import adds
from perfmodel.model.fitted.calibration import Calibration
from perfmodel.model.setting.resolve import Setting
from perfmodel.model.step.computation import Computation
from perfmodel.model.step.fabric import Fabric
from perfmodel.model.step.inside import adds_on_accelerators
from perfmodel.model.step.layout import Group, gradient_group
from perfmodel.model.step.library import library_all_gather, library_curve, rings_only, runs_nccl
from perfmodel.model.step.messages import layer_bytes, messages
from perfmodel.model.step.own_update import shares_update
from perfmodel.model.step.server_shards import imbalance

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Array = NDArray[np.float64]


PARTITION_BYTES = 4e6
"""Size of a partition in ByteScheduler by default [B]."""
SOCKETS = 2
"""Processors of a node, each with its own path to host memory (assumed)."""


def host_uplinks(setting: Setting) -> Any:
    """Return the effective number of paths to host memory: accelerators over those on the busiest path.

    Accelerators below one PCIe switch, or by default one processor, share a path: two of three accelerators,
    so that there are 1.5 paths.
    """
    g, below = setting.accelerators_per_node, setting.node.switch_accelerators
    return g / (ops.ceil(g / SOCKETS) if below is None else ops.minimum(g, below))


def message_times(setting: Setting, message_bytes: Array, fabric: Fabric) -> Any:
    """Return the time of each message without overlap [s], with the leading axes of ``fabric``."""
    g = setting.accelerators_per_node
    if setting.strategy == "parameter-server":
        return _parameter_server_times(setting, message_bytes, fabric)
    if setting.strategy == "parameter-server-local":
        return parameter_server_time(
            g,
            host_uplinks(setting),
            message_bytes,
            fabric.intra_hop_latency,
            fabric.intra_link_bandwidth,
            fabric.intra_link_bandwidth,
        )
    if setting.compression is not None:
        from perfmodel.model.step.compressed import compressed_times

        return compressed_times(
            setting,
            setting.compression,
            message_bytes,
            fabric,
            lambda sizes: _all_reduce_times(setting, sizes, fabric),
        )
    return _all_reduce_times(setting, message_bytes, fabric)


def _all_reduce_times(setting: Setting, message_bytes: Array, fabric: Fabric) -> Any:
    """Return the time of the all-reduce of each message without overlap [s]."""
    algorithm, group = setting.scenario.algorithm, gradient_group(setting, fabric)
    if shares_update(setting):
        return _scattered_times(algorithm, group, message_bytes)
    if uses_library(setting):
        return library_curve(group, algorithm).time(message_bytes)
    from perfmodel.model.step.all_reduce import chosen_times

    return chosen_times(algorithm, group, message_bytes)


def _scattered_times(algorithm: str, group: Group, message_bytes: Array) -> Any:
    """Return the time to scatter the sum of each message over the ranks of every node [s].

    A reduce-scatter inside the nodes, and then an all-reduce of each rank's part with its peers of the other
    nodes: the parts of a node share its adapters as one rank with the whole message would.
    """
    inside = library_all_gather(group._replace(nodes=1)).time(message_bytes)
    if not group.several_nodes:
        return inside
    between = group._replace(per_node=1)
    return inside + library_curve(between, algorithm).time(message_bytes)


def gathered_time(setting: Setting, variants: Fabric) -> Any:
    """Return the time to gather updated parameters inside the nodes, which no backward pass hides [s]."""
    form = setting.format
    parameters = setting.workload.parameters * (form.weight_copy_bytes or form.activation_bytes)
    group = gradient_group(setting, variants)
    return library_all_gather(group._replace(nodes=1)).time(ops.array([parameters])).sum(axis=-1)


def uses_library(setting: Setting) -> bool:
    """Return whether gradients are exchanged by an algorithm of NCCL or RCCL."""
    algorithm, chip = setting.scenario.algorithm, setting.accelerator
    if setting.strategy != "all-reduce" or not runs_nccl(chip):
        return False
    if algorithm in ("auto", *ALWAYS):
        return True
    several = ops.holds(setting.domains > 1)
    return algorithm in algorithms(several, adds(setting.intra_link, chip), rings_only(chip))


def _parameter_server_times(setting: Setting, message_bytes: Array, fabric: Fabric) -> Any:
    """Return the time of each message through parameter servers [s]."""
    g, nodes = setting.accelerators_per_node, setting.nodes
    through_servers = (
        pipelined_parameter_server_time if setting.framework.pipelined_servers else parameter_server_time
    )
    if not setting.local_aggregation:
        return through_servers(
            setting.world_size,
            setting.servers,
            message_bytes,
            fabric.inter_hop_latency,
            fabric.inter_link_bandwidth / g,
            fabric.server_bandwidth,
            imbalance(setting),
        )
    inside = ring_all_reduce_time(g, message_bytes, fabric.intra_hop_latency, fabric.intra_link_bandwidth)
    between = through_servers(
        nodes,
        setting.servers,
        message_bytes,
        fabric.inter_hop_latency,
        fabric.inter_link_bandwidth,
        fabric.server_bandwidth,
        imbalance(setting),
    )
    return inside + between


def communication(
    setting: Setting, work: Computation, fabric: Fabric, variants: Fabric, hiding_cost: float = 0.0
) -> tuple[Any, Any]:
    """Return the communication time of one iteration, in all and exposed after overlap [s].

    Only the last micro-batch's backward pass has gradients to send.

    Parameters
    ----------
    setting : of the job
    work : times of one micro-batch on one accelerator
    fabric : bandwidths and latencies for which messages are merged
    variants : bandwidths and latencies to evaluate, arrays of shape (variants, 1)
    hiding_cost : computation lost for each second hidden, for merging by least time

    Returns
    -------
    communication_time, exposed_communication_time [s], shape (variants,)
    """
    if setting.overlap == "priority":
        return _priority(setting, work, variants)
    sent = messages(setting, work, lambda sizes: message_times(setting, sizes, fabric), hiding_cost)
    times = message_times(setting, sent.message_bytes, variants)
    backward_time = sum_over_layers(work.backward_by_layer)
    alone = times.sum(axis=-1)
    alone = alone if alone.ndim else ops.number(alone)
    if setting.overlap == "fused":
        from perfmodel.equations.fusion import cycle_wait_time

        alone = with_waits(alone, cycle_wait_time(sent.ready_times, times, backward_time))
    exposed = exposed_communication_time(sent.ready_times, times, backward_time)
    if shares_update(setting):
        gathered = gathered_time(setting, variants)
        alone, exposed = alone + gathered, exposed + gathered
    return alone, exposed


def hiding_cost(setting: Setting, communication_time: Any, fabric: Fabric, constants: Calibration) -> Any:
    """Return the computation lost for each second of hidden communication [1].

    Collectives that sum gradients occupy the accelerators as long as their bytes take inside a node; copies
    to and from a server do not, nor does waiting for a network.
    """
    if not adds_on_accelerators(setting):
        return 0.0
    cost = cost_of_sums(setting.accelerator, constants)
    whole: Any = layer_bytes(setting).sum(keepdims=True)
    if setting.strategy != "all-reduce":
        g = setting.accelerators_per_node
        inside: Any = ring_all_reduce_time(g, whole, fabric.intra_hop_latency, fabric.intra_link_bandwidth)
        own = inside.sum(axis=-1)
    elif ops.holds(setting.domains > 1) and np.all(ops.plain(communication_time) > 0):
        inside = all_reduce_bus_factor(setting.world_size) * whole / fabric.intra_link_bandwidth
        own = ops.minimum(inside.sum(axis=-1), communication_time)
    else:
        return cost  # all of it is inside
    return shared_hiding_cost(cost, own, communication_time)


def cost_of_sums(accelerator: Accelerator, constants: Calibration) -> Any:
    """Return the computation lost for each second of a hidden collective on accelerators [1]."""
    if accelerator.compute_units is None or accelerator.is_tpu:
        return constants.contention
    return hiding_cost_of_units(constants.contention, accelerator.compute_units)


def _priority(setting: Setting, work: Computation, variants: Fabric) -> tuple[Any, Any]:
    """Return communication and exposed time [s] of partitioned gradients, sent in order of their next use."""
    from perfmodel.equations.priority import priority_iteration_time

    sizes = layer_bytes(setting)
    startup = message_times(setting, np.zeros(1), variants)
    pieces = np.ceil(sizes / PARTITION_BYTES)
    times = partitioned_times(message_times(setting, sizes, variants), startup, pieces)
    forward, backward = work.forward_by_layer, work.backward_by_layer
    period = priority_iteration_time(forward, backward, times)
    return times.sum(axis=-1), time_beyond_passes(period, forward, backward)


def choice_note(setting: Setting, work: Computation, fabric: Fabric, hiding_cost: float) -> str | None:
    """Return a note on the choice of ``--algorithm auto`` or ``best``; None if neither was stated."""
    scenario = setting.scenario
    is_unstated = scenario.algorithm not in ("auto", "best") or "algorithm" not in scenario.model_fields_set
    if is_unstated or setting.strategy != "all-reduce" or setting.world_size == 1:
        return None
    if scenario.algorithm == "auto" and not runs_nccl(setting.accelerator):
        return f"--algorithm auto means a ring: no NCCL runs on {setting.accelerator.id}"
    sent = messages(setting, work, lambda sizes: message_times(setting, sizes, fabric), hiding_cost)
    from perfmodel.model.step.all_reduce import choice_words

    return choice_words(scenario.algorithm, gradient_group(setting, fabric), sent.message_bytes)
