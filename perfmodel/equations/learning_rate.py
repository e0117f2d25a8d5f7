"""Rules for the learning rate: by batch size, warm-up, staleness and history of gradients.

Validity
--------
The rules worked for the networks of their papers (named with each); none holds for every network, and
each must be verified at the batch size that it is used with.
"""

from perfmodel.core import ops
from perfmodel.core.formula import formula
from perfmodel.core.ops import Real


@formula(cites="goyal2017")
def linear_scaled_learning_rate(
    reference_learning_rate: Real, global_batch_size: Real, reference_batch_size: Real
) -> Real:
    r"""Learning rate in proportion to the global batch (Goyal et al. 2017).

    .. math:: \eta = \eta_0 \frac{B}{B_0}

    It works for ResNet-50 with 0.1 per 256 samples up to about 8,192 samples, with warm-up; beyond that the
    accuracy decreases.

    Parameters
    ----------
    reference_learning_rate : eta_0 [1], good at the reference batch
    global_batch_size : B [samples]
    reference_batch_size : B_0 [samples]

    Returns
    -------
    learning_rate [1]

    Examples
    --------
    256 workers with 32 samples each: 32 times 0.1.

    >>> round(linear_scaled_learning_rate(0.1, 256 * 32, 256), 12)
    3.2
    """
    return reference_learning_rate * global_batch_size / reference_batch_size


@formula(cites="krizhevsky2014")
def square_root_scaled_learning_rate(
    reference_learning_rate: Real, global_batch_size: Real, reference_batch_size: Real
) -> Real:
    r"""Learning rate with the square root of the global batch (Krizhevsky 2014).

    .. math:: \eta = \eta_0 \sqrt{\frac{B}{B_0}}

    It keeps the variance of an update, the linear rule its mean.  For the batch sizes of AlexNet that
    Krizhevsky tried, the linear rule was better.

    Parameters
    ----------
    reference_learning_rate : eta_0 [1], good at the reference batch
    global_batch_size : B [samples]
    reference_batch_size : B_0 [samples]

    Returns
    -------
    learning_rate [1]

    Examples
    --------
    Sixteen times the batch: four times 0.1.

    >>> square_root_scaled_learning_rate(0.1, 4096, 256)
    0.4
    """
    return reference_learning_rate * ops.sqrt(global_batch_size / reference_batch_size)


@formula(cites="goyal2017")
def warmed_up_learning_rate(
    learning_rate: Real, reference_learning_rate: Real, epochs_done: Real, warmup_epochs: Real
) -> Real:
    r"""Learning rate that rises linearly from the reference rate during warm-up.

    .. math:: \eta(e) = \eta_0 + (\eta - \eta_0) \min\left(1, \frac{e}{e_w}\right)

    Five epochs in the original work.

    Parameters
    ----------
    learning_rate : eta [1], after the warm-up
    reference_learning_rate : eta_0 [1], of one worker, where it starts
    epochs_done : e [1]
    warmup_epochs : e_w [1], positive

    Returns
    -------
    learning_rate [1]

    Examples
    --------
    From 0.1 to 3.2 in five epochs: after two and a half it is half way.

    >>> round(warmed_up_learning_rate(3.2, 0.1, 2.5, 5), 12)
    1.65
    """
    return reference_learning_rate + (learning_rate - reference_learning_rate) * ops.minimum(
        1, epochs_done / warmup_epochs
    )


@formula(cites="gupta2016")
def mean_staleness_learning_rate(learning_rate: Real, mean_staleness: Real) -> Real:
    r"""Learning rate divided by the mean staleness (Gupta, Zhang and Wang 2016).

    .. math:: \frac{\eta}{\max(1, \tau)}

    One rate for all gradients.  Gupta et al. define staleness as W/K; a fresh gradient keeps the full rate.

    Parameters
    ----------
    learning_rate : eta [1], of synchronous training
    mean_staleness : tau [1]

    Returns
    -------
    learning_rate [1]

    Examples
    --------
    Thirty workers, one gradient per update.

    >>> round(mean_staleness_learning_rate(0.003, 30), 12)
    0.0001
    """
    return learning_rate / ops.maximum(1, mean_staleness)


