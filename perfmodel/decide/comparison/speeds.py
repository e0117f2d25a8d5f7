"""How many times as fast one job does its work as another, losses to failures and interruptions included."""

from __future__ import annotations

import math

from perfmodel.decide.comparison.case import Case
from perfmodel.model.prediction.intervals.ratio import half_width, ratio_between, sure_of
from perfmodel.model.prediction.result import Ratio


def speed_over(case: Case, first: Case) -> Ratio:
    """Return the speed of a case over that of the first, in samples per second of work that is kept.

    The losses of both are taken as predicted: they shift the interval of the ratio and do not widen it.
    """
    ratio = ratio_between(case.prediction, first.prediction, first.name, case.catalogue)
    kept = case.goodput / first.goodput
    if math.isclose(kept, 1, rel_tol=1e-9):
        return ratio
    value, width = ratio.value * kept, half_width(ratio)
    ends = {
        name: None if end is None else end * kept
        for name, end in (("low_80", ratio.low_80), ("high_80", ratio.high_80))
    }
    sure = None if width is None or ratio.sure is None else sure_of(value, width)
    return ratio.model_copy(update={"value": value, **ends, "sure": sure, "clipped_at": None})
