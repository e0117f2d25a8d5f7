"""Local SGD: mean time of a step if workers take several steps between two averages."""

from __future__ import annotations

import math
from typing import Literal

from perfmodel.equations.distributions import Distribution
from perfmodel.equations.distributions import distribution as make_distribution
from perfmodel.equations.order_statistics import order_statistic
from perfmodel.equations.quadrature import beta_rule
from perfmodel.equations.renewal import lattice

_POINTS = 1 << 15


def slowest_mean(
    law: Distribution, workers: int, local_steps: int
) -> tuple[float, Literal["exact", "approximation"]]:
    """Return E[Ybar_(n:n)], the mean of the largest of n averages of tau times, and whether it is exact.

    Sums of exponential, shifted exponential, gamma and normal times have a known law.  Others are convolved
    on a lattice (relative error about 1e-5).  For a heavy tail, only the largest single time counts beyond
    the lattice, which makes the result an approximation.

    Parameters
    ----------
    law : of one step
    workers : n
    local_steps : tau

    Returns
    -------
    time of one local step [s], status

    Examples
    --------
    One step is plain synchronous SGD: H_2 = 1.5.

    >>> round(slowest_mean(make_distribution("exponential", rate=1), 2, 1)[0], 12)
    1.5
    """
    if local_steps == 1:
        return float(order_statistic(law, workers, workers)[0]), "exact"
    shift, mean_law = _law_of_mean(law, local_steps)
    if mean_law is not None:
        return shift + float(order_statistic(mean_law, workers, workers)[0]), "exact"
    heavy = math.isfinite(law.tail_exponent)
    time = _on_lattice(law, workers, local_steps, heavy)
    return time, "approximation" if heavy or law.atoms else "exact"


def _law_of_mean(law: Distribution, steps: int) -> tuple[float, Distribution | None]:
    """Return a constant and the law of the mean of ``steps`` draws minus it; None if the law is unknown."""
    if law.name == "exponential":
        return 0.0, make_distribution("gamma", shape=steps, scale=1 / (steps * law.values[0]))
    if law.name == "shifted-exponential":
        shift, rate = law.values
        return shift, make_distribution("gamma", shape=steps, scale=1 / (steps * rate))
    if law.name == "gamma":
        shape, scale = law.values
        return 0.0, make_distribution("gamma", shape=steps * shape, scale=scale / steps)
    if law.name == "normal":
        mean, std = law.values
        return 0.0, make_distribution("normal", mean=mean, std=std / math.sqrt(steps))
    return 0.0, None


def _on_lattice(law: Distribution, workers: int, steps: int, heavy: bool) -> float:
    """Return the mean time of a local step by convolution on a lattice."""
    import numpy as np

    # a time so long that, of all draws of all workers, one exceeds it once in e^7 or e^30 rounds
    rare = math.log(workers * steps) + (7.0 if heavy else 30.0)
    longest = min(float(law.at_logit(np.float64(rare))), law.upper)
    spread = math.sqrt(law.variance) if math.isfinite(law.variance) else longest / 8
    horizon = min(longest + (steps - 1) * law.mean + 8 * math.sqrt(steps) * spread, steps * longest)
    step = horizon / (_POINTS - 1)
    draws = lattice(law, step, _POINTS)
    size = 1 << math.ceil(math.log2(_POINTS * (steps if steps * longest > horizon * 1.001 else 1) + 1))
    size = min(size, 16 * _POINTS)
    total = np.fft.irfft(np.fft.rfft(draws, size) ** steps, size)[:_POINTS]
    done = np.clip(np.cumsum(total), 0.0, 1.0)
    time = step * float((1.0 - done**workers).sum())
    if heavy:
        time += workers * steps * _mean_excess(law, longest, rare)
    return time / steps


def _mean_excess(law: Distribution, threshold: float, logit: float) -> float:
    """Return E[max(X - threshold, 0)]; ``logit`` is that of the threshold's probability."""
    import numpy as np

    z, weight = beta_rule(1, 1, log_size=lambda z: math.log(float(law.at_logit(np.float64(z)))))
    beyond = z > logit
    return float(weight[beyond] @ (law.at_logit(z[beyond]) - threshold))
