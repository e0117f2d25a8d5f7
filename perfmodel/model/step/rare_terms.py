"""Times of terms that few jobs have: of coded gradients, of one process for all, of losses in own runs."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from perfmodel.core.tracing.tracing import given
from perfmodel.model.step.step_context import StepContext


def measured_loss_of(step: StepContext, _: Mapping[str, Any]) -> Any:
    """Return what own runs of the job lose on several accelerators beyond its other terms [s]."""
    setting = step.setting
    lost = given(setting.measured_loss, "terms.measured_loss_time", "your own runs")
    return lost * (setting.world_size > 1)


def coding_of(step: StepContext, _: Mapping[str, Any]) -> Any:
    """Return the time to code gradients [s]; 0 without compression."""
    if step.setting.compression is None:
        return 0.0
    from perfmodel.model.step.compressed import coding_times

    return coding_times(step.setting, step.constants)


def replicate_of(step: StepContext, _: Mapping[str, Any]) -> Any:
    """Return the time in which one process copies the network to all accelerators [s]."""
    from perfmodel.model.step.one_process import replicate_time

    return replicate_time(step.setting, step.constants)


def parallel_apply_of(step: StepContext, _: Mapping[str, Any]) -> Any:
    """Return the time in which one process starts the work of each in turn [s]."""
    from perfmodel.model.step.one_process import parallel_apply_time

    return parallel_apply_time(step.setting, step.copy, step.constants)


def loss_of(step: StepContext, _: Mapping[str, Any]) -> Any:
    """Return the time of the others' loss on the first accelerator [s]."""
    from perfmodel.model.step.one_process import loss_time

    return loss_time(step.setting, step.anchor_factor, step.constants)
