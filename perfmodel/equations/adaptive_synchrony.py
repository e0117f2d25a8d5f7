"""Adaptive synchronisation during training: AdaSync's gradients per update K, AdaComm's local steps.

Validity
--------
Smooth objectives, fixed learning rates, independent workers with the same distribution of times. The
best number minimises a bound on the squared gradient, not the error itself; the rules derived from
it need only the current and the initial value of the objective.
"""

from perfmodel.core import ops
from perfmodel.core.formula import formula
from perfmodel.core.ops import Real


@formula(cites="dutta2021")
def adasync_batch_gradients(
    learning_rate: Real,
    smoothness: Real,
    gradient_variance: Real,
    wall_time: Real,
    workers: Real,
    rate: Real,
    local_batch_size: Real,
    current_error: Real,
) -> Real:
    r"""Gradients per update K that minimise the bound after a given time, batch variants of SGD (AdaSync).

    .. math:: K^* = \sqrt{\frac{\eta^2 L \sigma_g^2 t W \mu}{2 b F}}

    From minimising the non-convex bound with K / (W mu) per update.  As the objective falls K grows:
    K_t = K_0 sqrt(F_0 / F_t).

    Parameters
    ----------
    learning_rate : eta [1]
    smoothness : L [1]
    gradient_variance : sigma_g^2 [1], of the gradient of one sample
    wall_time : t [s], until the next choice
    workers : W [1]
    rate : mu [1/s], gradients of one worker
    local_batch_size : b [samples]
    current_error : F [1], objective minus its lower bound

    Returns
    -------
    gradients_per_update [1], to be clipped to 1..W and rounded (``adasync_gradients``)

    Examples
    --------
    All ones but half the error: 1 / (2 x 1/2) under the root.

    >>> adasync_batch_gradients(1, 1, 1, 1, 1, 1, 1, 0.5)
    1.0
    """
    noise = learning_rate**2 * smoothness * gradient_variance / (2 * local_batch_size * current_error)
    return ops.sqrt(noise * wall_time * workers * rate)


@formula(cites="dutta2021")
def adasync_k_sync_gradients(
    learning_rate: Real,
    smoothness: Real,
    gradient_variance: Real,
    wall_time: Real,
    workers: Real,
    rate: Real,
    local_batch_size: Real,
    current_error: Real,
) -> Real:
    r"""Gradients per update K that minimise the bound after a given time, K-sync SGD, exponential times.

    .. math:: K^* = \frac{-a + \sqrt{a^2 + 4 a W}}{2}, \quad
        a = \frac{\eta^2 L \sigma_g^2 t \mu}{2 b F}

    With ln(W / (W - K)) / mu per update the best K solves K^2 = a (W - K).

    Parameters
    ----------
    learning_rate : eta [1]
    smoothness : L [1]
    gradient_variance : sigma_g^2 [1], of the gradient of one sample
    wall_time : t [s], until the next choice
    workers : W [1]
    rate : mu [1/s], gradients of one worker
    local_batch_size : b [samples]
    current_error : F [1], objective minus its lower bound

    Returns
    -------
    gradients_per_update [1], to be clipped to 1..W and rounded (``adasync_gradients``)

    Examples
    --------
    a = 1 and two workers: 1 + 1 = 2.

    >>> adasync_k_sync_gradients(1, 1, 1, 1, 2, 1, 1, 0.5)
    1.0
    """
    noise = learning_rate**2 * smoothness * gradient_variance / (2 * local_batch_size * current_error)
    a = noise * wall_time * rate
    return (-a + ops.sqrt(a**2 + 4 * a * workers)) / 2


@formula(cites="dutta2021")
def adasync_gradients(
    initial_gradients: Real, initial_error: Real, current_error: Real, workers: Real
) -> Real:
    r"""AdaSync's rule for the gradients per update as the objective decreases, clipped and rounded.

    .. math:: K_t = \min\left( W, \max\left( 1, \left\lfloor
        K_0 \sqrt{e_0 / F} + \tfrac{1}{2} \right\rfloor \right) \right)

    It synchronises little while the error is large, and more once noise limits the error.

    Parameters
    ----------
    initial_gradients : K_0 [1]
    initial_error : e_0 [1], objective minus its lower bound at the start
    current_error : F [1], the same now, positive
    workers : W [1]

    Returns
    -------
    gradients_per_update [1]

    Examples
    --------
    A quarter of the error: twice the gradients.

    >>> adasync_gradients(2, 1.0, 0.25, 16)
    4
    """
    wanted = ops.floor(initial_gradients * ops.sqrt(initial_error / current_error) + 0.5)
    return ops.minimum(workers, ops.maximum(1, wanted))