@formula(cites=("zhang2016", "dutta2018"))
def mean_gradient_staleness_learning_rate(learning_rate: Real, mean_staleness: Real) -> Real:
    r"""Mean learning rate if each gradient's is divided by its own, geometrically distributed staleness.

    .. math:: \bar{\eta} = \eta p (1 - \ln p), \quad p = \frac{1}{1 + \tau}

    Mean of ``gradient_staleness_learning_rate`` over ``k_async_staleness_probability``: a share p is fresh
    and has the full rate, and the rest is the series of a logarithm.

    Parameters
    ----------
    learning_rate : eta [1], of synchronous training
    mean_staleness : tau [1]

    Returns
    -------
    learning_rate [1]

    Examples
    --------
    One update late on average: half are fresh, 1/2 (1 + ln 2).

    >>> round(mean_gradient_staleness_learning_rate(1, 1), 6)
    0.846574
    """
    fresh = 1 / (1 + mean_staleness)
    return learning_rate * fresh * (1 - ops.log(fresh))


@formula(cites="zhang2016")
def gradient_staleness_learning_rate(learning_rate: Real, staleness: Real) -> Real:
    r"""Learning rate of one gradient, divided by its own staleness (Zhang, Gupta, Lian and Liu 2016).

    .. math:: \eta_i = \frac{\eta}{\max(1, \tau_i)}

    The published rule divides by zero for a fresh gradient, which here has the full rate.

    Parameters
    ----------
    learning_rate : eta [1]
    staleness : tau_i [1], updates between reading and applying; number or array, one for each gradient

    Returns
    -------
    learning_rate [1]

    Examples
    --------
    Four updates late: a quarter.

    >>> gradient_staleness_learning_rate(0.1, 4)
    0.025
    """
    return learning_rate / ops.maximum(1, staleness)


@formula(cites="dutta2018")
def distance_learning_rate(
    largest_learning_rate: Real, distance_constant: Real, squared_distance: Real
) -> Real:
    r"""Learning rate that decreases with the distance of the parameters from those of the gradient.

    .. math:: \eta = \min\left( \eta_{max},\; \frac{C}{\lVert w_j - w_\tau \rVert^2} \right)

    It measures staleness by the change of the parameters instead of the number of updates (Dutta et al.
    2018).  A fresh gradient, at distance zero, has the largest rate.

    Parameters
    ----------
    largest_learning_rate : eta_max [1], positive
    distance_constant : C [1], positive
    squared_distance : ||w_j - w_tau||^2 [1], at least 0

    Returns
    -------
    learning_rate [1]

    Examples
    --------
    Far away: 0.01 / 0.5; at the same place: the largest rate.

    >>> distance_learning_rate(0.1, 0.01, 0.5), distance_learning_rate(0.1, 0.01, 0)
    (0.02, 0.1)
    """
    return distance_constant / ops.maximum(distance_constant / largest_learning_rate, squared_distance)


@formula(cites="duchi2011")
def adagrad_learning_rate(learning_rate: Real, squared_gradient_sum: Real) -> Real:
    r"""Adagrad's learning rate of one parameter.

    .. math:: \eta_i = \frac{\eta}{\sqrt{G}}

    Every server shard keeps its own sums, which workers need not know; the rule made asynchronous DistBelief
    stable.

    Parameters
    ----------
    learning_rate : eta [1]
    squared_gradient_sum : G [1], sum of the squares of this parameter's gradients so far, positive

    Returns
    -------
    learning_rate [1]

    Examples
    --------
    Four gradients of one half: their squares sum to 1.

    >>> adagrad_learning_rate(0.01, 4 * 0.5**2)
    0.01
    """
    return learning_rate / ops.sqrt(squared_gradient_sum)


@formula(cites="mccandlish2018")
def noise_scaled_learning_rate(
    largest_learning_rate: Real, noise_scale: Real, global_batch_size: Real
) -> Real:
    r"""Best learning rate of SGD at a batch size, from the gradient noise scale.

    .. math:: \eta = \frac{\eta_{max}}{1 + B_n / B}

    Linear in the batch size while noise dominates, constant beyond.

    Parameters
    ----------
    largest_learning_rate : eta_max [1], of the noiseless gradient
    noise_scale : B_n [samples]
    global_batch_size : B [samples]

    Returns
    -------
    learning_rate [1]

    Examples
    --------
    At the noise scale itself: half.

    >>> noise_scaled_learning_rate(0.4, 1000, 1000)
    0.2
    """
    return largest_learning_rate / (1 + noise_scale / global_batch_size)
