"""What batch size costs: updates and epochs to a target, and the noise scale that sets the balance."""

from perfmodel.formula import formula
from perfmodel.ops import Real


@formula(cites="mccandlish2018")
def steps_to_target(smallest_steps: Real, critical_batch_size: Real, global_batch_size: Real) -> Real:
    r"""Updates to a target at a batch size (McCandlish et al. 2018).

    .. math:: J = J_{min} \left( 1 + \frac{B_c}{B} \right)

    Parameters
    ----------
    smallest_steps : J_min [1], with the noiseless gradient
    critical_batch_size : B_c [samples]
    global_batch_size : B [samples]

    Returns
    -------
    updates [1]

    Examples
    --------
    Half the critical batch: three times the least.

    >>> steps_to_target(1000, 1000, 500)
    3000.0
    """
    return smallest_steps * (1 + critical_batch_size / global_batch_size)


@formula(cites="mccandlish2018")
def epochs_to_target(smallest_epochs: Real, critical_batch_size: Real, global_batch_size: Real) -> Real:
    r"""Epochs, or samples, to a target at a batch size.

    .. math:: e = e_{min} \left( 1 + \frac{B}{B_c} \right)

    The other side of ``steps_to_target``: (J/J_min - 1)(e/e_min - 1) = 1.  At the critical batch both cost
    twice their least.

    Parameters
    ----------
    smallest_epochs : e_min [1], with very small batches; the result has its unit
    critical_batch_size : B_c [samples]
    global_batch_size : B [samples]

    Returns
    -------
    epochs [1]

    Examples
    --------
    Half the critical batch: half as many again.

    >>> epochs_to_target(40, 1000, 500)
    60.0
    """
    return smallest_epochs * (1 + global_batch_size / critical_batch_size)


@formula(cites="mccandlish2018")
def time_to_target(epochs: Real, samples_per_epoch: Real, samples_per_second: Real) -> Real:
    r"""Training time to a target.

    .. math:: t = \frac{e N_s}{R}

    Larger batches raise R and e; the best batch is where the product of both stops gaining.

    Parameters
    ----------
    epochs : e [1]
    samples_per_epoch : N_s [samples]; 1 where ``epochs`` counts samples
    samples_per_second : R [1/s], of the whole job

    Returns
    -------
    wall_time [s]

    Examples
    --------
    40 epochs of a million at 10,000 per second: 4,000 s.

    >>> time_to_target(40, 1e6, 1e4)
    4000.0
    """
    return epochs * samples_per_epoch / samples_per_second


@formula(cites="mccandlish2018")
def squared_gradient_estimate(
    small_batch_size: Real, large_batch_size: Real, small_squared_norm: Real, large_squared_norm: Real
) -> Real:
    r"""Squared norm of the true gradient, from gradients of two batch sizes.

    .. math:: G^2 = \frac{B_l g_l^2 - B_s g_s^2}{B_l - B_s}

    Average this and ``gradient_trace_estimate`` over many steps before dividing one by the other.

    Parameters
    ----------
    small_batch_size, large_batch_size : B_s, B_l [samples], different
    small_squared_norm, large_squared_norm : g_s^2, g_l^2 [1], squared norms of the mean gradients

    Returns
    -------
    squared norm [1]

    Examples
    --------
    1 + 8/B at batches 2 and 8 is 5 and 2: (16 - 10) / 6.

    >>> squared_gradient_estimate(2, 8, 5, 2)
    1.0
    """
    large = large_batch_size * large_squared_norm
    return (large - small_batch_size * small_squared_norm) / (large_batch_size - small_batch_size)


@formula(cites="mccandlish2018")
def gradient_trace_estimate(
    small_batch_size: Real, large_batch_size: Real, small_squared_norm: Real, large_squared_norm: Real
) -> Real:
    r"""Total variance of one sample's gradient, from gradients of two batch sizes.

    .. math:: tr(\Sigma) = \frac{g_s^2 - g_l^2}{1/B_s - 1/B_l}

    Divided by the squared norm of the true gradient it is the simple noise scale, close to the critical
    batch size.

    Parameters
    ----------
    small_batch_size, large_batch_size : B_s, B_l [samples], different
    small_squared_norm, large_squared_norm : g_s^2, g_l^2 [1], squared norms of the mean gradients

    Returns
    -------
    trace [1]

    Examples
    --------
    1 + 8/B at batches 2 and 8 is 5 and 2: 3 / (1/2 - 1/8).

    >>> gradient_trace_estimate(2, 8, 5, 2)
    8.0
    """
    return (small_squared_norm - large_squared_norm) / (1 / small_batch_size - 1 / large_batch_size)
