"""What failures and checkpoints cost a job: where conditions meet the equations of reliability."""

from __future__ import annotations

from typing import Any

import numpy as np

from perfmodel.core.errors import InputError, refusal
from perfmodel.equations.memory import parameter_memory_bytes
from perfmodel.equations.reliability import (
    checkpoint_write_time,
    daly_checkpoint_interval,
    goodput_fraction,
    job_failure_interval,
)
from perfmodel.hardware.formats import OPTIMIZERS
from perfmodel.model.options.conditions import Conditions

TIMES = (1e-3, 1e10)
"""Shortest checkpoint and longest time between failures [s] that make a difference."""
LONGEST_OUTAGE = 20.0
"""Checkpoint and restart over the time between failures; beyond, a job never ends."""


def states_bytes(parameters: float, optimizer: str) -> Any:
    """Return what a checkpoint holds of a network [B]: weights and the optimizer's moments, in fp32."""
    kept = OPTIMIZERS[optimizer]
    return parameter_memory_bytes(parameters, kept.weight_bytes + kept.moment_bytes)


def _checkpoint_time(nodes: Any, conditions: Conditions, checkpoint_bytes: Any) -> Any:
    """The time that is given, or that it takes to write one."""
    if conditions.checkpoint_time is not None:
        if conditions.checkpoint_bandwidth is not None:
            raise refusal("failures.checkpoint_twice")
        if not TIMES[0] <= conditions.checkpoint_time <= TIMES[1]:
            raise _out_of_range("checkpoint-time", conditions.checkpoint_time)
        return conditions.checkpoint_time
    if conditions.checkpoint_bandwidth is None:
        raise refusal("failures.checkpoint_time")
    return checkpoint_write_time(checkpoint_bytes, nodes, conditions.checkpoint_bandwidth)


def goodput_of(
    nodes: Any, servers: Any, conditions: Conditions, work_time: Any, checkpoint_bytes: Any
) -> tuple[Any, Any, Any]:
    """Return goodput, checkpoint interval and failure interval; nothing is lost where failures are unknown.

    Parameters
    ----------
    nodes, servers : machines that train, which write checkpoints, and parameter servers, which fail too
    conditions : what is said of failures
    work_time : of the whole run if nothing failed [s], or None
    checkpoint_bytes : of one checkpoint, where a bandwidth is given

    Raises
    ------
    InputError : failures without the time a checkpoint takes, or that without failures
    """
    if conditions.node_failure_interval is None:
        for option in ("checkpoint_time", "checkpoint_bandwidth", "restart_time"):
            if getattr(conditions, option) is not None:
                raise refusal("failures.interval", option)
        return 1.0, None, None
    if not TIMES[0] <= conditions.node_failure_interval <= TIMES[1]:
        raise _out_of_range("node-mtbf", conditions.node_failure_interval)
    writing = _checkpoint_time(nodes, conditions, checkpoint_bytes)
    restart = conditions.restart_time or 0.0
    failures = job_failure_interval(conditions.node_failure_interval, nodes + servers)
    interval = daly_checkpoint_interval(writing, failures)
    with np.errstate(over="ignore", under="ignore", invalid="ignore"):
        one = np.float64(1.0)  # floats raise where they overflow
        checkpointed = goodput_fraction(interval, writing * one, restart * one, failures)
        outage = (writing + restart) / failures
        goodput = _either(outage > LONGEST_OUTAGE, 0.0, checkpointed)
        if work_time is not None:
            whole = goodput_fraction(work_time, np.float64(0.0), restart * one, failures)
            short = whole > goodput
            goodput, interval = _either(short, whole, goodput), _either(short, np.inf, interval)
    return goodput, interval, failures


def _out_of_range(option: str, time: float) -> InputError:
    return refusal("failures.time", option, time=time, least=TIMES[0], most=TIMES[1])


def _either(condition: Any, a: Any, b: Any) -> Any:
    """One of two numbers as it is, or an array of both."""
    return np.where(condition, a, b) if np.ndim(condition) else a if condition else b
