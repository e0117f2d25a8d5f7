"""Speed-up and scaling efficiency: definitions, and the universal scalability law.

Validity
--------
Definitions of speed-up and efficiency; the baseline is one accelerator unless another is named. The
universal scalability law describes a measured curve but does not explain it.
"""

from __future__ import annotations

from perfmodel.core import ops
from perfmodel.core.formula import formula
from perfmodel.core.ops import Real


@formula(cites="gustafson1988")
def weak_speedup(world_size: Real, baseline_time: Real, iteration_time: Real) -> Real:
    r"""Speed-up in samples per second at a fixed batch size on each accelerator.

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
    r"""Share of the ideal throughput at a fixed batch size on each accelerator.

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
    r"""Speed-up at a fixed global batch size.

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
    r"""Share of the ideal speed-up at a fixed global batch size.

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


@formula(cites="gunther2008")
def usl_speedup(world_size: Real, contention: Real, coherency: Real) -> Real:
    r"""Speed-up by the universal scalability law.

    .. math:: S = \frac{n}{1 + \sigma(n-1) + \kappa n(n-1)}

    Without coherency it is Amdahl's law; with it the speed-up has a peak.

    Parameters
    ----------
    world_size : n [1]
    contention : sigma [1], share of serial work
    coherency : kappa [1], cost of coordination between each pair

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
    r"""Number of accelerators at which the universal scalability law has its peak.

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
