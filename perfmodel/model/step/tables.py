"""Sharded embedding tables: their exchange, update and memory in a step."""

from __future__ import annotations

from typing import Any

import numpy as np

from perfmodel.core import ops
from perfmodel.core.tracing.tracing import remembered
from perfmodel.equations import tables as equations
from perfmodel.equations.exchange import least_bandwidth, slowest_hop
from perfmodel.equations.link_rates import node_bandwidth
from perfmodel.equations.shuffles import pairwise_all_to_all_time
from perfmodel.model.setting.embedding_tables import LOOKUPS
from perfmodel.model.setting.resolve import Setting
from perfmodel.model.step.fabric import Fabric
from perfmodel.model.step.layers import LayerTable
from perfmodel.model.step.layout import gradient_group
from perfmodel.model.step.library import library_all_to_all, runs_nccl
from perfmodel.workloads.workload import Tables, Workload


def exchanged_bytes(setting: Setting, tables: Tables, holders: Any = None) -> Any:
    """Return the bytes that one accelerator sends in each all-to-all, with a last axis of one message.

    It is that of the fullest accelerator, or the mean of the fullest node for ``holders`` nodes.
    """
    holders = setting.world_size if holders is None else holders
    batch = ops.array(setting.local_batch_size)[..., None]
    size = setting.format.activation_bytes
    return equations.table_message_bytes(batch, tables.all_looked_up, size, tables.number, holders * 1.0)


def exchange_time(setting: Setting, tables: Tables, fabric: Fabric) -> Any:
    """Return the time of both exchanges of an iteration [s], with the leading axes of ``fabric``."""
    own = node_bandwidth(fabric.inter_link_bandwidth, fabric.own_port, 1.0, 1.0)
    shared = node_bandwidth(fabric.inter_link_bandwidth, 1, 1.0, fabric.exchange_slowdown)
    of_rank = _all_to_all_time(
        setting, exchanged_bytes(setting, tables), fabric._replace(inter_link_bandwidth=own)
    )
    of_node = _all_to_all_time(
        setting,
        exchanged_bytes(setting, tables, setting.domains),
        fabric._replace(inter_link_bandwidth=shared),
    )
    of_tables: Any = equations.busiest_port_time(of_rank, of_node)
    each = of_tables.sum(axis=-1)
    return equations.table_exchange_time(setting.accumulation_steps, each)


def _all_to_all_time(setting: Setting, message_bytes: Any, fabric: Fabric) -> Any:
    """Return the time of an all-to-all of all ranks [s]."""
    group = gradient_group(setting, fabric)
    if runs_nccl(setting.accelerator):
        return library_all_to_all(group).time(message_bytes)
    several = group.several_nodes
    hop = (
        slowest_hop(fabric.intra_hop_latency, fabric.inter_hop_latency)
        if several
        else fabric.intra_hop_latency
    )
    narrow = fabric.intra_link_bandwidth
    if several:
        narrow = least_bandwidth(narrow, fabric.inter_link_bandwidth / setting.accelerators_per_domain)
    return pairwise_all_to_all_time(setting.world_size, message_bytes, hop, narrow)


def with_lookups_of_fullest(setting: Setting, tables: Tables, table: LayerTable) -> LayerTable:
    """Return the table of layers of the accelerator with the most look-ups."""
    share, n = _looks_up(setting.workload), setting.world_size * 1.0
    return table._replace(elements=equations.fullest_activations(table.elements, share, tables.number, n))


@remembered(maxsize=64)
def _looks_up(workload: Workload) -> Any:
    """Return 1 for each pass of a ``LayerTable`` that looks up sharded tables, else 0."""
    return np.array([layer.name == LOOKUPS for layer in workload.layers] * 2, dtype=np.float64)


def update_time(setting: Setting, tables: Tables, dense_time: Any, micro: Any, steps: Any) -> Any:
    """Return the time of an update [s]: ``dense_time``, and that of the fullest accelerator's rows."""
    samples = steps * (micro if np.ndim(micro) == 0 else micro[:, 0])
    n = setting.world_size * 1.0
    touched = equations.touched_parameters(samples, tables.parameters, tables.looked_up, n)
    bandwidth = setting.accelerator.memory_bandwidth.value
    return equations.update_with_rows(dense_time, touched, setting.states.row_update_bytes, bandwidth)


def memory_bytes(setting: Setting, tables: Tables) -> Any:
    """Return the memory of tables on the fullest accelerator [B]."""
    states = setting.states
    return equations.table_memory_bytes(
        tables.all_parameters,
        tables.largest,
        setting.world_size,
        states.weight_bytes + states.row_moment_bytes,
    )
