"""Staleness of gradients: number of updates between reading the parameters and applying the gradient.

Validity
--------
Long runs of equal workers; exact means for any distribution of times, or for exponential times where that
is stated.
"""

from perfmodel.core.formula import formula
from perfmodel.core.ops import Real


@formula(cites="dutta2018")
def k_async_staleness(workers: Real, gradients_per_update: Real) -> Real:
    r"""Mean staleness of K-async SGD, for any distribution of times.

    .. math:: \tau = \frac{W}{K} - 1

    By Little's law: W gradients are always in progress or waiting, and each update uses K of them.  The often
    quoted W/K is too large by one; K = 1 is asynchronous SGD with W - 1.

    Parameters
    ----------
    workers : W [1]
    gradients_per_update : K [1], in 1..W, of different workers

    Returns
    -------
    mean_staleness [1]

    Examples
    --------
    Half of eight workers: every gradient waits for one other update on average.

    >>> k_async_staleness(8, 4)
    1.0
    """
    return workers / gradients_per_update - 1


@formula(cites=("dutta2018", "zhang2016"))
def k_batch_async_staleness(workers: Real, gradients_per_update: Real) -> Real:
    r"""Mean staleness of K-batch-async SGD (n-softsync), for any distributions of times.

    .. math:: \tau = \frac{W-1}{K}

    While one gradient is computed, the others deliver W - 1 on average, and K of them are an update.
    Thirty workers in 15-softsync (K = 2) have 14.5; "close to 15" was measured.

    Parameters
    ----------
    workers : W [1]
    gradients_per_update : K [1], repeats of a worker allowed

    Returns
    -------
    mean_staleness [1]

    Examples
    --------
    Seven others, four per update.

    >>> k_batch_async_staleness(8, 4)
    1.75
    """
    return (workers - 1) / gradients_per_update


@formula(cites="dutta2018")
def k_async_fresh_fraction(workers: Real, gradients_per_update: Real) -> Real:
    r"""Share of fresh gradients of K-async SGD with exponential times.

    .. math:: p_0 = \frac{K}{W}

    Exponential times have no memory, so that each worker is among the first K with the same probability,
    independent of its start; the staleness is geometric.

    Parameters
    ----------
    workers : W [1]
    gradients_per_update : K [1], in 1..W

    Returns
    -------
    fresh_fraction [1]

    Examples
    --------
    Half of eight workers: half of the gradients.

    >>> k_async_fresh_fraction(8, 4)
    0.5
    """
    return gradients_per_update / workers


@formula(cites="dutta2018")
def k_async_staleness_probability(workers: Real, gradients_per_update: Real, staleness: Real) -> Real:
    r"""Share of gradients with a given staleness in K-async SGD with exponential times.

    .. math:: P(\tau_i) = \frac{K}{W} \left(1 - \frac{K}{W}\right)^{\tau_i}

    It is geometric, because at every update a late worker has the same probability to be part of it.

    Parameters
    ----------
    workers : W [1]
    gradients_per_update : K [1], in 1..W
    staleness : tau_i [1], 0, 1, 2, ...

    Returns
    -------
    share [1]

    Examples
    --------
    Half of eight workers, two updates late: 1/2 x 1/4.

    >>> k_async_staleness_probability(8, 4, 2)
    0.125
    """
    share = gradients_per_update / workers
    return share * (1 - share) ** staleness


@formula(cites="dutta2018")
def k_batch_async_fresh_fraction(workers: Real, gradients_per_update: Real) -> Real:
    r"""Share of fresh gradients of K-batch-async SGD with exponential times.

    .. math:: p_0 = 1 - \frac{W-1}{K} \left[ 1 - \left(1 - \frac{1}{W}\right)^K \right]

    The number of other gradients that arrive meanwhile is geometric with mean W - 1; a gradient is fresh if
    they do not complete the current batch.

    Parameters
    ----------
    workers : W [1]
    gradients_per_update : K [1]

    Returns
    -------
    fresh_fraction [1]

    Examples
    --------
    Two workers, one gradient per update: fresh if the other worker was slower.

    >>> k_batch_async_fresh_fraction(2, 1)
    0.5
    """
    return 1 - (workers - 1) / gradients_per_update * (1 - (1 - 1 / workers) ** gradients_per_update)
