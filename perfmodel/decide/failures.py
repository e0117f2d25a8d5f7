"""Goodput, checkpoint interval and failure interval of a job, from its conditions."""

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

USUAL_CHECKPOINT_BANDWIDTH = 2e12 / 2048
"""Write bandwidth of one machine of Llama 3's [B/s]: its share of the 2 TB/s that their storage sustains
(Grattafiori et al. 2024, section 3.3.1)."""
TIMES = (1e-3, 1e10)
"""Shortest and longest accepted time of a checkpoint or between failures [s]."""
LONGEST_OUTAGE = 3.0
"""Largest ratio of checkpoint and restart time to the time between failures; above it a job never ends.

Fewer than one restart in twenty is then over before the next failure (a choice: exp(-3) is 5 %).
"""
LEAST_GOODPUT = 0.01
"""Share of the time that is kept work below which a job never ends (a choice).

Of a job without checkpoints it falls without limit; with them, the longest outage leaves 2 %.
"""


def machines_of_job(nodes: Any, servers: Any) -> Any:
    """Return the machines of a job, which are paid for and may fail: those that train, and parameter servers.

    Numbers or arrays; ``servers`` may be None.
    """
    return nodes if servers is None else nodes + servers


def states_bytes(parameters: float, optimizer: str) -> Any:
    """Return the size of a checkpoint [B]: weights and the optimizer's moments, in fp32."""
    kept = OPTIMIZERS[optimizer]
    return parameter_memory_bytes(parameters, kept.weight_bytes + kept.moment_bytes)


def _checkpoint_time(nodes: Any, conditions: Conditions, checkpoint_bytes: Any) -> Any:
    """Return the time of one checkpoint [s]: as given, or its size over the write bandwidth.

    Raises
    ------
    InputError : both or neither of time and bandwidth given, or a time out of range
    """
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
    """Return goodput [1], checkpoint interval [s] and failure interval [s] of one job or an array of jobs.

    Without a failure rate the goodput is 1 and both intervals are None.  It is 0 of a job that never ends.

    Parameters
    ----------
    nodes, servers : machines that train and write checkpoints, and parameter servers, which fail too
    conditions : times of failures, checkpoints and restarts
    work_time : of the whole run without failures [s], or None
    checkpoint_bytes : size of one checkpoint [B], where a write bandwidth is given

    Raises
    ------
    InputError : a failure rate without a checkpoint time, or a checkpoint time without a failure rate
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
    failures = job_failure_interval(conditions.node_failure_interval, machines_of_job(nodes, servers))
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
        goodput = _either(goodput < LEAST_GOODPUT, 0.0, goodput)
    return goodput, interval, failures


def _out_of_range(option: str, time: float) -> InputError:
    """Return the error for a time [s] that is outside ``TIMES``."""
    return refusal("failures.time", option, time=time, least=TIMES[0], most=TIMES[1])


def _either(condition: Any, a: Any, b: Any) -> Any:
    """Return ``a`` where the condition holds, else ``b``: a number unchanged, or an array of both."""
    return np.where(condition, a, b) if np.ndim(condition) else a if condition else b
