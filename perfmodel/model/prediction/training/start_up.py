"""What a job takes before its first iteration, and an epoch before its first batch."""

from __future__ import annotations

from typing import Any

from perfmodel.core import ops
from perfmodel.equations.broadcast import long_broadcast_time
from perfmodel.model.fitted.calibration import Calibration
from perfmodel.model.setting.resolve import Setting

PARAMETER_BYTES = 4
"""Weights are sent to all ranks in fp32."""
BASIS = {
    "processes": "assumed",
    "first step": "measured once, on V100",
    "parameters": "derived",
    "loaders": "derived",
}
"""What the parts of a start-up stand on."""


def start_up(
    setting: Setting, constants: Calibration, copies: int, link_bandwidth: float
) -> dict[str, float]:
    """Return the parts of a job's start-up [s], which follow one another.

    ``processes``: interpreter, framework and context of every process, all at once.  ``first step``: what the
    first iteration takes beyond a usual one.  ``parameters``: of the rank that initialised them to all others
    that keep the same ones.  ``loaders``: workers and their first batch, of real samples.

    Parameters
    ----------
    setting, constants : of the job
    copies : ranks that keep the same parameters
    link_bandwidth : of the slowest link between them [B/s]
    """
    parts = {"processes": constants.process_start_time, "first step": constants.first_step_time}
    if copies > 1:
        sent = PARAMETER_BYTES * setting.workload.parameters * copies / setting.world_size
        parts["parameters"] = float(long_broadcast_time(sent, link_bandwidth))
    if setting.feed is not None:
        parts["loaders"] = epoch_start(setting, constants, persistent=False)
    return parts


def startup_time(setting: Setting, constants: Calibration, copies: Any, link_bandwidth: Any) -> Any:
    """Return the sum of the parts that ``start_up`` has [s], numbers or arrays of them.

    Takes what that takes.
    """
    several = copies > 1
    sent = PARAMETER_BYTES * setting.workload.parameters * copies / setting.world_size
    parameters = long_broadcast_time(sent, ops.where(several, link_bandwidth, 1.0))
    loaders = epoch_starts(setting, constants, persistent=False)
    started = constants.process_start_time + constants.first_step_time
    return started + ops.where(several, parameters, 0.0) + loaders


def epoch_start(setting: Setting, constants: Calibration, persistent: bool | None = None) -> float:
    """Return the time before the first batch of an epoch [s]; 0 of synthetic samples."""
    return float(epoch_starts(setting, constants, persistent))


def epoch_starts(setting: Setting, constants: Calibration, persistent: bool | None = None) -> Any:
    """Return the time before an epoch's first batch [s], a number or an array; 0 of synthetic samples."""
    if setting.feed is None:
        return 0.0
    from perfmodel.model.step.input_wait import epoch_start_time

    return epoch_start_time(setting, constants, persistent)
