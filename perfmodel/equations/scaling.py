"""Speed-up and efficiency: what n accelerators are worth, measured or by a law."""

from __future__ import annotations

from collections.abc import Sequence

from perfmodel import ops
from perfmodel.formula import formula
from perfmodel.ops import Real


@formula(cites="gustafson1988")
def weak_speedup(world_size: Real, baseline_time: Real, iteration_time: Real) -> Real:
    r"""Speed-up in samples per second at a fixed batch on each accelerator.

    .. math:: S = \frac{n T_1}{T}

    Parameters
    ----------
    world_size : n [1]
    baseline_time : T_1 [s], one iteration of one accelerator
    iteration_time : T [s], with n accelerators

    Returns
    -------
    speedup [1]

    Examples
    --------
    256 accelerators, 0.25 s alone, 0.32 s together: 256 * 0.25 / 0.32.

    >>> weak_speedup(256, 0.25, 0.32)
    200.0
    """
    return world_size * baseline_time / iteration_time


@formula(cites="gustafson1988")
def weak_scaling_efficiency(baseline_time: Real, iteration_time: Real) -> Real:
    r"""Share of the ideal throughput at a fixed batch on each accelerator.

    .. math:: E = \frac{T_1}{T}

    Parameters
    ----------
    baseline_time : T_1 [s], one iteration of one accelerator
    iteration_time : T [s], with n accelerators

    Returns
    -------
    scaling_efficiency [1]

    Examples
    --------
    0.25 s alone, 0.32 s together: 0.25 / 0.32.

    >>> weak_scaling_efficiency(0.25, 0.32)
    0.78125
    """
    return baseline_time / iteration_time


@formula(cites="amdahl1967")
def strong_speedup(baseline_time: Real, iteration_time: Real) -> Real:
    r"""Speed-up at a fixed global batch.

    .. math:: S = \frac{T_1}{T}

    Parameters
    ----------
    baseline_time : T_1 [s], one iteration of one accelerator
    iteration_time : T [s], with n accelerators sharing the same batch

    Returns
    -------
    speedup [1]

    Examples
    --------
    32 s alone, 8 s together.

    >>> strong_speedup(32, 8)
    4.0
    """
    return baseline_time / iteration_time


@formula(cites="amdahl1967")
def strong_scaling_efficiency(world_size: Real, baseline_time: Real, iteration_time: Real) -> Real:
    r"""Share of the ideal speed-up at a fixed global batch.

    .. math:: E = \frac{T_1}{n T}

    Parameters
    ----------
    world_size : n [1]
    baseline_time : T_1 [s], one iteration of one accelerator
    iteration_time : T [s], with n accelerators sharing the same batch

    Returns
    -------
    scaling_efficiency [1]

    Examples
    --------
    32 s alone, 10 s on four: 32 / (4 * 10).

    >>> strong_scaling_efficiency(4, 32, 10)
    0.8
    """
    return baseline_time / (world_size * iteration_time)


@formula(cites="gustafson1988")
def scaling_overhead_time(baseline_time: Real, scaling_efficiency: Real) -> Real:
    r"""Time that a weak-scaling efficiency says is lost in each iteration.

    .. math:: T - T_1 = T_1\left(\frac{1}{E} - 1\right)

    Parameters
    ----------
    baseline_time : T_1 [s], one iteration of one accelerator
    scaling_efficiency : E [1]

    Returns
    -------
    overhead [s]

    Examples
    --------
    80 % efficient at 1 s: an iteration takes 1.25 s.

    >>> scaling_overhead_time(1, 0.8)
    0.25
    """
    return baseline_time * (1 / scaling_efficiency - 1)


@formula(cites="amdahl1967")
def amdahl_speedup(world_size: Real, serial_fraction: Real) -> Real:
    r"""Speed-up of fixed work of which a part cannot be shared (Amdahl).

    .. math:: S = \frac{1}{\sigma + (1-\sigma)/n}

    Parameters
    ----------
    world_size : n [1]
    serial_fraction : sigma [1], of the time on one accelerator

    Returns
    -------
    speedup [1]

    Examples
    --------
    One fifth serial, four accelerators: 1 / (0.2 + 0.8 / 4).

    >>> amdahl_speedup(4, 0.2)
    2.5
    """
    return 1 / (serial_fraction + (1 - serial_fraction) / world_size)


