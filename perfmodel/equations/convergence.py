"""Error against wall-clock time: bounds on the error of variants of SGD.

Validity
--------
Smooth objectives that satisfy the Polyak-Lojasiewicz condition, fixed learning rates below the stated
limit, gradients with bounded variance. The formulas are upper bounds on the mean error: use them to
compare variants, not to predict a loss.
"""

import math

from perfmodel.core.errors import refusal
from perfmodel.core.formula import formula
from perfmodel.core.ops import Real


@formula(cites="dutta2018")
def staleness_discount(staleness_bound: Real, fresh_fraction: Real) -> Real:
    r"""Factor by which stale gradients slow the bound on convergence (Dutta et al. 2018).

    .. math:: \gamma' = 1 - \gamma + \frac{p_0}{2}

    gamma bounds how much the gradient changes until it is applied, relative to its size; the factor is 1 for
    synchronous variants.  If p_0 > 2 gamma it exceeds 1: only the bound, not the error itself, is then better
    for asynchronous SGD.

    Parameters
    ----------
    staleness_bound : gamma [1], in 0..1
    fresh_fraction : p_0 [1], at least this share of gradients is fresh

    Returns
    -------
    staleness_discount [1]

    Examples
    --------
    1 - 0.2 + 0.25.

    >>> round(staleness_discount(0.2, 0.5), 12)
    1.05
    """
    return 1 - staleness_bound + fresh_fraction / 2


@formula(cites="dutta2018")
def error_floor(
    learning_rate: Real,
    smoothness: Real,
    gradient_variance: Real,
    strong_convexity: Real,
    staleness_discount: Real,
    gradients_per_update: Real,
    local_batch_size: Real,
) -> Real:
    r"""Limit of the bound on the error of SGD with a fixed learning rate.

    .. math:: A = \frac{\eta L \sigma_g^2}{2 c \gamma' K b}

    Parameters
    ----------
    learning_rate : eta [1]
    smoothness : L [1], Lipschitz constant of the gradient
    gradient_variance : sigma_g^2 [1], of the gradient of one sample
    strong_convexity : c [1]
    staleness_discount : gamma' [1], 1 for the synchronous variants
    gradients_per_update : K [1]
    local_batch_size : b [samples], of one gradient

    Returns
    -------
    error_floor [1]

    Examples
    --------
    0.05 x 1 x 10 / (2 x 0.5 x 1 x 4 x 32) = 1/256.

    >>> error_floor(0.05, 1, 10, 0.5, 1, 4, 32)
    0.00390625
    """
    return (
        learning_rate
        * smoothness
        * gradient_variance
        / (2 * strong_convexity * staleness_discount * gradients_per_update * local_batch_size)
    )


@formula(cites="dutta2018")
def error_after(
    initial_error: Real,
    error_floor: Real,
    learning_rate: Real,
    strong_convexity: Real,
    staleness_discount: Real,
    updates: Real,
) -> Real:
    r"""Bound on the mean error after a number of updates.

    .. math:: e_J \le A + (1 - \eta c \gamma')^J (e_0 - A)

    With a fixed learning rate the error decreases geometrically towards its floor; stale gradients slow the
    decrease and raise the floor.

    Parameters
    ----------
    initial_error : e_0 [1], objective minus its minimum
    error_floor : A [1]
    learning_rate : eta [1], at most ``largest_learning_rate``
    strong_convexity : c [1]
    staleness_discount : gamma' [1], 1 for the synchronous variants
    updates : J [1]

    Returns
    -------
    error [1]

    Examples
    --------
    No floor, a tenth lost in each of two updates: 0.9 squared.

    >>> round(error_after(1, 0, 0.1, 1, 1, 2), 12)
    0.81
    """
    decay = 1 - learning_rate * strong_convexity * staleness_discount
    return error_floor + decay**updates * (initial_error - error_floor)


@formula(cites="dutta2018")
def updates_in(wall_time: Real, time_per_update: Real) -> Real:
    r"""Number of updates in a given time, by the law of large numbers.

    .. math:: J = \frac{t}{E[T]}

    The actual number fluctuates around this; use it for times of many updates.

    Parameters
    ----------
    wall_time : t [s]
    time_per_update : E[T] [s], of the variant

    Returns
    -------
    updates [1]

    Examples
    --------
    >>> updates_in(60, 0.5)  # two a second
    120.0
    """
    return wall_time / time_per_update


