"""A law with its parameters, a measured sample, a mixture of laws: what answers for a worker's time."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from perfmodel.equations.laws import LAWS, Ageing, Law
from perfmodel.equations.quadrature import Array


@dataclass(frozen=True)
class Distribution:
    """A law with its parameters; made by ``distribution`` or ``parse_distribution``, which check them."""

    name: str
    values: tuple[float, ...]

    @property
    def law(self) -> Law:
        """The family."""
        return LAWS[self.name]

    def __str__(self) -> str:
        pairs = zip(self.law.parameters, self.values, strict=True)
        return f"{self.name}:" + ",".join(f"{key}={value:g}" for key, value in pairs)

    @cached_property
    def mean(self) -> float:
        """The mean; ``inf`` where there is none."""
        return self.law.mean(*self.values)

    @cached_property
    def variance(self) -> float:
        """The variance; ``inf`` where there is none."""
        return self.law.variance(*self.values)

    def at_logit(self, z: Any) -> Array:
        """Quantiles at u = 1 / (1 + e^-z), same shape as z."""
        return self.law.at_logit(z, *self.values)

    def survival(self, t: Any) -> Array:
        """P(X > t), same shape as t."""
        return self.law.survival(t, *self.values)

    def cdf(self, t: Any) -> Array:
        """P(X <= t), same shape as t."""
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
        """Moments below this order exist; ``inf`` where all do."""
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
        """Whether a used worker finishes sooner than a new one."""
        # nobody can be twice as old as the youngest finisher: then what is left is always less
        return "better" if self.upper <= 2 * self.lower else self.law.ageing(*self.values)


@dataclass(frozen=True, eq=False)
class Empirical(Distribution):
    """A measured sample; draws are with replacement."""

    sample: tuple[float, ...] = ()
    """Ascending."""
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
        """The smallest value that a share u of the sample does not exceed."""
        import numpy as np

        share = np.exp(-np.logaddexp(0.0, -np.asarray(z, dtype=np.float64)))
        position = np.ceil(share * len(self.sample)).astype(np.int64) - 1
        return self.ordered[np.clip(position, 0, len(self.sample) - 1)]

    def survival(self, t: Any) -> Array:
        """Share of the sample above t."""
        return 1.0 - self.cdf(t)

    def cdf(self, t: Any) -> Array:
        """Share of the sample up to t."""
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
        """All moments of a sample exist."""
        return math.inf

    @cached_property
    def atoms(self) -> tuple[tuple[float, float], ...]:
        """Each value with its share."""
        import numpy as np

        values, counts = np.unique(self.ordered, return_counts=True)
        return tuple(zip(values.tolist(), (counts / len(self.sample)).tolist(), strict=True))

    @property
    def ageing(self) -> Ageing:
        """Known only for a narrow sample."""
        return "better" if self.upper <= 2 * self.lower else "unknown"


@dataclass(frozen=True)
class Mixture(Distribution):
    """One of several laws, drawn anew each time: a node that now and then is slow."""

    components: tuple[tuple[float, Distribution], ...] = ()
    """Probability and law."""

    def __str__(self) -> str:
        return "mixture:" + " + ".join(f"{weight:g} {law}" for weight, law in self.components)

    def _sum(self, part: Callable[[Distribution], Any]) -> Any:
        return sum(weight * part(law) for weight, law in self.components)

    @cached_property
    def mean(self) -> float:
        """The weighted mean."""
        return float(self._sum(lambda law: law.mean))

    @cached_property
    def variance(self) -> float:
        """Variance within the laws and between their means."""
        return float(self._sum(lambda law: law.variance + (law.mean - self.mean) ** 2))

    def at_logit(self, z: Any) -> Array:
        """Quantiles to a relative accuracy of 1e-12, by bisection between those of the components."""
        import numpy as np

        z = np.asarray(z, dtype=np.float64)
        quantiles = np.array([law.at_logit(z) for _, law in self.components])
        low, high = quantiles.min(axis=0), quantiles.max(axis=0)
        for _ in range(60):
            middle = (low + high) / 2
            with np.errstate(divide="ignore"):
                below = np.log(self.cdf(middle)) - np.log(self.survival(middle)) < z
            low, high = np.where(below, middle, low), np.where(below, high, middle)
            if np.all(high - low <= 1e-12 * np.abs(high)):
                break
        return (low + high) / 2

    def survival(self, t: Any) -> Array:
        """Weighted survival function."""
        return self._sum(lambda law: law.survival(t))

    def cdf(self, t: Any) -> Array:
        """Weighted distribution function."""
        return self._sum(lambda law: law.cdf(t))

    @property
    def lower(self) -> float:
        """The smallest value of any component."""
        return min(law.lower for _, law in self.components)

    @property
    def upper(self) -> float:
        """The largest value of any component."""
        return max(law.upper for _, law in self.components)

    @property
    def tail_exponent(self) -> float:
        """The heaviest tail rules."""
        return min(law.tail_exponent for _, law in self.components)

    @cached_property
    def atoms(self) -> tuple[tuple[float, float], ...]:
        """Those of the components, where all are discrete."""
        if not all(law.atoms for _, law in self.components):
            return ()
        mass: dict[float, float] = {}
        for weight, law in self.components:
            for value, probability in law.atoms:
                mass[value] = mass.get(value, 0.0) + weight * probability
        return tuple(sorted(mass.items()))

    @property
    def kinks(self) -> tuple[float, ...]:
        """Those of all components."""
        return tuple(sorted({x for _, law in self.components for x in law.kinks}))

    @property
    def ageing(self) -> Ageing:
        """A mixture of memoryless laws, or of ageless ones, is worse new than used."""
        kinds = {law.ageing for _, law in self.components}
        if kinds <= {"memoryless", "worse"}:
            return "worse"
        return "better" if self.upper <= 2 * self.lower else "unknown"


def parts(law: Distribution) -> list[Distribution]:
    """The laws a mixture is made of, mixtures within it opened too; any other law alone."""
    if not isinstance(law, Mixture):
        return [law]
    return [part for _, component in law.components for part in parts(component)]
