"""Merging of gradients into messages, and the time when each message is ready."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from perfmodel.core import ops
from perfmodel.core.tracing.tracing import remembered
from perfmodel.equations.buckets import ddp_buckets
from perfmodel.equations.exchange import gradient_ready_times
from perfmodel.model.setting.resolve import Setting
from perfmodel.model.step.computation import Computation
from perfmodel.workloads.workload import Workload

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

    Array = NDArray[np.float64]


MERGED = "merged"
"""Overlap that merges neighbours for the least iteration time; one of the candidates of ``optimal``."""
FIRST_LAYER = np.zeros(1, dtype=np.intp)
"""The layer whose backward pass completes all gradients."""


class Messages(NamedTuple):
    """Messages of gradients, in the order in which they become ready."""

    message_bytes: Array
    """Shape (messages,)."""
    ready_times: Array
    """Since the start of the backward pass [s], shape (..., messages), leading axes of the work."""


class _Gradients(NamedTuple):
    """Gradient tensors, in the order in which they become ready: the reverse of registration."""

    tensor_bytes: Array
    """Shape (tensors,)."""
    layer: NDArray[np.intp]
    """Layer whose backward pass computes each, in forward order, shape (tensors,)."""


@remembered(maxsize=256)
def _gradients(workload: Workload, element_bytes: int) -> _Gradients:
    """Return the gradient tensors of a network, the last layer's first, cached."""
    layers = [index for index, layer in enumerate(workload.layers) for _ in layer.tensors]
    sizes: Array = workload.tensor_elements[::-1] * element_bytes
    return _Gradients(sizes, np.array(layers[::-1], dtype=np.intp))


@remembered(maxsize=256)
def _bucketed(workload: Workload, element_bytes: int) -> _Gradients:
    """Return the gradients merged as in DistributedDataParallel; a bucket is ready with its last tensor."""
    tensors = _gradients(workload, element_bytes)
    return _merged_gradients(tensors, ddp_buckets(tensors.tensor_bytes))


def _merged_gradients(tensors: _Gradients, group: NDArray[np.intp]) -> _Gradients:
    """Return gradients merged by groups; a group is ready with its last tensor."""
    last = np.full(int(ops.plain(group)[-1]) + 1, np.iinfo(np.intp).max)
    np.minimum.at(last, ops.plain(group), tensors.layer)
    sizes: Any = np.bincount(group, weights=tensors.tensor_bytes)
    return _Gradients(sizes, last)


def messages(
    setting: Setting, work: Computation, time: Callable[[Array], Array], hiding_cost: float = 0.0
) -> Messages:
    """Return the messages of one iteration's gradients.

    Parameters
    ----------
    setting : whose ``overlap`` determines how gradients are merged
    work : times of the backward pass
    time : returns the time of messages without overlap [s], given their bytes
    hiding_cost : computation lost for each second hidden, for merging by least time

    ``fused`` and ``merged`` depend on the times of one setting and do not accept arrays.
    """
    overlap, element = setting.overlap, setting.format.gradient_bytes
    backward = work.backward_by_layer
    if overlap == "bucketed":
        buckets = _bucketed(setting.workload, element)
        return Messages(buckets.tensor_bytes, gradient_ready_times(backward, buckets.layer))
    tensors = _gradients(setting.workload, element)
    if overlap == "none":
        return Messages(tensors.tensor_bytes.sum(keepdims=True), gradient_ready_times(backward, FIRST_LAYER))
    tensor_ready = gradient_ready_times(backward, tensors.layer)
    if overlap == "fused":
        from perfmodel.equations.fusion import fused_messages

        released, sizes = fused_messages(tensor_ready.tolist(), tensors.tensor_bytes.tolist(), time)
        return Messages(sizes, released)
    if overlap == MERGED:
        from perfmodel.equations.merging import optimal_buckets

        fixed, whole = map(ops.number, time(np.array([0.0, 1e9])))
        groups, _ = optimal_buckets(
            tensor_ready.tolist(), tensors.tensor_bytes.tolist(), fixed, (whole - fixed) / 1e9, hiding_cost
        )
        merged = _merged_gradients(tensors, groups)
        return Messages(merged.tensor_bytes, gradient_ready_times(backward, merged.layer))
    return Messages(tensors.tensor_bytes, tensor_ready)


def layer_bytes(setting: Setting) -> Array:
    """Return the gradient bytes of every layer, in forward order, shape (layers,)."""
    return setting.format.gradient_bytes * setting.workload.column("parameters")
