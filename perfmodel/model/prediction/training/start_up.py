"""Start-up time of a job before its first iteration, and of an epoch before its first batch."""

from __future__ import annotations

from typing import Any

from perfmodel.core import ops
from perfmodel.equations.broadcast import long_broadcast_time
from perfmodel.model.fitted.calibration import Calibration
from perfmodel.model.setting.resolve import Setting

PARAMETER_BYTES = 4
"""Bytes of a parameter in the initial broadcast: fp32."""
BASIS = {
    "processes": "assumed",
    "first step": "measured once, on V100",
    "parameters": "derived",
    "loaders": "derived",
}
"""Basis of the parts of a start-up."""


def start_up(
    setting: Setting, constants: Calibration, copies: int, link_bandwidth: float
) -> dict[str, float]:
    """Return the parts of a job's start-up by name, in sequence [s].

    ``processes``: interpreter, framework and context of every process, in parallel.  ``first step``: time of
    the first iteration beyond a usual one.  ``parameters``: broadcast from the rank that initialised them to
    all others with the same ones.  ``loaders``: workers and their first batch, for real samples.

    Parameters
    ----------
    setting, constants : of the job
    copies : number of ranks with the same parameters
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
    """Return the sum of the parts of ``start_up`` [s], numbers or arrays.

    Parameters as for ``start_up``.
    """
    several = copies > 1
    sent = PARAMETER_BYTES * setting.workload.parameters * copies / setting.world_size
    parameters = long_broadcast_time(sent, ops.where(several, link_bandwidth, 1.0))
    loaders = epoch_starts(setting, constants, persistent=False)
    started = constants.process_start_time + constants.first_step_time
    return started + ops.where(several, parameters, 0.0) + loaders


def epoch_start(setting: Setting, constants: Calibration, persistent: bool | None = None) -> float:
    """Return the time before the first batch of an epoch [s]; 0 for synthetic samples."""
    return float(epoch_starts(setting, constants, persistent))


def epoch_starts(setting: Setting, constants: Calibration, persistent: bool | None = None) -> Any:
    """Return the time before the first batch of an epoch [s], number or array; 0 for synthetic samples."""
    if setting.feed is None:
        return 0.0
    from perfmodel.model.step.input_wait import epoch_start_time

    return epoch_start_time(setting, constants, persistent)