@formula(cites="wang2019")
def best_local_steps(
    initial_error: Real,
    communication_time: Real,
    learning_rate: Real,
    smoothness: Real,
    gradient_variance: Real,
    wall_time: Real,
) -> Real:
    r"""Local steps between two averages that minimise the bound after a given time (Wang and Joshi 2019).

    .. math:: \tau^* = \sqrt{\frac{2 e_0 t_c}{\eta^3 L^2 \sigma_g^2 t}}

    Fewer averages save communication, but let the local models drift apart.

    Parameters
    ----------
    initial_error : e_0 [1], objective minus its lower bound
    communication_time : t_c [s], of one average
    learning_rate : eta [1]
    smoothness : L [1]
    gradient_variance : sigma_g^2 [1], of a step's gradient
    wall_time : t [s]

    Returns
    -------
    local_steps [1], not rounded

    Examples
    --------
    All ones but twice the error: the root of 4.

    >>> best_local_steps(2, 1, 1, 1, 1, 1)
    2.0
    """
    drift = learning_rate**3 * smoothness**2 * gradient_variance * wall_time
    return ops.sqrt(2 * initial_error * communication_time / drift)


@formula(cites="wang2019")
def local_sgd_gradient_bound(
    initial_error: Real,
    learning_rate: Real,
    wall_time: Real,
    gradient_time: Real,
    communication_time: Real,
    local_steps: Real,
    smoothness: Real,
    gradient_variance: Real,
    workers: Real,
) -> Real:
    r"""Bound on the mean squared gradient of local SGD after a given time.

    .. math:: \frac{2 e_0}{\eta t} \left( \bar{X} + \frac{t_c}{\tau} \right)
        + \frac{\eta L \sigma_g^2}{W} + \eta^2 L^2 \sigma_g^2 (\tau - 1)

    Parameters
    ----------
    initial_error : e_0 [1], objective minus its lower bound
    learning_rate : eta [1]
    wall_time : t [s]
    gradient_time : E[X] [s], one local step, the wait for the slowest included
    communication_time : t_c [s], of one average
    local_steps : tau [1]
    smoothness : L [1]
    gradient_variance : sigma_g^2 [1], of a step's gradient
    workers : W [1]

    Returns
    -------
    bound [1]

    Examples
    --------
    2 x (1 + 1/2) + 1/2 + 1 with all else one, two steps and two workers.

    >>> local_sgd_gradient_bound(1, 1, 1, 1, 1, 2, 1, 1, 2)
    4.5
    """
    start = 2 * initial_error / (learning_rate * wall_time)
    noise = learning_rate * smoothness * gradient_variance
    drift = learning_rate * smoothness * noise * (local_steps - 1)
    return start * (gradient_time + communication_time / local_steps) + noise / workers + drift


@formula(cites="wang2019")
def adacomm_local_steps(initial_local_steps: Real, initial_error: Real, current_error: Real) -> Real:
    r"""AdaComm's rule for the local steps between two averages as the objective decreases.

    .. math:: \tau = \left\lceil \tau_0 \sqrt{\frac{F}{e_0}} \right\rceil

    It averages rarely while the error is large, and more often once drift limits the error.

    Parameters
    ----------
    initial_local_steps : tau_0 [1]
    initial_error : e_0 [1], objective minus its lower bound at the start
    current_error : F [1], the same now

    Returns
    -------
    local_steps [1]

    Examples
    --------
    A quarter of the error: half the steps.

    >>> adacomm_local_steps(20, 1.0, 0.25)
    10
    """
    return ops.ceil(initial_local_steps * ops.sqrt(current_error / initial_error))
