"""How many times as fast one job does its work as another, losses to failures and interruptions included."""

from __future__ import annotations

import math

from perfmodel.decide.comparison.case import Case
from perfmodel.model.fitted.calibration import NORMAL_80
from perfmodel.model.prediction.intervals.ratio import half_width, ratio_between, sure_of
from perfmodel.model.prediction.result import Ratio


def speed_over(case: Case, first: Case) -> Ratio:
    """Return the speed of a case over that of the first, in samples per second of work that is kept.

    What is lost shifts the ratio; how far that is off, by the chance of interruptions and by a rate that is
    assumed, widens its interval and makes its order less sure.
    """
    ratio = ratio_between(case.prediction, first.prediction, first.name, case.catalogue)
    kept = case.goodput / first.goodput
    less, more = widths_of_losses(case, first)
    if math.isclose(kept, 1, rel_tol=1e-9) and not less and not more:
        return ratio
    value, width = ratio.value * kept, half_width(ratio)
    if width is None or ratio.low_80 is None or ratio.high_80 is None or ratio.sure is None:
        return ratio.model_copy(update={"value": value, "sure": None, "clipped_at": None})
    low = value / math.exp(math.hypot(math.log(ratio.value / ratio.low_80), less))
    high = value * math.exp(math.hypot(math.log(ratio.high_80 / ratio.value), more))
    if _only_loses(case, first, width):
        sure = 1.0
    else:
        sure = sure_of(value, math.hypot(width, more if value < 1 else less))
    ends = {"low_80": low, "high_80": high}
    return ratio.model_copy(update={"value": value, **ends, "sure": sure, "clipped_at": None})


def widths_of_losses(case: Case, first: Case) -> tuple[float, float]:
    """Return by how much losses may make a case slower than predicted against the first, and faster.

    Half-widths in log speed of 80 %.  Jobs on the same machines share the error of an assumed rate; without
    any interruption none gains more than all that it loses.
    """
    return _width(first, case), _width(case, first)


def _width(gaining: Case, other: Case) -> float:
    """Return by how much one job may lose less, or the other more, than predicted, in log speed."""
    one, two = gaining.losses, other.losses
    alike = gaining.prediction.scenario["node"] == other.prediction.scenario["node"]
    rate, most = math.hypot(one.rate, two.rate), one.most_gained
    if alike:
        rate, most = abs(one.rate - two.rate), abs(one.most_gained - two.most_gained)
    gains_by_less = one.rate > two.rate or (not alike and one.rate > 0)
    rate = min(NORMAL_80 * rate, most) if gains_by_less else NORMAL_80 * rate
    width = math.hypot(NORMAL_80 * math.hypot(one.chance, two.chance), rate)
    return min(width, one.most_gained) if two.kept == 1 else width


def _only_loses(case: Case, first: Case, width: float) -> bool:
    """Return whether two are the same job, of which only one loses time."""
    return width == 0 and 1.0 in (case.goodput, first.goodput) and case.goodput != first.goodput
