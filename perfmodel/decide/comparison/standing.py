"""How the cases of a comparison stand to each other, worked out once for card, verdict and notes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import NamedTuple

from perfmodel.decide.comparison.case import Case, same_work
from perfmodel.decide.comparison.price_advice import differ_in_price, price_to_take
from perfmodel.decide.comparison.speeds import speed_over
from perfmodel.model.options.risk import USUAL_CONFIDENCE
from perfmodel.model.prediction.intervals.ratio import network_order
from perfmodel.model.prediction.result import Ratio
from perfmodel.model.prediction.speed_words import SAME


class Best(NamedTuple):
    """The fastest case but the first, of those to choose from."""

    first: Case
    case: Case
    ratio: Ratio
    """Its speed over that of the first."""
    others: int
    """Cases besides the first."""

    @property
    def gains_nothing(self) -> bool:
        """Whether it is as fast as the first."""
        return abs(self.ratio.value - 1) < SAME

    @property
    def faster(self) -> Case:
        """The faster of the two."""
        return self.case if self.ratio.value > 1 else self.first

    def is_sure(self, confidence: float) -> bool:
        """Whether the order of the two is as sure as asked."""
        sure = self.ratio.sure
        return sure is not None and sure >= confidence and not self.ratio.may_be_nothing


@dataclass(frozen=True)
class Standing:
    """Cases with the speeds of each over the others that anybody asks for, and those to choose from."""

    cases: Sequence[Case]
    confidence: float = USUAL_CONFIDENCE
    """Least probability of fitting of a case that is recommended, and of an order that decides."""
    _speeds: dict[tuple[str, str], Ratio] = field(default_factory=dict)

    @cached_property
    def same_work(self) -> bool:
        """Whether all cases train the same network on samples of the same length."""
        return same_work(self.cases)

    @cached_property
    def able(self) -> list[Case]:
        """The cases to choose from: those that fit as surely as asked, or where none does, that fit."""
        sure = [case for case in self.cases if case.prediction.memory.probability >= self.confidence]
        return sure or [case for case in self.cases if case.prediction.memory.fits]

    @cached_property
    def best(self) -> Best | None:
        """The fastest case but the first of those to choose from; None with fewer than two, or other work."""
        if len(self.able) < 2 or not self.same_work:
            return None
        first, *others = self.able
        fastest = max(others, key=lambda case: self.speed(case, first).value)
        return Best(first, fastest, self.speed(fastest, first), len(others))

    @cached_property
    def differ_in_price(self) -> bool:
        """Whether those to choose from are one job at several prices."""
        return len(self.able) > 1 and differ_in_price(self.able)

    @cached_property
    def price_to_take(self) -> Case | None:
        """The case to take where those to choose from differ in price; None of others, or of unknown ones."""
        return price_to_take(self.able, self.confidence) if self.differ_in_price else None

    def speed(self, case: Case, first: Case) -> Ratio:
        """Return ``speed_over`` of two of the cases."""
        names = case.name, first.name
        if names not in self._speeds:
            self._speeds[names] = speed_over(case, first)
        return self._speeds[names]

    def to_first(self, case: Case) -> Ratio | None:
        """Return a case's speed over the first one's; None for the first, and where the work differs."""
        first = self.cases[0]
        return None if case is first or not self.same_work else self.speed(case, first)

    def is_ordered(self, case: Case) -> bool:
        """Return whether by their networks a case is certainly no slower than the first, or no faster."""
        ratio, first = self.to_first(case), self.cases[0]
        is_certain = ratio is not None and ratio.sure == 1
        return is_certain and network_order(case.prediction, first.prediction, case.catalogue) != 0
