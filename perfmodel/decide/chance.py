"""How far the time of a run is off by its interruptions: by their chance, and by a rate that is assumed."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any, Final, NamedTuple

import numpy as np

from perfmodel.decide.price_kinds import expected_interruptions
from perfmodel.equations.reliability import lost_time_spread, run_time_sensitivity
from perfmodel.model.fitted.calibration import NORMAL_80
from perfmodel.model.options.conditions import Conditions


def loss_widths(
    interruptions: Any,
    checkpoint_interval: Any,
    failure_interval: Any,
    *,
    goodput: Any,
    work_time: Any,
    run_time: Any,
    restart_time: float,
    rate_spread: Any,
) -> tuple[Any, Any]:
    """Return the half-widths of the 80 % interval of a run's time due to interruptions, in log time.

    That below the time ends where nothing is lost.  Both are 0 without interruptions.

    Parameters
    ----------
    interruptions : expected in the run; nan at other prices than spot
    checkpoint_interval, failure_interval : [s], the first infinite where writing none is best; None
        without failures
    work_time, run_time : without failures and with them [s]
    rate_spread : standard deviation of the rate of interruptions, in log rate; 0 of one that is given
    """
    if checkpoint_interval is None or not np.isfinite(interruptions).any():
        return 0.0, 0.0
    with np.errstate(invalid="ignore", over="ignore", divide="ignore"):
        between = np.minimum(checkpoint_interval, work_time)
        chance = lost_time_spread(interruptions, between, restart_time, run_time)
        share = interruptions / run_time * failure_interval  # of all failures
        sensitivity = run_time_sensitivity(between, restart_time, failure_interval, goodput)
        width = np.nan_to_num(NORMAL_80 * np.hypot(chance, rate_spread * share * sensitivity), posinf=0.0)
        return np.minimum(width, -np.log(goodput)), width


class Losses(NamedTuple):
    """How far the time of one run is off by its interruptions: standard deviations in log time."""

    chance: float = 0.0
    """By when they come; 0 where the length of the run is not known."""
    rate: float = 0.0
    """By a rate that is assumed, of which runs on the same machines share the error."""
    kept: float = 1.0
    """Share of the time that is kept work."""

    @property
    def whole(self) -> float:
        """Half-width of the 80 % interval due to both."""
        return NORMAL_80 * math.hypot(self.chance, self.rate)

    @property
    def most_gained(self) -> float:
        """How much shorter a run without any loss is, in log time."""
        return -math.log(self.kept)


NO_LOSSES: Final = Losses()


def losses_of_run(
    run_time: float | None,
    goodput: float,
    checkpoint_interval: float,
    failure_interval: float,
    machines: float,
    conditions: Conditions,
    rate_spread: float,
) -> Losses:
    """Return how far one run is off by its interruptions; none at other prices than spot.

    Parameters
    ----------
    run_time, checkpoint_interval, failure_interval : [s]; the first None where the length is not known
    machines : of the job, parameter servers included
    conditions : at the price of the machines
    rate_spread : standard deviation of the rate of interruptions, in log rate; 0 of one that is given
    """
    if not conditions.interruptions:
        return Losses(kept=goodput)
    restart, between, chance = conditions.restart_time or 0.0, checkpoint_interval, 0.0
    if run_time is not None:
        between = min(between, run_time * goodput)
        lost = expected_interruptions(run_time, conditions.interruptions, machines)
        chance = float(lost_time_spread(lost, between, restart, run_time))
    with np.errstate(over="ignore", invalid="ignore"):
        sensitivity = float(run_time_sensitivity(np.float64(between), restart, failure_interval, goodput))
    share = expected_interruptions(failure_interval, conditions.interruptions, machines)  # of all failures
    rate = rate_spread * share * sensitivity
    return Losses(chance, rate if math.isfinite(rate) else 0.0, goodput)


def half_width(point: float, high_80: float, losses: float = 0.0) -> float:
    """Return the upper half-width of an amount's 80 % interval in logarithm, widened by that of losses.

    >>> round(half_width(2.0, 2.0 * math.e), 6), round(half_width(2.0, 2.0 * math.e**3, losses=4.0), 6)
    (1.0, 5.0)
    """
    return math.hypot(math.log(high_80 / point), losses)


def widened(factor: Any, width: Any) -> Any:
    """Return the factor to an end of an interval, widened by an independent half-width in log time.

    >>> float(widened(1.2, 0.0).round(6)), float(widened(1.0, 0.5).round(4))
    (1.2, 1.6487)
    """
    with np.errstate(over="ignore"):  # infinite where losses may be as large as one likes
        return np.exp(np.hypot(np.log(factor), width))


def run_factors(
    reliability: Mapping[str, Any] | None, time: float, low_80: float, high_80: float
) -> tuple[float, float]:
    """Return the ends of the 80 % interval of a run's time, over the time itself.

    Parameters
    ----------
    reliability : of the result of ``economics``
    time, low_80, high_80 : of one iteration, with the ends of its interval [s]
    """
    widths = [(reliability or {}).get(f"loss_{end}") or 0.0 for end in ("low_80", "high_80")]
    if not any(widths):
        return low_80 / time, high_80 / time
    return float(1 / widened(time / low_80, widths[0])), float(widened(high_80 / time, widths[1]))
