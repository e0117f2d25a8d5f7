"""How long gradients travel, and how much of it the backward pass does not hide."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from perfmodel.core import ops
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
from perfmodel.model.step.fabric import Fabric, adds_on_accelerators
from perfmodel.model.step.layout import gradient_group
from perfmodel.model.step.library import library_curve, rings_only, runs_nccl
from perfmodel.model.step.messages import layer_bytes, messages
from perfmodel.model.step.server_shards import imbalance

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Array = NDArray[np.float64]


PARTITION_BYTES = 4e6
"""ByteScheduler's usual partition."""
SOCKETS = 2
"""Processors that a node's accelerators are spread over, each with a way to host memory (assumed)."""


def host_uplinks(setting: Setting) -> Any:
    """Return the ways from a node's accelerators to host memory: all of them over those of the busiest way.

    Those below one PCIe switch, or where nobody says one processor, share its way: of three accelerators two,
    so that there are 1.5 ways.
    """
    g, below = setting.accelerators_per_node, setting.node.switch_accelerators
    return g / (ops.ceil(g / SOCKETS) if below is None else ops.minimum(g, below))


def message_times(setting: Setting, message_bytes: Array, on: Fabric) -> Any:
    """Time of each message on its own [s], shape (..., messages) with the leading axes of ``on``."""
    g = setting.accelerators_per_node
    if setting.strategy == "parameter-server":
        return _parameter_server_times(setting, message_bytes, on)
    if setting.strategy == "parameter-server-local":
        return parameter_server_time(
            g,
            host_uplinks(setting),
            message_bytes,
            on.intra_hop_latency,
            on.intra_link_bandwidth,
            on.intra_link_bandwidth,
        )
    if setting.compression is not None:
        from perfmodel.model.step.compressed import compressed_times

        return compressed_times(
            setting, setting.compression, message_bytes, on, lambda sizes: _added_times(setting, sizes, on)
        )
    return _added_times(setting, message_bytes, on)


def _added_times(setting: Setting, message_bytes: Array, on: Fabric) -> Any:
    """Time of the all-reduce of each message on its own [s]."""
    asked, group = setting.scenario.algorithm, gradient_group(setting, on)
    if by_library(setting):
        return library_curve(group, asked).time(message_bytes)
    from perfmodel.model.step.all_reduce import chosen_times

    return chosen_times(asked, group, message_bytes)


def by_library(setting: Setting) -> bool:
    """Whether gradients travel by an algorithm of NCCL or RCCL."""
    asked, chip = setting.scenario.algorithm, setting.accelerator
    if setting.strategy != "all-reduce" or not runs_nccl(chip):
        return False
    if asked in ("auto", *ALWAYS):
        return True
    several = ops.holds(setting.domains > 1)
    return asked in algorithms(several, adds(setting.intra_link, chip), rings_only(chip))


def _parameter_server_times(setting: Setting, message_bytes: Array, on: Fabric) -> Any:
    g, nodes = setting.accelerators_per_node, setting.nodes
    through_servers = (
        pipelined_parameter_server_time if setting.framework.pipelined_servers else parameter_server_time
    )
    if not setting.local_aggregation:
        return through_servers(
            setting.world_size,
            setting.servers,
            message_bytes,
            on.inter_hop_latency,
            on.inter_link_bandwidth / g,
            on.server_bandwidth,
            imbalance(setting),
        )
    inside = ring_all_reduce_time(g, message_bytes, on.intra_hop_latency, on.intra_link_bandwidth)
    between = through_servers(
        nodes,
        setting.servers,
        message_bytes,
        on.inter_hop_latency,
        on.inter_link_bandwidth,
        on.server_bandwidth,
        imbalance(setting),
    )
    return inside + between


def communication(
    setting: Setting, work: Computation, on: Fabric, variants: Fabric, hiding_cost: float = 0.0
) -> tuple[Any, Any]:
    """Return the communication of one iteration: on its own, and what is left after overlap [s].

    Only the last micro-batch's backward pass has gradients to send.

    Parameters
    ----------
    setting : whose gradients travel
    work : one micro-batch on one accelerator
    on : bandwidths and latencies as they are; messages are merged for these
    variants : the same and others to compare with, arrays of shape (variants, 1)
    hiding_cost : computation lost for each second hidden; what merging for the least time weighs

    Returns
    -------
    communication_time, exposed_communication_time [s], shape (variants,)
    """
    if setting.overlap == "priority":
        return _priority(setting, work, variants)
    sent = messages(setting, work, lambda sizes: message_times(setting, sizes, on), hiding_cost)
    times = message_times(setting, sent.message_bytes, variants)
    backward_time = sum_over_layers(work.backward_by_layer)
    alone = times.sum(axis=-1)
    alone = alone if alone.ndim else ops.number(alone)
    if setting.overlap == "fused":
        from perfmodel.equations.fusion import cycle_wait_time

        alone = with_waits(alone, cycle_wait_time(sent.ready_times, times, backward_time))
    return alone, exposed_communication_time(sent.ready_times, times, backward_time)


def hiding_cost(setting: Setting, communication_time: Any, on: Fabric, constants: Calibration) -> Any:
    """Return the computation lost for each second of communication that hides behind it.

    Collectives that add up gradients keep the accelerators busy; copies to and from a server need no
    multiprocessor.
    """
    if not adds_on_accelerators(setting):
        return 0.0
    cost = cost_of_sums(setting.accelerator, constants)
    if setting.strategy == "all-reduce":
        return cost
    whole = layer_bytes(setting).sum(keepdims=True)
    g = setting.accelerators_per_node
    inside: Any = ring_all_reduce_time(g, whole, on.intra_hop_latency, on.intra_link_bandwidth)
    return shared_hiding_cost(cost, inside.sum(axis=-1), communication_time)


def cost_of_sums(accelerator: Accelerator, constants: Calibration) -> Any:
    """Return the computation lost for each second of a collective that accelerators carry out themselves."""
    if accelerator.compute_units is None or accelerator.is_tpu:
        return constants.contention
    return hiding_cost_of_units(constants.contention, accelerator.compute_units)


def _priority(setting: Setting, work: Computation, variants: Fabric) -> tuple[Any, Any]:
    """Gradients cut into partitions; those the next forward pass needs first overtake the others."""
    from perfmodel.equations.priority import priority_iteration_time

    sizes = layer_bytes(setting)
    startup = message_times(setting, np.zeros(1), variants)
    pieces = np.ceil(sizes / PARTITION_BYTES)
    times = partitioned_times(message_times(setting, sizes, variants), startup, pieces)
    forward, backward = work.forward_by_layer, work.backward_by_layer
    period = priority_iteration_time(forward, backward, times)
    return times.sum(axis=-1), time_beyond_passes(period, forward, backward)


def choice_note(setting: Setting, work: Computation, on: Fabric, hiding_cost: float) -> str | None:
    """Say which algorithms ``--algorithm auto`` or ``best`` chose, where a person asked for that choice."""
    asked = setting.scenario
    by_name = asked.algorithm not in ("auto", "best") or "algorithm" not in asked.model_fields_set
    if by_name or setting.strategy != "all-reduce" or setting.world_size == 1:
        return None
    if asked.algorithm == "auto" and not runs_nccl(setting.accelerator):
        return f"--algorithm auto means a ring: no NCCL runs on {setting.accelerator.id}"
    sent = messages(setting, work, lambda sizes: message_times(setting, sizes, on), hiding_cost)
    from perfmodel.model.step.all_reduce import choice_words

    return choice_words(asked.algorithm, gradient_group(setting, on), sent.message_bytes)
