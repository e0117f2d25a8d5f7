"""The table of distribution families for a worker's time."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Literal

from perfmodel.core import ops
from perfmodel.core.errors import missing
from perfmodel.equations import stalling
from perfmodel.equations.quadrature import Array
from perfmodel.equations.special import normal_at_logit

Ageing = Literal["memoryless", "better", "worse", "unknown"]
"""Remaining time of a new worker compared with one that has run for a while: ``better`` longer (new better
than used), ``worse`` shorter (decreasing hazard rate), ``memoryless`` equal (exponential), ``unknown``
depends on the age."""


@dataclass(frozen=True)
class Law:
    """One family of distributions; every function takes the values of ``parameters`` in that order."""

    parameters: tuple[str, ...]
    """Names of the parameters, as ``--param`` takes them."""
    mean: Callable[..., float]
    variance: Callable[..., float]
    at_logit: Callable[..., Array]
    """The quantile at u = 1 / (1 + e^-z), first argument z, so that both tails are precise."""
    survival: Callable[..., Array]
    cdf: Callable[..., Array]
    positive: tuple[str, ...] = ()
    defaults: tuple[tuple[str, float], ...] = ()
    check: Callable[..., str | None] = lambda *_: None
    """Message if the parameters are invalid together, else None."""
    lower: Callable[..., float] = lambda *_: 0.0
    upper: Callable[..., float] = lambda *_: math.inf
    tail_exponent: Callable[..., float] = lambda *_: math.inf
    """Order below which moments exist."""
    ageing: Callable[..., Ageing] = lambda *_: "unknown"
    atoms: Callable[..., tuple[tuple[float, float], ...]] = lambda *_: ()
    """Value and probability of each possible value, for a discrete law."""


def _by_hazard(hazard: Callable[..., Array], inverse: Callable[..., Array]) -> dict[str, Any]:
    """Return quantile, survival and distribution function from the cumulative hazard and its inverse."""

    def at_logit(z: Any, *values: float) -> Array:
        import numpy as np

        return inverse(np.logaddexp(0.0, z), *values)

    def survival(t: Array, *values: float) -> Array:
        import numpy as np

        return np.exp(-hazard(t, *values))

    def cdf(t: Array, *values: float) -> Array:
        import numpy as np

        return -np.expm1(-hazard(t, *values))

    return {"at_logit": at_logit, "survival": survival, "cdf": cdf}


def _above(t: Array, lower: float = 0.0) -> Array:
    """Return max(t - lower, 0)."""
    import numpy as np

    return np.maximum(np.asarray(t, dtype=np.float64) - lower, 0.0)


def _log_score(t: Array, mean: float, cv: float) -> Array:
    """Return the standard score of log t; -inf for t up to 0."""
    import numpy as np

    s = stalling.log_std(cv)
    with np.errstate(divide="ignore"):
        return (np.log(_above(t) / mean) + s * s / 2) / s


def _lognormal_at_logit(z: Array, mean: float, cv: float) -> Array:
    import numpy as np

    s = stalling.log_std(cv)
    return mean * np.exp(s * normal_at_logit(z) - s * s / 2)


def _gamma_at_logit(z: Array, shape: float, scale: float) -> Array:
    import numpy as np

    special = require_scipy("the gamma law")
    z = np.asarray(z, dtype=np.float64)
    tail = np.exp(-np.logaddexp(0.0, np.abs(z)))
    return scale * np.where(z < 0, special.gammaincinv(shape, tail), special.gammainccinv(shape, tail))


def _two_point_at_logit(z: Array, fast: float, slow: float, probability: float) -> Array:
    import numpy as np

    tail = np.exp(-np.logaddexp(0.0, np.asarray(z, dtype=np.float64)))
    return np.where(tail < probability, slow, fast)


def _step(t: Array, below: float, between: float, above: float, low: float, high: float) -> Array:
    """Return ``below`` for t < low, ``between`` for low <= t < high, else ``above``."""
    import numpy as np

    return np.where(np.asarray(t) < low, below, np.where(np.asarray(t) < high, between, above))


def _pareto_mean(scale: float, shape: float) -> float:
    return scale * shape / (shape - 1) if shape > 1 else math.inf


def _pareto_variance(scale: float, shape: float) -> float:
    return scale**2 * shape / ((shape - 1) ** 2 * (shape - 2)) if shape > 2 else math.inf


def _by_shape(shape: float) -> Ageing:
    return "memoryless" if shape == 1 else "better" if shape > 1 else "worse"


def _shaped(shape: float) -> str | None:
    return None if 0.02 <= shape <= 1e12 else f"shape must be at least 0.02 and at most 1e12, not {shape:g}"


def _ordered(low: float, high: float) -> str | None:
    return None if 0 <= low < high else f"low must be at least 0 and below high, not {low:g} and {high:g}"


def _two_point_check(fast: float, slow: float, probability: float) -> str | None:
    if not 0 <= fast <= slow or slow <= 0:
        return f"fast must be at least 0 and at most slow, not {fast:g} and {slow:g}"
    return None if 0 <= probability <= 1 else f"probability must lie in 0..1, not {probability:g}"


def _stalling_check(mean: float, cv: float, probability: float, length: float) -> str | None:
    if not 1e-6 <= cv <= 10:
        return f"cv must be at least 1e-6 and at most 10, not {cv:g}"
    if not 0 <= probability <= 1:
        return f"probability must lie in 0..1, not {probability:g}"
    return None if length <= 1e6 else f"length must be at most 1e6, not {length:g}"


def require_scipy(what: str) -> Any:
    """Return ``scipy.special``.

    Parameters
    ----------
    what : that needs it, for the message

    Raises
    ------
    MissingPackage : scipy is not installed; the message names the extra to install
    """
    try:
        import scipy.special
    except ImportError:
        raise missing("scipy", "stats", what) from None
    return scipy.special


LAWS: dict[str, Law] = {
    "exponential": Law(
        ("rate",),
        positive=("rate",),
        mean=lambda rate: 1 / rate,
        variance=lambda rate: rate**-2,
        ageing=lambda rate: "memoryless",
        **_by_hazard(lambda t, rate: rate * _above(t), lambda hazard, rate: hazard / rate),
    ),
    "shifted-exponential": Law(
        ("shift", "rate"),
        positive=("rate",),
        check=lambda shift, rate: None if shift >= 0 else f"shift must not be negative, not {shift:g}",
        mean=lambda shift, rate: shift + 1 / rate,
        variance=lambda shift, rate: rate**-2,
        lower=lambda shift, rate: shift,
        ageing=lambda shift, rate: "better" if shift > 0 else "memoryless",
        **_by_hazard(
            lambda t, shift, rate: rate * _above(t, shift), lambda hazard, shift, rate: shift + hazard / rate
        ),
    ),
    "uniform": Law(
        ("low", "high"),
        check=_ordered,
        mean=lambda low, high: (low + high) / 2,
        variance=lambda low, high: (high - low) ** 2 / 12,
        lower=lambda low, high: low,
        upper=lambda low, high: high,
        ageing=lambda low, high: "better",
        at_logit=lambda z, low, high: low + (high - low) / (1 + ops.exp(-z)),
        survival=lambda t, low, high: 1 - (_above(t, low) - _above(t, high)) / (high - low),
        cdf=lambda t, low, high: (_above(t, low) - _above(t, high)) / (high - low),
    ),
    "normal": Law(
        ("mean", "std"),
        positive=("std",),
        defaults=(("mean", 1.0),),
        mean=lambda mean, std: mean,
        variance=lambda mean, std: std**2,
        lower=lambda mean, std: -math.inf,
        ageing=lambda mean, std: "better",
        at_logit=lambda z, mean, std: mean + std * normal_at_logit(z),
        survival=lambda t, mean, std: stalling.normal_upper((t - mean) / std),
        cdf=lambda t, mean, std: stalling.normal_upper((mean - t) / std),
    ),
    "lognormal": Law(
        ("mean", "cv"),
        positive=("mean", "cv"),
        defaults=(("mean", 1.0),),
        check=lambda mean, cv: None if cv <= 1e6 else f"cv must be at most 1e6, not {cv:g}",
        mean=lambda mean, cv: mean,
        variance=lambda mean, cv: (mean * cv) ** 2,
        at_logit=_lognormal_at_logit,
        survival=lambda t, mean, cv: stalling.normal_upper(_log_score(t, mean, cv)),
        cdf=lambda t, mean, cv: stalling.normal_upper(-_log_score(t, mean, cv)),
    ),
    "stalling": Law(
        ("mean", "cv", "probability", "length"),
        positive=("mean", "cv", "length"),
        defaults=(("mean", 1.0),),
        check=_stalling_check,
        mean=lambda mean, cv, probability, length: mean,
        variance=stalling.variance,
        at_logit=stalling.at_logit,
        survival=stalling.survival,
        cdf=stalling.cdf,
    ),
    "pareto": Law(
        ("scale", "shape"),
        positive=("scale", "shape"),
        defaults=(("scale", 1.0),),
        mean=_pareto_mean,
        variance=_pareto_variance,
        lower=lambda scale, shape: scale,
        tail_exponent=lambda scale, shape: shape,
        **_by_hazard(
            lambda t, scale, shape: shape * ops.log(1 + _above(t, scale) / scale),
            lambda hazard, scale, shape: scale * ops.exp(hazard / shape),
        ),
    ),
    "weibull": Law(
        ("scale", "shape"),
        positive=("scale", "shape"),
        defaults=(("scale", 1.0),),
        check=lambda scale, shape: _shaped(shape),
        mean=lambda scale, shape: scale * math.gamma(1 + 1 / shape),
        variance=lambda scale, shape: scale**2 * (math.gamma(1 + 2 / shape) - math.gamma(1 + 1 / shape) ** 2),
        ageing=lambda scale, shape: _by_shape(shape),
        **_by_hazard(
            lambda t, scale, shape: (_above(t) / scale) ** shape,
            lambda hazard, scale, shape: scale * hazard ** (1 / shape),
        ),
    ),
    "gamma": Law(
        ("shape", "scale"),
        positive=("shape", "scale"),
        defaults=(("scale", 1.0),),
        check=lambda shape, scale: _shaped(shape),
        mean=lambda shape, scale: shape * scale,
        variance=lambda shape, scale: shape * scale**2,
        ageing=lambda shape, scale: _by_shape(shape),
        at_logit=_gamma_at_logit,
        survival=lambda t, shape, scale: require_scipy("the gamma law").gammaincc(shape, _above(t) / scale),
        cdf=lambda t, shape, scale: require_scipy("the gamma law").gammainc(shape, _above(t) / scale),
    ),
    "two-point": Law(
        ("fast", "slow", "probability"),
        check=_two_point_check,
        defaults=(("fast", 1.0),),
        mean=lambda fast, slow, probability: fast + (slow - fast) * probability,
        variance=lambda fast, slow, probability: (slow - fast) ** 2 * probability * (1 - probability),
        lower=lambda fast, slow, probability: fast if probability < 1 else slow,
        upper=lambda fast, slow, probability: slow if probability > 0 else fast,
        at_logit=_two_point_at_logit,
        survival=lambda t, fast, slow, probability: _step(t, 1.0, probability, 0.0, fast, slow),
        cdf=lambda t, fast, slow, probability: _step(t, 0.0, 1 - probability, 1.0, fast, slow),
        atoms=lambda fast, slow, probability: (
            ((fast, 1 - probability), (slow, probability)) if slow > fast else ((fast, 1.0),)
        ),
    ),
}
"""Name -> family; ``empirical``, a measured sample, is not one of them."""
