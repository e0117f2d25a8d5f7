"""Order statistics in closed form: the k-th smallest of n independent times."""

from perfmodel import ops
from perfmodel.equations.laws import normal_at_logit
from perfmodel.equations.special import (
    harmonic_difference,
    log_gamma_difference,
    squared_harmonic_difference,
)
from perfmodel.formula import formula
from perfmodel.ops import Real


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

    Exists where n - k + 1 > 1/a.  The largest of n grows like n^(1/a), faster than any logarithm.

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

    Exists where n - k + 1 > 2/a.  A difference of two close numbers for k much below n:
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


@formula(cites="david2003")
def weibull_minimum_mean(sample_size: Real, scale: Real, shape: Real) -> Real:
    r"""Mean of the smallest of n Weibull times.

    .. math:: E[X_{(1:n)}] = \theta\, n^{-1/a}\, \Gamma(1 + 1/a)

    The minimum is Weibull again, with a smaller scale.

    Parameters
    ----------
    sample_size : n [1]
    scale : theta [s]
    shape : a [1]

    Returns
    -------
    mean [s]

    Examples
    --------
    Shape 1 is exponential: a quarter of the scale for four.

    >>> round(weibull_minimum_mean(4, 1, 1), 12)
    0.25
    """
    return scale * ops.exp(log_gamma_difference(1, 1 / shape)) * sample_size ** (-1 / shape)


@formula(cites="david2003")
def two_point_maximum_mean(sample_size: Real, fast: Real, slow: Real, probability: Real) -> Real:
    r"""Mean of the largest of n times that are ``fast``, or ``slow`` with a small probability.

    .. math:: E[X_{(n:n)}] = x_s - (x_s - x_f) (1-p)^n

    Parameters
    ----------
    sample_size : n [1]
    fast, slow : x_f, x_s [s]
    probability : p [1], of being slow

    Returns
    -------
    mean [s]

    Examples
    --------
    Two workers, each slow half the time: three times in four somebody is.

    >>> two_point_maximum_mean(2, 1, 5, 0.5)
    4.0
    """
    return slow - (slow - fast) * (1 - probability) ** sample_size


@formula(cites="david2003")
def one_slow_node_maximum_mean(workers: Real, slowdown: Real, rate: Real) -> Real:
    r"""Mean of the largest of W exponential times, one worker being s times slower than the others.

    .. math:: E[X_{(W:W)}] = \frac{1}{\mu} \left[ H_{W-1} + B\!\left(\frac{1}{s}, W\right) \right]

    The others need H_(W-1) / mu; Euler's beta function B is what the slow one adds.

    Parameters
    ----------
    workers : W [1], at least 1, the slow one among them
    slowdown : s [1], mean time of the slow worker over that of the others
    rate : mu [1/s], of the others

    Returns
    -------
    mean [s]

    Examples
    --------
    Alone, it needs three times as long.

    >>> round(one_slow_node_maximum_mean(1, 3, 1), 12)
    3.0
    """
    # B(1/s, W) = s Gamma(1 + 1/s) Gamma(W) / Gamma(W + 1/s), whose factors stay finite for a very slow node
    beta = slowdown * ops.exp(
        log_gamma_difference(1, 1 / slowdown) - log_gamma_difference(workers, 1 / slowdown)
    )
    return (harmonic_difference(workers - 1, workers - 1) + beta) / rate


@formula(cites="david2003", symbolic=False)
def blom_normal_order_mean(order: Real, sample_size: Real) -> Real:
    r"""Blom's estimate of the mean of the k-th smallest of n standard normal variables.

    .. math:: E[Z_{(k:n)}] \approx \Phi^{-1}\!\left( \frac{k - 3/8}{n + 1/4} \right)

    At k = n it errs by +4.5 % for n = 2 and by less than 0.5 % from n = 10; for the mean only, not the
    variance.  ``order_statistic`` is exact.

    Parameters
    ----------
    order : k [1], in 1..n
    sample_size : n [1]

    Returns
    -------
    mean [1]

    Examples
    --------
    The middle of three is zero by symmetry.

    >>> blom_normal_order_mean(2, 3)
    0.0
    """
    import numpy as np

    odds = (np.asarray(order) - 0.375) / (np.asarray(sample_size) - np.asarray(order) + 0.625)
    quantile = normal_at_logit(np.log(odds))
    return quantile if quantile.ndim else float(quantile) + 0.0
