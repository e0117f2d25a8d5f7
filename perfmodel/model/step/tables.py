"""Embedding tables shared out over accelerators: what a step exchanges of them, updates and keeps."""

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
from perfmodel.model.step.library import library_exchange, runs_nccl
from perfmodel.workloads.workload import Tables, Workload


def exchanged_bytes(setting: Setting, tables: Tables, holders: Any = None) -> Any:
    """Return what one accelerator holds for all in each all-to-all [B], an axis of one message behind.

    That of the fullest accelerator, or the mean of the fullest of other ``holders``: of nodes.
    """
    holders = setting.world_size if holders is None else holders
    batch = ops.array(setting.local_batch_size)[..., None]
    size = setting.format.activation_bytes
    return equations.table_message_bytes(batch, tables.all_looked_up, size, tables.number, holders * 1.0)


def exchange_time(setting: Setting, tables: Tables, on: Fabric) -> Any:
    """Return the time of both exchanges of an iteration [s], with the leading axes of ``on``."""
    own = node_bandwidth(on.inter_link_bandwidth, on.own_port, 1.0, 1.0)
    shared = node_bandwidth(on.inter_link_bandwidth, 1, 1.0, on.exchange_slowdown)
    of_rank = _time(setting, exchanged_bytes(setting, tables), on._replace(inter_link_bandwidth=own))
    of_node = _time(
        setting,
        exchanged_bytes(setting, tables, setting.domains),
        on._replace(inter_link_bandwidth=shared),
    )
    of_tables: Any = equations.busiest_port_time(of_rank, of_node)
    each = of_tables.sum(axis=-1)
    return equations.table_exchange_time(setting.accumulation_steps, each)


def _time(setting: Setting, message_bytes: Any, on: Fabric) -> Any:
    group = gradient_group(setting, on)
    if runs_nccl(setting.accelerator):
        return library_exchange(group).time(message_bytes)
    several = group.several_nodes
    hop = slowest_hop(on.intra_hop_latency, on.inter_hop_latency) if several else on.intra_hop_latency
    narrow = on.intra_link_bandwidth
    if several:
        narrow = least_bandwidth(narrow, on.inter_link_bandwidth / setting.accelerators_per_domain)
    return pairwise_all_to_all_time(setting.world_size, message_bytes, hop, narrow)


def with_lookups_of_fullest(setting: Setting, tables: Tables, table: LayerTable) -> LayerTable:
    """Return the table of layers of the accelerator that looks up most."""
    share, n = _looks_up(setting.workload), setting.world_size * 1.0
    return table._replace(elements=equations.fullest_activations(table.elements, share, tables.number, n))


@remembered(maxsize=64)
def _looks_up(workload: Workload) -> Any:
    """Return 1 for each pass of a ``LayerTable`` that looks up tables which are shared out, else 0."""
    return np.array([layer.name == LOOKUPS for layer in workload.layers] * 2, dtype=np.float64)


def update_time(setting: Setting, tables: Tables, dense_time: Any, micro: Any, steps: Any) -> Any:
    """Return the time of an update of dense layers, given, and of the fullest accelerator's rows [s]."""
    samples = steps * (micro if np.ndim(micro) == 0 else micro[:, 0])
    n = setting.world_size * 1.0
    touched = equations.touched_parameters(samples, tables.parameters, tables.looked_up, n)
    bandwidth = setting.accelerator.memory_bandwidth.value
    return equations.update_with_rows(dense_time, touched, setting.states.row_update_bytes, bandwidth)


def memory_bytes(setting: Setting, tables: Tables) -> Any:
    """Return what the fullest accelerator keeps of tables [B]."""
    states = setting.states
    return equations.table_memory_bytes(
        tables.all_parameters,
        tables.largest,
        setting.world_size,
        states.weight_bytes + states.row_moment_bytes,
    )
