"""Error of an iteration time due to the deviations of a measured profile."""

from __future__ import annotations

from typing import Any, TypeGuard

from perfmodel.core import ops
from perfmodel.model.setting.profile import Measure, Profile
from perfmodel.model.setting.resolve import Setting
from perfmodel.model.step.terms import added, of_kind

MOST_NOISE = 300.0
"""Logarithm of the widest factor, to avoid overflow."""


def noise(setting: Setting, profile: Profile, terms: dict[str, Any]) -> Any:
    """Return the relative deviation of the iteration time due to the profile's deviations.

    Each measure affects the terms it replaces; measures are independent and add in quadrature.

    Parameters
    ----------
    setting : determines whether the profile's jitter is used
    profile : the measured profile
    terms : of the iteration [s], numbers or arrays
    """
    busy = of_kind(terms, "busy") - terms["contention_time"]
    launches = terms["launch_overhead_time"]
    if profile.launch_overhead is None:
        busy = busy + launches
    # gaps and idling are seconds of a step, so their deviations are too
    gaps = (profile.launch_overhead, profile.idle_time if profile.launch_overhead else None)
    moved = [
        measure.deviation * ops.minimum(1.0, launches / measure.value)
        for measure in gaps
        if _is_positive(measure)
    ]
    link = profile.link
    for measure, time in (
        (profile.computation, busy),
        (profile.input_time if profile.measures_input else None, terms["input_time"]),
        (profile.jitter if setting.scenario.jitter is None else None, terms["straggler_time"]),
        (link.bandwidth if link else None, added(terms)),
    ):
        if _is_positive(measure):
            moved.append(time * (measure.deviation / measure.value))
    return ops.sqrt(sum(part * part for part in moved)) / sum(terms.values())


def _is_positive(measure: Measure | None) -> TypeGuard[Measure]:
    """Return whether a measured number exists and is positive."""
    return measure is not None and measure.value > 0


def noisy(factor: Any, quantile: float, deviation: Any) -> Any:
    """Return the error factor of a time with a relative deviation added in quadrature, number or array."""
    known, added = ops.log(factor), quantile * deviation
    return ops.exp(ops.minimum(MOST_NOISE, ops.sqrt(known * known + added * added)))