@formula(cites="gustafson1988")
def gustafson_speedup(world_size: Real, serial_fraction: Real) -> Real:
    r"""Speed-up of work that grows with the accelerators (Gustafson).

    .. math:: S = n - \sigma(n-1)

    Parameters
    ----------
    world_size : n [1]
    serial_fraction : sigma [1], of the time on n accelerators

    Returns
    -------
    speedup [1]

    Examples
    --------
    One fifth serial, four accelerators: 4 - 0.2 * 3.

    >>> gustafson_speedup(4, 0.2)
    3.4
    """
    return world_size - serial_fraction * (world_size - 1)


@formula(cites="gunther2008")
def usl_speedup(world_size: Real, contention: Real, coherency: Real) -> Real:
    r"""Speed-up by the universal scalability law.

    .. math:: S = \frac{n}{1 + \sigma(n-1) + \kappa n(n-1)}

    Without coherency it is Amdahl's law; with it the speed-up has a peak.

    Parameters
    ----------
    world_size : n [1]
    contention : sigma [1], what is done one after another
    coherency : kappa [1], what each pair has to settle

    Returns
    -------
    speedup [1]

    Examples
    --------
    Four accelerators: 4 / (1 + 0.1 * 3 + 0.025 * 12) = 4 / 1.6.

    >>> usl_speedup(4, 0.1, 0.025)
    2.5
    """
    pairs = world_size * (world_size - 1)
    return world_size / (1 + contention * (world_size - 1) + coherency * pairs)


@formula(cites="gunther2008")
def usl_peak_world_size(contention: Real, coherency: Real) -> Real:
    r"""Where the universal scalability law peaks.

    .. math:: n = \sqrt{\frac{1-\sigma}{\kappa}}

    Parameters
    ----------
    contention : sigma [1], at most 1
    coherency : kappa [1], above 0

    Returns
    -------
    world_size [1], not rounded

    Examples
    --------
    sqrt((1 - 0.1) / 0.009) = sqrt(100).

    >>> round(usl_peak_world_size(0.1, 0.009), 9)
    10.0
    """
    return ops.sqrt((1 - contention) / coherency)


@formula(cites="gunther2008", symbolic=False)
def fit_usl(world_size: Sequence[float], speedup: Sequence[float]) -> tuple[float, float]:
    r"""Contention and coherency that fit measured speed-ups best, neither negative.

    .. math:: \min_{\sigma, \kappa \ge 0} \sum \left(\frac{n}{S} - 1 - \sigma(n-1) - \kappa n(n-1)\right)^2

    Linear least squares in two unknowns; where the free minimum has a negative
    one, the best fit lies on an edge and the other is fitted alone.

    Parameters
    ----------
    world_size : n [1], at least two different ones above 1
    speedup : S [1], measured, one for each

    Returns
    -------
    contention, coherency [1]

    Examples
    --------
    Exact values of the law with 0.1 and 0.025: 2 / 1.15 and 4 / 1.6.

    >>> [round(x, 9) for x in fit_usl([2, 4], [2 / 1.15, 4 / 1.6])]
    [0.1, 0.025]
    """
    rows = [(n - 1, n * (n - 1), n / s - 1) for n, s in zip(world_size, speedup, strict=True)]
    aa, bb = sum(a * a for a, _, _ in rows), sum(b * b for _, b, _ in rows)
    ab, ay, by = (
        sum(a * b for a, b, _ in rows),
        sum(a * y for a, _, y in rows),
        sum(b * y for _, b, y in rows),
    )
    determinant = aa * bb - ab * ab
    contention, coherency = (ay * bb - by * ab) / determinant, (by * aa - ay * ab) / determinant
    if contention >= 0 and coherency >= 0:
        return contention, coherency
    edges = [(max(ay / aa, 0.0), 0.0), (0.0, max(by / bb, 0.0))]
    return min(edges, key=lambda fit: sum((y - fit[0] * a - fit[1] * b) ** 2 for a, b, y in rows))
