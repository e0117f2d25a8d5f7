"""The straggler term: how long the iteration waits for its slowest worker."""

from __future__ import annotations

from functools import lru_cache
from typing import Any

from perfmodel.calibration import Calibration
from perfmodel.equations import jitter
from perfmodel.equations.distribution import Distribution
from perfmodel.equations.exchange import queue_behind_wait
from perfmodel.resolve import Setting


@lru_cache(maxsize=256)
def _law(spec: str) -> Distribution | None:
    from perfmodel.equations.distributions import parse_distribution

    return None if spec == "none" else parse_distribution(spec)


def push_share(setting: Setting) -> float:
    """Return the share of an exchange with servers in which workers push.

    All of it where blocks come back while the next go out, else its first half.
    """
    return 1.0 if setting.framework.pipelined_servers else 0.5


TOLD_AT = 256
"""Accelerators that the assumption of independence is told for."""


def spread_told(setting: Setting, calibration: Calibration) -> str | None:
    """Say what the default spread rests on and what it comes to on many; None where one was given."""
    if setting.scenario.jitter is not None or not calibration.jitter or setting.world_size == 1:
        return None
    if setting.scenario.profile is not None and _measures_jitter(setting.scenario.profile):
        return None
    allowed = 1 / jitter.straggler_factor(_usual_law(calibration), TOLD_AT)
    return (
        f"waiting for stragglers: steps of one process spread by {calibration.jitter:.1%}, which is taken as "
        f"independent on every accelerator and alone allows {TOLD_AT} of them {allowed:.0%} efficiency; "
        "no cluster's spread was measured, --jitter sets another"
    )


def _measures_jitter(profile: str) -> bool:
    from perfmodel.profile import read_profile

    return read_profile(profile).jitter is not None


def _usual_law(calibration: Calibration) -> Distribution:
    return Distribution("lognormal", (1.0, calibration.jitter))


def straggler_time(
    setting: Setting, busy_time: Any, exposed_communication_time: Any, calibration: Calibration
) -> Any:
    """Return the mean wait [s] for the slowest of all workers, number or array.

    A ring starts when the last worker is there, so it hides nothing.  A parameter server takes pushes one
    after another, and those of the fast hide behind the wait for the slow: the wait is what the queue of
    the others does not cover, as far as that queue is left after the backward pass.

    Parameters
    ----------
    setting : whose workers wait for each other
    busy_time : computation of one worker [s]; jitter spreads around it
    exposed_communication_time : push and pull after overlap [s]
    calibration : holds the default spread
    """
    given = setting.scenario.jitter
    if given is None:
        law = _usual_law(calibration) if calibration.jitter else None
    else:
        law = _law(given)
    if law is None:
        return 0.0
    n = setting.world_size
    wait = jitter.straggler_time(busy_time, law, n)
    if setting.strategy == "parameter-server":
        workers = setting.nodes if setting.scenario.local_aggregation else n
        return queue_behind_wait(wait, push_share(setting), exposed_communication_time, workers)
    return wait
