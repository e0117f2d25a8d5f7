"""Interval of a fleet's iteration time, from the intervals of its kinds of machines."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

from perfmodel.decide.planning.fleets.step import FleetStep
from perfmodel.hardware.catalogue.store import Catalogue
from perfmodel.model.prediction.intervals.ratio import half_width, ratio_between, sure_of
from perfmodel.model.prediction.result import Interval, Ratio


class Ends(NamedTuple):
    """Factors by which a time may be shorter, and longer, at some confidence."""

    shorter: float
    longer: float


def interval_of(step: FleetStep) -> Interval | None:
    """Return the interval of the mean iteration time; None where that of a kind was not learned."""
    intervals = [part.prediction.interval for part in step.parts]
    known = [interval for interval in intervals if interval is not None]
    if len(known) < len(intervals):
        return None
    if len(known) == 1:
        return known[0]
    times = [part.prediction.iteration_time for part in step.parts]
    time = step.iteration_time
    ends: dict[str, float | None] = {}
    for low, high in (("low_80", "high_80"), ("low_95", "high_95")):
        each = [
            Ends(t / getattr(one, low), getattr(one, high) / t)
            for t, one in zip(times, known, strict=True)
            if getattr(one, low) is not None
        ]
        whole = ends_of(step, each) if len(each) == len(known) else None
        ends |= {low: whole and time / whole.shorter, high: whole and time * whole.longer}
    return Interval.model_construct(
        **ends,
        no_95=next((each.no_95 for each in known if each.no_95), None),
        wider_because=list(dict.fromkeys(reason for each in known for reason in each.wider_because)),
        clipped_at=None,
    )


def ratio_of(step: FleetStep, before: FleetStep, name: str, catalogue: Catalogue) -> Ratio:
    """Return the speed of a fleet over that of another, with its interval.

    Parameters
    ----------
    step, before : of both fleets
    name : of the fleet of ``before``
    catalogue : has their links
    """
    value = step.samples_per_second / before.samples_per_second
    unknown = Ratio.model_construct(to=name, value=value, low_80=None, high_80=None, sure=None)
    if len(step.parts) == len(before.parts) == 1:
        return ratio_between(step.parts[0].prediction, before.parts[0].prediction, name, catalogue)
    halves = []
    for part in step.parts:
        ratios = [ratio_between(part.prediction, one.prediction, name) for one in before.parts]
        widths = [width for one in ratios if (width := half_width(one)) is not None]
        if len(widths) < len(ratios):
            return unknown
        halves.append(math.exp(max(widths)))
    ends = ends_of(step, [Ends(half, half) for half in halves])
    low, high = value / ends.longer, value * ends.shorter
    half = math.log(ends.longer if value >= 1 else ends.shorter)
    return Ratio.model_construct(to=name, value=value, low_80=low, high_80=high, sure=sure_of(value, half))


def ends_of(step: FleetStep, ends: Sequence[Ends]) -> Ends:
    """Return the ends of a fleet's interval from those of its kinds.

    Errors of kinds are independent, so their effects add in quadrature.  Where the slowest paces, a kind that
    waits has no effect until it is the slowest itself.  Where shares follow measured speeds, each kind has an
    effect in proportion to its share of the samples.
    """
    if len(ends) == 1:
        return ends[0]
    if step.policy == "shares by speed":
        weights = [part.samples * part.group.gpus / step.samples for part in step.parts]
        return Ends(
            _together([w * math.log(end.shorter) for w, end in zip(weights, ends, strict=True)]),
            _together([w * math.log(end.longer) for w, end in zip(weights, ends, strict=True)]),
        )
    even = [1.0] * len(ends)
    usual = _paced(step, even)

    def moved(index: int, factor: float) -> float:
        factors = [factor if i == index else 1.0 for i in range(len(ends))]
        return abs(math.log(_paced(step, factors) / usual))

    return Ends(
        _together([moved(i, 1 / end.shorter) for i, end in enumerate(ends)]),
        _together([moved(i, end.longer) for i, end in enumerate(ends)]),
    )


def _together(effects: Sequence[float]) -> float:
    """Return the factor of several effects in log time, added in quadrature."""
    return math.exp(math.hypot(*effects))


def _paced(step: FleetStep, factors: Sequence[float]) -> float:
    """Return the iteration time without stragglers [s], with the times of each kind times a factor."""
    pairs = zip(step.parts, factors, strict=True)
    return max((part.own_time + part.exposed_time) * factor for part, factor in pairs)
