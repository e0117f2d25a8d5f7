"""Epochs and time to a target quality, by batch size.

Validity
--------
A network and a target for which both constants were measured, as they differ between networks; batch
sizes at which training converges.
"""

from perfmodel.core.formula import formula
from perfmodel.core.ops import Real


@formula(cites="mccandlish2018")
def epochs_to_target(smallest_epochs: Real, critical_batch_size: Real, global_batch_size: Real) -> Real:
    r"""Epochs, or samples, to a target at a batch size.

    .. math:: e = e_{min} \left( 1 + \frac{B}{B_c} \right)

    The updates J decrease as the epochs increase, (J/J_min - 1)(e/e_min - 1) = 1: at the critical batch size
    both are twice their minimum.

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

    Larger batches increase R and e; the best batch size minimises e / R.

    Parameters
    ----------
    epochs : e [1]
    samples_per_epoch : N_s [samples]; 1 if ``epochs`` counts samples
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
