"""The FLOP of a network for its utilisation, and the fewest operations of its products."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from perfmodel.core import ops
from perfmodel.core.tracing.tracing import remembered
from perfmodel.model.setting.resolve import Setting
from perfmodel.model.step.layer_rates import VECTOR_FP32, unit
from perfmodel.model.transformers.flops import NOMINAL, step_flops
from perfmodel.workloads.workload import CONVOLUTION, Layer, Workload

WINOGRAD_SAVING = 2.25
"""Saving of F(2x2, 3x3): 36 multiplications become 16 (Lavin and Gray 2016)."""


class Counted(NamedTuple):
    """FLOP of the forward and backward pass of one sample."""

    computed: float
    """FLOP computed, without those that masks, windows and fast algorithms avoid."""
    nominal: float
    """FLOP as in most publications: PaLM's count of a transformer, every product of a convolution."""


def counted_flops(setting: Setting) -> Counted:
    """Return the FLOP of a sample for utilisation, computed and nominal.

    Convolutions use fast algorithms in fp32 on ordinary units, if the software has them.
    """
    workload = setting.workload
    model, length = workload.architecture, workload.tokens
    if model is not None and length is not None:
        adapts = setting.scenario.lora is not None
        return Counted(
            step_flops(model, 1, length, adapts), step_flops(model, 1, length, adapts, count=NOMINAL)
        )
    every = workload.training_flops
    is_fast = unit(setting) == VECTOR_FP32 and setting.framework.winograd != "none"
    return Counted(least_flops(workload) if is_fast else every, every)


def saving(layer: Layer) -> float:
    """Return the FLOP of a layer over the operations of a fast algorithm for it [1].

    A Fourier transform replaces a filter of k by k taps by one product for each point of the spectrum: it
    saves up to k squared, of which a quarter is assumed, as its products are complex.
    """
    height, width = layer.kernel_size
    if layer.operation.product != CONVOLUTION or max(height, width) < 3:
        return 1.0
    if max(height, width) == 3:
        return WINOGRAD_SAVING if layer.stride == 1 else 1.0
    return max(1.0, height * width / 4)


@remembered(maxsize=256)
def least_flops(workload: Workload) -> float:
    """Return the least FLOP of one sample's forward and backward pass with fast algorithms."""
    if workload.architecture is not None and workload.tokens is not None:
        flops: float = ops.number(step_flops(workload.architecture, 1, workload.tokens))
        return flops
    every = workload.column("forward_flops") + workload.column("backward_flops")
    least: float = sum((every / np.array([saving(layer) for layer in workload.layers])).tolist())
    return least
