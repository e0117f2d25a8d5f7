"""Kinds of price: their names, the terms of reserved ones, the interruptions that come with spot prices."""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any, Final

from perfmodel.core.choices import PriceKind
from perfmodel.core.errors import refusal
from perfmodel.core.units import duration
from perfmodel.decide.failures import USUAL_CHECKPOINT_BANDWIDTH
from perfmodel.equations.reliability import (
    either_failure_interval,
    expected_failures,
    interruption_interval,
    job_failure_interval,
)
from perfmodel.hardware.catalogue.store import Catalogue
from perfmodel.model.options.conditions import Conditions

if TYPE_CHECKING:
    from perfmodel.hardware.instance import Interruptions

HOUR, YEAR = 3600.0, 365.25 * 86400.0
BASIS: Final[dict[PriceKind, str]] = {
    "on-demand": "on demand",
    "spot": "spot",
    "reserved-1y": "reserved for 1 year",
    "reserved-3y": "reserved for 3 years",
    "owned": "owned",
}
"""Kind of a price of the catalogue, or of a machine bought -> what the answer calls its basis."""
TERMS: Final[dict[str, float]] = {"reserved-1y": YEAR, "reserved-3y": 3 * YEAR}
"""Kind of a reserved price -> its term [s]."""
TAKEN_BACK: Final = "a spot machine is taken back every"
OF_FAILURES: Final = ("checkpoint_time", "checkpoint_bandwidth", "restart_time")
"""Conditions that need a failure rate."""


def kind_words(basis: str | None) -> str:
    """Return the basis of a price behind a comma; empty where it is on demand, given or not known.

    >>> kind_words("spot"), kind_words("on demand")
    (', spot', '')
    """
    return "" if basis in (None, BASIS["on-demand"], "given") else f", {basis}"


def measured_interruptions(provider: str | None, catalogue: Catalogue) -> Interruptions | None:
    """Return how often spot machines were taken back: the provider's, else any; None where none are known."""
    known = catalogue.interruptions
    return next((each for each in known if each.provider == provider), next(iter(known), None))


def rate_from(provider: str | None, catalogue: Catalogue) -> str:
    """Return which machine's rate of interruptions is taken, of which year; empty where none is known.

    >>> rate_from("Azure", Catalogue.built_in())
    'p3.2xlarge of AWS in 2023'
    """
    measured = measured_interruptions(provider, catalogue)
    return (
        "" if measured is None else f"{measured.instance} of {measured.provider} in {measured.measured_on:%Y}"
    )


def rate_spread(conditions: Conditions, provider: str | None, catalogue: Catalogue) -> float:
    """Return how far off the rate of interruptions may be: its standard deviation in log rate.

    0 where the rate is given, or where nothing is known of it.
    """
    measured = measured_interruptions(provider, catalogue)
    return 0.0 if conditions.interruptions is not None or measured is None else measured.rate_spread or 0.0


def expected_interruptions(run_time: Any, per_hour: Any, machines: Any) -> Any:
    """Return how often machines at a spot price are expected to be taken back in a run; numbers or arrays.

    Parameters
    ----------
    run_time : of the run [s]
    per_hour : how often one machine is taken back in an hour, above 0; nan at other prices
    machines : of the job

    Examples
    --------
    >>> expected_interruptions(10 * HOUR, 0.05, 4)
    2.0
    """
    return expected_failures(run_time, job_failure_interval(interruption_interval(per_hour / HOUR), machines))


def rate_words(lines: Iterable[str]) -> str:
    """Return the sentence of ``interruption_words`` on the rate without its source; empty without one."""
    return next((line.partition(":")[0] for line in lines if line.startswith(TAKEN_BACK)), "")


def interrupted(conditions: Conditions, provider: str | None, catalogue: Catalogue) -> Conditions:
    """Return the conditions of a job on machines at spot prices.

    A machine that is taken back counts as one that fails.  What was not given of its rate and of the time
    until machines are back is as measured, and checkpoints are written as on Llama 3's machines.

    Parameters
    ----------
    conditions : as given
    provider : of the machines
    catalogue : has measured interruptions

    Raises
    ------
    InputError : no rate is given nor known
    """
    measured = measured_interruptions(provider, catalogue)
    per_hour: Any = conditions.interruptions
    if per_hour is None:
        if measured is None:
            raise refusal("price.interruption_rate", "interruptions")
        per_hour = measured.per_machine_hour
    interval = interruption_interval(per_hour / HOUR)
    if conditions.node_failure_interval is not None:
        interval = either_failure_interval(conditions.node_failure_interval, interval)
    changed: dict[str, Any] = {"node_failure_interval": interval, "interruptions": per_hour}
    if conditions.checkpoint_time is None and conditions.checkpoint_bandwidth is None:
        changed["checkpoint_bandwidth"] = USUAL_CHECKPOINT_BANDWIDTH
    if conditions.restart_time is None and measured is not None:
        changed["restart_time"] = measured.back_after
    return conditions.model_copy(update=changed)


def uninterrupted(conditions: Conditions, kinds: Iterable[PriceKind]) -> Conditions:
    """Return conditions for the kinds of price other than spot, where spot is among those compared.

    Times of checkpoints and restarts that were given for interruptions alone do not hold for them.

    Raises
    ------
    InputError : interruptions without a spot price
    """
    if "spot" not in kinds:
        if conditions.interruptions is not None:
            raise refusal("price.interruptions", "interruptions")
        return conditions
    apart = ("interruptions",) if conditions.node_failure_interval else ("interruptions", *OF_FAILURES)
    return conditions.model_copy(update=dict.fromkeys(apart))


def interruption_words(
    conditions: Conditions, provider: str | None, instance: str | None, catalogue: Catalogue
) -> list[str]:
    """Return sentences on what was taken for the interruptions of spot machines.

    Parameters
    ----------
    conditions : as given
    provider, instance : of the machines; None where they are not known
    """
    measured = measured_interruptions(provider, catalogue)
    lines = []
    if measured is not None:
        which = f"{measured.instance} of {measured.provider} from {measured.measured_on.isoformat()}"
        same = (provider, instance) == (measured.provider, measured.instance)
        basis = "measured" if same else "assumed"
        if conditions.interruptions is None:
            every = duration(HOUR / measured.per_machine_hour)
            factor = math.exp(measured.rate_spread or 0.0)
            taken = f"{basis}{'' if same else ' as'} of {rate_from(provider, catalogue)}"
            spread = ""
            if measured.rate_spread:
                spread = f", within a factor of {factor:.0f} at one standard deviation, "
                spread += "which intervals and chances count"
            lines.append(
                f"{TAKEN_BACK} {every}, {taken}{spread}: from {measured.measured_on.isoformat()} "
                f"({measured.source}; --interruptions)"
            )
        if conditions.restart_time is None:
            after = duration(measured.back_after)
            lines.append(
                f"work goes on {after} after an interruption, {basis}: the median of {which}; that waits "
                "differ is in no interval and no chance (--restart-time)"
            )
    if conditions.checkpoint_time is None and conditions.checkpoint_bandwidth is None:
        lines.append(
            f"checkpoints of spot machines are written at {USUAL_CHECKPOINT_BANDWIDTH / 1e9:.2g} GB/s by "
            "each, as on Llama 3's (--checkpoint-bandwidth, --checkpoint-time)"
        )
    return lines
