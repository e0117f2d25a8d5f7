"""Times and latencies from a measured profile, converted to another job size.

Validity
--------
The network, batch size, precision and accelerator that were measured, on another number of accelerators
or other links.
"""

from __future__ import annotations

from perfmodel.core import ops
from perfmodel.core.formula import formula
from perfmodel.core.ops import Real


@formula(cites=())
def measured_wait(time: Real, samples: Real, measured_samples: Real) -> Real:
    r"""Time to prepare a number of samples, from the measured time of another number.

    .. math:: t' = t\,\frac{n}{n_0}

    Parameters
    ----------
    time : t [s], measured
    samples : n [samples]
    measured_samples : n_0 [samples]

    Returns
    -------
    time [s]

    Examples
    --------
    10 ms for 64 samples, of 128.

    >>> measured_wait(10, 128, 64)
    20.0
    """
    return time * (samples / measured_samples)


@formula(cites=())
def wait_with_workers(loader_time: Real, loader_workers: Real, busy_time: Real) -> Real:
    r"""Wait for samples that loader workers prepare during the rest of the iteration.

    .. math:: t_i = \max\left(0, \frac{t_l}{w} - t_b\right)

    Parameters
    ----------
    loader_time : t_l [s], of one worker for all samples of the step
    loader_workers : w [1]
    busy_time : t_b [s]

    Returns
    -------
    input_time [s]

    Examples
    --------
    Four workers divide 200 ms; 30 of the 50 ms are hidden.

    >>> wait_with_workers(200, 4, 30)
    20.0
    """
    return ops.maximum(0.0, loader_time / loader_workers - busy_time)


@formula(cites=())
def ring_hop_latency(base_latency: Real, group_size: Real) -> Real:
    r"""Latency of a hop, from the time of an empty all-reduce by a ring.

    .. math:: \alpha = \frac{T_0}{2(n-1)}

    Parameters
    ----------
    base_latency : T_0 [s]
    group_size : n [1], at least 2

    Returns
    -------
    hop_latency [s]

    Examples
    --------
    28 us on eight ranks: 14 hops.

    >>> ring_hop_latency(28, 8)
    2.0
    """
    return base_latency / (2 * (group_size - 1))
