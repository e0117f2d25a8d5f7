"""Order statistics in closed form: the k-th smallest of n independent times.

Validity
--------
Independent times of one law. Correlated times (of the same batch, over the same slow network) make the
slowest worker less slow than this.
"""

from perfmodel.core import ops
from perfmodel.core.formula import formula
from perfmodel.core.ops import Real
from perfmodel.equations.special import (
    harmonic_difference,
    log_gamma_difference,
    squared_harmonic_difference,
)


@formula(cites=("david2003", "renyi1953"))
def exponential_order_mean(order: Real, sample_size: Real, rate: Real) -> Real:
    r"""Mean of the k-th smallest of n exponential times (Renyi 1953).

    .. math:: E[X_{(k:n)}] = \frac{H_n - H_{n-k}}{\mu} = \frac{1}{\mu} \sum_{i=n-k+1}^{n} \frac{1}{i}

    While i workers still run, the next finishes after 1/(i mu) on average.

    Parameters
    ----------
    order : k [1], in 1..n
    sample_size : n [1]
    rate : mu [1/s], positive

    Returns
    -------
    mean [s]

    Examples
    --------
    Two of four at one per second: 1/4 + 1/3.

    >>> round(exponential_order_mean(2, 4, 1), 12)
    0.583333333333
    """
    return harmonic_difference(sample_size, order) / rate


@formula(cites=("david2003", "renyi1953"))
def exponential_order_variance(order: Real, sample_size: Real, rate: Real) -> Real:
    r"""Variance of the k-th smallest of n exponential times.

    .. math:: Var[X_{(k:n)}] = \frac{1}{\mu^2} \sum_{i=n-k+1}^{n} \frac{1}{i^2}

    The spacings are independent, so their variances add.

    Parameters
    ----------
    order : k [1], in 1..n
    sample_size : n [1]
    rate : mu [1/s], positive

    Returns
    -------
    variance [s^2]

    Examples
    --------
    Two of four at one per second: 1/16 + 1/9.

    >>> round(exponential_order_variance(2, 4, 1), 12)
    0.173611111111
    """
    return squared_harmonic_difference(sample_size, order) / rate**2


@formula(cites="david2003")
def uniform_order_mean(order: Real, sample_size: Real, low: Real, high: Real) -> Real:
    r"""Mean of the k-th smallest of n uniform times.

    .. math:: E[X_{(k:n)}] = x_0 + (x_1 - x_0) \frac{k}{n+1}

    The n points cut the interval into n + 1 gaps that are equal on average.

    Parameters
    ----------
    order : k [1], in 1..n
    sample_size : n [1]
    low, high : x_0, x_1 [s]

    Returns
    -------
    mean [s]

    Examples
    --------
    The third of five between 1 s and 2 s lies in the middle.

    >>> uniform_order_mean(3, 5, 1, 2)
    1.5
    """
    return low + (high - low) * order / (sample_size + 1)


@formula(cites="david2003")
def uniform_order_variance(order: Real, sample_size: Real, low: Real, high: Real) -> Real:
    r"""Variance of the k-th smallest of n uniform times.

    .. math:: Var[X_{(k:n)}] = (x_1 - x_0)^2 \frac{k (n-k+1)}{(n+1)^2 (n+2)}

    That of a beta variable with parameters k and n - k + 1.

    Parameters
    ----------
    order : k [1], in 1..n
    sample_size : n [1]
    low, high : x_0, x_1 [s]

    Returns
    -------
    variance [s^2]

    Examples
    --------
    The third of five between 1 s and 2 s: 3 x 3 / (36 x 7) = 1/28.

    >>> round(1 / uniform_order_variance(3, 5, 1, 2), 9)
    28.0
    """
    return (
        (high - low) ** 2 * order * (sample_size - order + 1) / ((sample_size + 1) ** 2 * (sample_size + 2))
    )


@formula(cites="david2003")
def pareto_order_mean(order: Real, sample_size: Real, scale: Real, shape: Real) -> Real:
    r"""Mean of the k-th smallest of n Pareto times.

    .. math:: E[X_{(k:n)}] = \theta
        \frac{\Gamma(n+1)\,\Gamma(n-k+1-1/a)}{\Gamma(n-k+1)\,\Gamma(n+1-1/a)}

    It exists if n - k + 1 > 1/a.  The largest of n grows as n^(1/a), faster than any logarithm.

    Parameters
    ----------
    order : k [1], in 1..n
    sample_size : n [1]
    scale : theta [s], the smallest possible time
    shape : a [1], the tail exponent

    Returns
    -------
    mean [s]

    Examples
    --------
    One worker, exponent 2: twice the smallest time.

    >>> round(pareto_order_mean(1, 1, 3, 2), 12)
    6.0
    """
    whole = log_gamma_difference(sample_size + 1 - 1 / shape, 1 / shape)
    rest = log_gamma_difference(sample_size - order + 1 - 1 / shape, 1 / shape)
    return scale * ops.exp(whole - rest)


@formula(cites="david2003")
def pareto_order_variance(order: Real, sample_size: Real, scale: Real, shape: Real) -> Real:
    r"""Variance of the k-th smallest of n Pareto times.

    .. math:: Var[X_{(k:n)}] = \theta^2
        \frac{\Gamma(n+1)\,\Gamma(n-k+1-2/a)}{\Gamma(n-k+1)\,\Gamma(n+1-2/a)} - E[X_{(k:n)}]^2

    It exists if n - k + 1 > 2/a.  For k much below n it is a difference of two close numbers:
    ``order_statistic`` integrates about the mean instead.

    Parameters
    ----------
    order : k [1], in 1..n
    sample_size : n [1]
    scale : theta [s], the smallest possible time
    shape : a [1], the tail exponent

    Returns
    -------
    variance [s^2]

    Examples
    --------
    One worker, exponent 3: the second moment 3 less the mean 3/2 squared.

    >>> round(pareto_order_variance(1, 1, 1, 3), 12)
    0.75
    """
    mean = pareto_order_mean(order, sample_size, scale, shape)
    return scale * pareto_order_mean(order, sample_size, scale, shape / 2) - mean**2
