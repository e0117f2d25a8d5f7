"""Imbalance of gradients over parameter servers, since whole tensors fill some servers more."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from typing import Any

import numpy as np

from perfmodel.core.tracing.tracing import remembered
from perfmodel.model.setting.resolve import Setting
from perfmodel.workloads.workload import Workload

LARGEST_WHOLE_ELEMENTS = 1e6
"""MXNet's ``MXNET_KVSTORE_BIGARRAY_BOUND``: an array of more elements is split."""


def imbalance(setting: Setting) -> Any:
    """Return the largest over the mean shard of a setting's servers [1]; an array if the servers are.

    Every message is assumed to be distributed over the servers like the whole model.
    """
    if setting.server_shards == "even" or not setting.workload.parameters:
        return 1.0
    known = setting.workload, setting.server_shards
    if np.ndim(setting.servers) == 0:
        return _imbalance(*known, setting.servers)
    counts, which = np.unique(setting.servers, return_inverse=True)
    result = np.array([_imbalance(*known, int(count)) for count in counts])
    return result[which].reshape(np.shape(setting.servers))


@remembered(maxsize=4096)
def _imbalance(workload: Workload, shards: str, servers: int) -> float:
    """Return the largest over the mean shard for one number of servers, cached."""
    from perfmodel.equations.server_load import (
        greedy_shard_imbalance,
        shard_imbalance,
        split_shard_imbalance,
    )

    if shards == "greedy":
        return greedy_shard_imbalance(_variable_sizes(workload), servers)
    if shards == "large-split":
        # MXNet gives key k to server 9973 k mod s, which renames the servers of k mod s
        return split_shard_imbalance(workload.tensor_elements.tolist(), servers, LARGEST_WHOLE_ELEMENTS)
    return shard_imbalance(_variable_sizes(workload), servers)


def _variable_sizes(workload: Workload) -> Sequence[float]:
    """Return the elements of each variable with a gradient, in the order in which TensorFlow places them.

    Mean and variance of a batch normalisation take their turns as well, but no bytes, since they have no
    gradients.
    """
    sizes: list[float] = []
    elements = iter(workload.tensor_elements.tolist())
    for layer in workload.layers:
        sizes += itertools.islice(elements, len(layer.tensors))
        if layer.kind == "norm" and len(layer.tensors) == 2 and workload.family == "cnn":
            sizes += [0.0, 0.0]
    return sizes
