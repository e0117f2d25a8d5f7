"""What a step of a transformer comes to: utilisation and idle stages."""

from __future__ import annotations

from typing import Any, NamedTuple

from perfmodel import ops
from perfmodel.equations.transformer import hardware_flops_per_token, model_flops_utilization
from perfmodel.specs.accelerator import Accelerator
from perfmodel.specs.architecture import Architecture
from perfmodel.specs.layout import FULL, SELECTIVE, Layout
from perfmodel.transformers.flops import COMPUTED, Count, score_flops, step_flops
from perfmodel.transformers.job import Case
from perfmodel.transformers.parameters import fitted
from perfmodel.transformers.software import Software
from perfmodel.transformers.step import Step


class Figures(NamedTuple):
    """Figures of one step."""

    model_flops: float
    """Of a step, as they are computed, recomputation left out [FLOP]."""
    again: float
    """What runs, over that: hfu over mfu."""
    bubble_fraction: float
    """Share of the step in which stages wait for each other."""


def peak_of(accelerator: Accelerator, precision: str) -> float:
    """Return the peak of products in a precision of training [FLOP/s]."""
    return accelerator.training_peak("amp" if precision == "fp16" else precision)[0]


def mfu_of(
    model: Architecture,
    layout: Layout,
    length: int,
    adapts: bool,
    time: Any,
    peak_flops: float,
    count: Count = COMPUTED,
) -> Any:
    """Return the utilisation by the model's FLOP of steps that take ``time`` [s], a number or an array."""
    samples = layout.global_batch_size
    each = step_flops(model, 1, length, adapts, count) / length
    return model_flops_utilization(each, samples * length / time, layout.world_size, peak_flops)


def figures_of(model: Architecture, case: Case, step: Step, time: float) -> Figures:
    """Return the figures of a step that takes ``time``."""
    layout, length = case.layout, case.sequence_length
    samples = ops.number(layout.global_batch_size)
    flops = step_flops(model, samples, length, bool(case.stack.adapts))
    again = again_over_model(model, layout, case.stack, length, samples)
    return Figures(ops.number(flops), again, ops.number((step.bubble + step.unequal_stages) / time))


def again_over_model(
    model: Architecture, layout: Layout, software: Software, length: int, samples: float = 1.0
) -> float:
    """Return what one layout runs, over the model's FLOP: hfu over mfu.

    Parameters
    ----------
    model, layout, software : what is trained, how shared out, and by what
    length, samples : tokens of a sample, samples of a step
    """
    flops, of_all = (step_flops(model, samples, length, frozen) for frozen in (bool(software.adapts), False))
    again = computed_again(model, layout, software, length)
    return ops.number(1 + (hardware_flops_per_token(of_all, again) - of_all) / flops)  # type: ignore[no-any-return]


def computed_again(model: Architecture, layout: Layout, software: Software, length: int) -> float:
    """Return the share of the forward pass that the backward pass runs a second time."""
    if layout.recompute == FULL:
        return ops.number(layout.recomputed_layers)  # type: ignore[no-any-return]
    if layout.recompute != SELECTIVE:
        return 0.0
    if software.checkpoints_operations:
        return ops.number(fitted().parameters["selective"])  # type: ignore[no-any-return]
    if software.flash:
        return 0.0
    return ops.number(score_flops(model, length) / step_flops(model, 1, length))  # type: ignore[no-any-return]
