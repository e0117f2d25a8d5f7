"""Utilisation figures of a transformer's step: peak, and recomputed over model FLOP."""

from __future__ import annotations

from perfmodel.core import ops
from perfmodel.equations.transformer import hardware_flops_per_token
from perfmodel.hardware.accelerator import Accelerator
from perfmodel.model.options.layout import FULL, SELECTIVE, Layout
from perfmodel.model.transformers.flops import score_flops, step_flops
from perfmodel.model.transformers.parameters import fitted
from perfmodel.model.transformers.software import Software
from perfmodel.workloads.architecture import Architecture


def peak_of(accelerator: Accelerator, precision: str) -> float:
    """Return the peak of matrix products in a training precision [FLOP/s]."""
    return accelerator.training_peak("amp" if precision == "fp16" else precision)[0]


def again_over_model(
    model: Architecture, layout: Layout, software: Software, length: int, samples: float = 1.0
) -> float:
    """Return the FLOP that a layout executes, over the model's FLOP: hfu over mfu [1].

    Parameters
    ----------
    model, layout, software : the network, its layout and the software
    length, samples : tokens of a sample, samples of a step
    """
    flops, of_all = (step_flops(model, samples, length, frozen) for frozen in (bool(software.adapts), False))
    again = computed_again(model, layout, software, length)
    return ops.number(1 + (hardware_flops_per_token(of_all, again) - of_all) / flops)  # type: ignore[no-any-return]


def computed_again(model: Architecture, layout: Layout, software: Software, length: int) -> float:
    """Return the share of the forward pass that the backward pass recomputes."""
    if layout.recompute == FULL:
        return ops.number(layout.recomputed_layers)  # type: ignore[no-any-return]
    if layout.recompute != SELECTIVE:
        return 0.0
    if software.checkpoints_operations:
        return ops.number(fitted().parameters["selective"])  # type: ignore[no-any-return]
    if software.flash:
        return 0.0
    return ops.number(score_flops(model, length) / step_flops(model, 1, length))  # type: ignore[no-any-return]