@formula(cites="dutta2018")
def largest_sync_learning_rate(
    smoothness: Real, gradient_noise_growth: Real, gradients_per_update: Real, local_batch_size: Real
) -> Real:
    r"""Largest learning rate for which the bound of the synchronous variants holds.

    .. math:: \eta \le \frac{1}{2 L \left( \frac{M_G}{K b} + 1 \right)}

    Parameters
    ----------
    smoothness : L [1]
    gradient_noise_growth : M_G [1], how the variance grows with the squared gradient
    gradients_per_update : K [1]
    local_batch_size : b [samples]

    Returns
    -------
    learning_rate [1]

    Examples
    --------
    As much noise as samples: 1 / (2 x 2).

    >>> largest_sync_learning_rate(1, 128, 4, 32)
    0.25
    """
    return 1 / (2 * smoothness * (gradient_noise_growth / (gradients_per_update * local_batch_size) + 1))


@formula(cites="dutta2018")
def largest_async_learning_rate(
    smoothness: Real, gradient_noise_growth: Real, gradients_per_update: Real, local_batch_size: Real
) -> Real:
    r"""Largest learning rate for which the bound of the asynchronous variants holds.

    .. math:: \eta \le \frac{1}{2 L \left( \frac{M_G}{K b} + \frac{1}{K} \right)}

    Parameters
    ----------
    smoothness : L [1]
    gradient_noise_growth : M_G [1], how the variance grows with the squared gradient
    gradients_per_update : K [1]
    local_batch_size : b [samples]

    Returns
    -------
    learning_rate [1]

    Examples
    --------
    No such noise, four gradients: 1 / (2 x 1/4).

    >>> largest_async_learning_rate(1, 0, 4, 32)
    2.0
    """
    noise = gradient_noise_growth / (gradients_per_update * local_batch_size)
    return 1 / (2 * smoothness * (noise + 1 / gradients_per_update))


@formula(cites="dutta2018")
def nonconvex_gradient_bound(
    initial_error: Real,
    updates: Real,
    learning_rate: Real,
    staleness_discount: Real,
    smoothness: Real,
    gradient_variance: Real,
    gradients_per_update: Real,
    local_batch_size: Real,
) -> Real:
    r"""Bound on the mean squared gradient over the first J updates, without convexity.

    .. math:: \frac{1}{J} \sum_j E\lVert \nabla F \rVert^2 \le
        \frac{2 e_0}{J \eta \gamma'} + \frac{\eta L \sigma_g^2}{K b \gamma'}

    Parameters
    ----------
    initial_error : e_0 [1], objective minus its lower bound
    updates : J [1]
    learning_rate : eta [1]
    staleness_discount : gamma' [1], 1 for the synchronous variants
    smoothness : L [1]
    gradient_variance : sigma_g^2 [1], of the gradient of one sample
    gradients_per_update : K [1]
    local_batch_size : b [samples]

    Returns
    -------
    bound [1]

    Examples
    --------
    2 / (10 x 0.1) from the start and 0.1 x 2 / 4 from the noise.

    >>> nonconvex_gradient_bound(1, 10, 0.1, 1, 1, 2, 4, 1)
    2.05
    """
    start = 2 * initial_error / (updates * learning_rate * staleness_discount)
    noise = learning_rate * smoothness * gradient_variance
    return start + noise / (gradients_per_update * local_batch_size * staleness_discount)


def updates_to_error(target_error: float, initial_error: float, floor: float, decay: float) -> float:
    """Return the number of updates until the bound of ``error_after`` meets a target.

    Parameters
    ----------
    target_error : between the floor and the initial error
    initial_error : e_0
    floor : A, of ``error_floor``
    decay : eta c gamma', in 0..1

    Raises
    ------
    InputError : the target is not above the floor, or the decay is outside 0..1

    Examples
    --------
    From 1 to 0.81 with a tenth lost each time: two.

    >>> round(updates_to_error(0.81, 1, 0, 0.1), 12)
    2.0
    """
    if not 0 < decay < 1:
        raise refusal("bound.decay", "learning_rate", decay=decay)
    if target_error <= floor:
        raise refusal("bound.floor", target_error=target_error, floor=floor)
    if target_error >= initial_error:
        return 0.0
    return math.log((target_error - floor) / (initial_error - floor)) / math.log1p(-decay)
