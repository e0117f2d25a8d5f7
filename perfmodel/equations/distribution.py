"""Distributions of a worker's time: a law with its parameters, or a measured sample."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

from perfmodel.equations.quadrature import Array

if TYPE_CHECKING:
    from perfmodel.equations.laws import Ageing, Law


@dataclass(frozen=True)
class Distribution:
    """A law with its parameters; made by ``distribution`` or ``parse_distribution``, which check them."""

    name: str
    values: tuple[float, ...]

    @property
    def law(self) -> Law:
        """The family of laws that the distribution belongs to."""
        from perfmodel.equations.laws import LAWS

        return LAWS[self.name]

    def __str__(self) -> str:
        pairs = zip(self.law.parameters, self.values, strict=True)
        return f"{self.name}:" + ",".join(f"{key}={value:g}" for key, value in pairs)

    @cached_property
    def mean(self) -> float:
        """The mean; ``inf`` if it does not exist."""
        return self.law.mean(*self.values)

    @cached_property
    def variance(self) -> float:
        """The variance; ``inf`` if it does not exist."""
        return self.law.variance(*self.values)

    def at_logit(self, z: Any) -> Array:
        """Return the quantiles at u = 1 / (1 + e^-z), same shape as z."""
        return self.law.at_logit(z, *self.values)

    def survival(self, t: Any) -> Array:
        """Return P(X > t), same shape as t."""
        return self.law.survival(t, *self.values)

    def cdf(self, t: Any) -> Array:
        """Return P(X <= t), same shape as t."""
        return self.law.cdf(t, *self.values)

    @property
    def lower(self) -> float:
        """The smallest possible value."""
        return self.law.lower(*self.values)

    @property
    def upper(self) -> float:
        """The largest possible value."""
        return self.law.upper(*self.values)

    @property
    def tail_exponent(self) -> float:
        """Order below which moments exist; ``inf`` if all do."""
        return self.law.tail_exponent(*self.values)

    @cached_property
    def atoms(self) -> tuple[tuple[float, float], ...]:
        """Value and probability of every possible value, ascending; empty for a continuous law."""
        return self.law.atoms(*self.values)

    @property
    def kinks(self) -> tuple[float, ...]:
        """Times where the distribution function is not smooth."""
        ends = (self.lower, self.upper, *(value for value, _ in self.atoms))
        return tuple(sorted({x for x in ends if math.isfinite(x)}))

    @property
    def ageing(self) -> Ageing:
        """Whether a worker that has run for a while has less time left than a new one."""
        # with upper <= 2 lower, the remaining time after any finish is at most lower: shorter than a new draw
        return "better" if self.upper <= 2 * self.lower else self.law.ageing(*self.values)


@dataclass(frozen=True, eq=False)
class Empirical(Distribution):
    """A measured sample; draws are with replacement."""

    sample: tuple[float, ...] = ()
    """Values in ascending order."""
    source: str = "sample"

    def __str__(self) -> str:
        return f"empirical:{self.source}"

    @cached_property
    def ordered(self) -> Array:
        """The sample as an array."""
        import numpy as np

        return np.array(self.sample)

    @cached_property
    def mean(self) -> float:
        """The sample's mean."""
        return math.fsum(self.sample) / len(self.sample)

    @cached_property
    def variance(self) -> float:
        """The variance of one draw."""
        return math.fsum((value - self.mean) ** 2 for value in self.sample) / len(self.sample)

    def at_logit(self, z: Any) -> Array:
        """Return the least value that a share u = 1 / (1 + e^-z) of the sample does not exceed."""
        import numpy as np

        share = np.exp(-np.logaddexp(0.0, -np.asarray(z, dtype=np.float64)))
        position = np.ceil(share * len(self.sample)).astype(np.int64) - 1
        return self.ordered[np.clip(position, 0, len(self.sample) - 1)]

    def survival(self, t: Any) -> Array:
        """Return the share of the sample above t, same shape as t."""
        return 1.0 - self.cdf(t)

    def cdf(self, t: Any) -> Array:
        """Return the share of the sample up to t, same shape as t."""
        import numpy as np

        return np.searchsorted(self.ordered, t, side="right") / len(self.sample)

    @property
    def lower(self) -> float:
        """The smallest value."""
        return self.sample[0]

    @property
    def upper(self) -> float:
        """The largest value."""
        return self.sample[-1]

    @property
    def tail_exponent(self) -> float:
        """Infinite: all moments of a sample exist."""
        return math.inf

    @cached_property
    def atoms(self) -> tuple[tuple[float, float], ...]:
        """Each value with its share."""
        import numpy as np

        values, counts = np.unique(self.ordered, return_counts=True)
        return tuple(zip(values.tolist(), (counts / len(self.sample)).tolist(), strict=True))

    @property
    def ageing(self) -> Ageing:
        """``better`` for a narrow sample, else ``unknown``."""
        return "better" if self.upper <= 2 * self.lower else "unknown"
