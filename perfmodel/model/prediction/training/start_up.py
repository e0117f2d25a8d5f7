"""Start-up time of a job before its first iteration, and of an epoch before its first batch."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

from perfmodel.core import ops
from perfmodel.core.choices import ONE_PROCESS
from perfmodel.equations.broadcast import long_broadcast_time
from perfmodel.equations.start_up import communicator_time
from perfmodel.model.fitted.calibration import Calibration
from perfmodel.model.setting.resolve import Setting
from perfmodel.model.step.library import runs_nccl

PARAMETER_BYTES = 4
"""Bytes of a parameter in the initial broadcast: fp32."""
BASIS = {
    "processes": "measured once, on GTX 980 Ti",
    "communicator": "measured of 8 and 32 V100",
    "parameters": "derived",
    "first step": "measured once, on V100",
    "loaders": "derived",
}
"""Basis of the parts of a start-up."""
FACTORS = {"processes": 2.0, "communicator": 2.75, "parameters": 1.3, "first step": 2.0, "loaders": 1.3}
"""Factor of the 80 % interval of each part: of communicators how far other clusters lie from the line of one
(1.28 deviations of 0.8 in the logarithm: 0.66, 3.03 and 4.5 s for 2.0, 6.0 for 12.1), of others assumed."""
BY_SERVERS = ("parameter-server", "parameter-server-local", "async", "k-sync", "k-batch-sync", "k-async")
"""Strategies whose gradients need no communicator."""


def start_up(
    setting: Setting, constants: Calibration, copies: int, link_bandwidth: float
) -> dict[str, float]:
    """Return the parts of a job's start-up by name, in sequence [s].

    ``processes``: interpreter, framework and context of every process, in parallel.  ``communicator``: all
    ranks join one of NCCL or RCCL, which PyTorch does at the first collective, so that its profiles have it
    in the synchronisation of parameters; groups of a layout are not counted.  ``parameters``: broadcast from
    the rank that initialised them to all others with the same ones.  ``first step``: time of the first
    iteration beyond a usual one.  ``loaders``: workers and their first batch, for real samples.

    Parameters
    ----------
    setting, constants : of the job
    copies : number of ranks with the same parameters
    link_bandwidth : of the slowest link between them [B/s]
    """
    parts = {"processes": constants.process_start_time}
    if joins := float(_joining_time(setting, constants)):
        parts["communicator"] = joins
    if copies > 1:
        sent = PARAMETER_BYTES * setting.workload.parameters * copies / setting.world_size
        parts["parameters"] = float(long_broadcast_time(sent, link_bandwidth))
    parts["first step"] = constants.first_step_time
    if setting.feed is not None:
        parts["loaders"] = epoch_start(setting, constants, persistent=False)
    return parts


def start_up_interval(parts: Mapping[str, float]) -> list[float]:
    """Return the 80 % interval of the sum of the parts of a start-up, which err independently [s].

    >>> [round(each, 1) for each in start_up_interval({"processes": 4.0, "first step": 3.0})]
    [4.5, 12.0]
    """
    whole = sum(parts.values())
    below = math.hypot(*(time * (1 - 1 / FACTORS[name]) for name, time in parts.items()))
    above = math.hypot(*(time * (FACTORS[name] - 1) for name, time in parts.items()))
    return [whole - below, whole + above]


def _joining_time(setting: Setting, constants: Calibration) -> Any:
    """Return the time in which the ranks join a communicator [s], number or array; 0 where none is needed."""
    if setting.strategy in (*BY_SERVERS, ONE_PROCESS) or not runs_nccl(setting.accelerator):
        return 0.0
    ranks = setting.world_size
    base, each = constants.communicator_base_time, constants.communicator_rank_time
    return ops.where(ranks > 1, communicator_time(ranks, base, each), 0.0)


def startup_time(setting: Setting, constants: Calibration, copies: Any, link_bandwidth: Any) -> Any:
    """Return the sum of the parts of ``start_up`` [s], numbers or arrays.

    Parameters as for ``start_up``.
    """
    several = copies > 1
    sent = PARAMETER_BYTES * setting.workload.parameters * copies / setting.world_size
    parameters = long_broadcast_time(sent, ops.where(several, link_bandwidth, 1.0))
    loaders = epoch_starts(setting, constants, persistent=False)
    started = constants.process_start_time + constants.first_step_time
    joined = _joining_time(setting, constants)
    return started + joined + ops.where(several, parameters, 0.0) + loaders


def epoch_start(setting: Setting, constants: Calibration, persistent: bool | None = None) -> float:
    """Return the time before the first batch of an epoch [s]; 0 for synthetic samples."""
    return float(epoch_starts(setting, constants, persistent))


def epoch_starts(setting: Setting, constants: Calibration, persistent: bool | None = None) -> Any:
    """Return the time before the first batch of an epoch [s], number or array; 0 for synthetic samples."""
    if setting.feed is None:
        return 0.0
    from perfmodel.model.step.input_wait import epoch_start_time

    return epoch_start_time(setting, constants, persistent)
