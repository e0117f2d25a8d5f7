"""How one iteration adds up: micro-batches, a measurement of one accelerator, and the total of its terms.

Validity
--------
A synchronous iteration whose terms follow one another once what is hidden has been taken out. An
anchor scales computation alike at every number of accelerators.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from perfmodel.formula import formula
from perfmodel.ops import Real

if TYPE_CHECKING:
    pass


@formula(cites=())
def anchored_time(time: Real, anchor_factor: Real) -> Real:
    r"""A predicted time, brought to what was measured.

    .. math:: t' = a\,t

    Parameters
    ----------
    time : t [s], or shape (..., L)
    anchor_factor : a [1]

    Returns
    -------
    time [s]

    Examples
    --------
    Measured 1.5 times as slow as predicted.

    >>> anchored_time(2.0, 1.5)
    3.0
    """
    return time * anchor_factor


@formula(cites=())
def anchor_factor(measured_time: Real, alone_time: Real) -> Real:
    r"""Factor that brings one accelerator's time to the measured one.

    .. math:: a = T_m / T_0

    Parameters
    ----------
    measured_time : T_m [s]
    alone_time : T_0 [s], predicted

    Returns
    -------
    anchor_factor [1]

    Examples
    --------
    150 ms measured, 120 predicted.

    >>> anchor_factor(150, 120)
    1.25
    """
    return measured_time / alone_time


@formula(cites=())
def accumulated_time(accumulation_steps: Real, time: Real) -> Real:
    r"""Time of every micro-batch of an iteration.

    .. math:: T = m\,t

    Parameters
    ----------
    accumulation_steps : m [1]
    time : t [s], of one micro-batch

    Returns
    -------
    time [s]

    Examples
    --------
    Four micro-batches of 10 ms.

    >>> accumulated_time(4, 10)
    40
    """
    return accumulation_steps * time


@formula(cites=())
def alone_time(
    accumulation_steps: Real, pass_time: Real, update_time: Real, iteration_overhead: Real
) -> Real:
    r"""One accelerator's iteration, with nothing to wait for.

    .. math:: T = m\,t + t_u + o

    Parameters
    ----------
    accumulation_steps : m [1]
    pass_time : t [s], of one micro-batch
    update_time : t_u [s]
    iteration_overhead : o [s], of every iteration

    Returns
    -------
    busy_time [s]

    Examples
    --------
    Two micro-batches of 10 ms, an update of 1 ms and 2 ms of every iteration.

    >>> alone_time(2, 10, 1, 2)
    23
    """
    return accumulation_steps * pass_time + update_time + iteration_overhead


@formula(cites=())
def fed_time(busy_time: Real, input_time: Real) -> Real:
    r"""One accelerator's iteration with what its samples add.

    .. math:: T_0 = t + t_i

    Parameters
    ----------
    busy_time : t [s]
    input_time : t_i [s], waiting for samples

    Returns
    -------
    alone_time [s]

    Examples
    --------
    >>> fed_time(23, 2)  # 23 ms of work, 2 ms of waiting
    25
    """
    return busy_time + input_time


@formula(cites=())
def launch_overhead_time(
    accumulation_steps: Real, launch_overhead_time: Real, iteration_overhead: Real
) -> Real:
    r"""All launch overhead of an iteration.

    .. math:: T = m\,t_l + o

    Parameters
    ----------
    accumulation_steps : m [1]
    launch_overhead_time : t_l [s], of one micro-batch
    iteration_overhead : o [s], of every iteration

    Returns
    -------
    launch_overhead_time [s]

    Examples
    --------
    Two micro-batches of 3 ms, and 2 ms of every iteration.

    >>> launch_overhead_time(2, 3, 2)
    8
    """
    return accumulation_steps * launch_overhead_time + iteration_overhead


@formula(cites=())
def rest_of_iteration(terms_time: Real, anchor_factor: Real) -> Real:
    r"""What samples can be fetched behind, before a measurement is known.

    .. math:: t = t_s / a

    Parameters
    ----------
    terms_time : t_s [s], all other terms
    anchor_factor : a [1]

    Returns
    -------
    busy_time [s]

    Examples
    --------
    >>> rest_of_iteration(30, 1.5)  # 30 ms, anchored 1.5 times slower
    20.0
    """
    return terms_time / anchor_factor


@formula(cites=(), symbolic=False)
def iteration_time(**terms: Real) -> Real:
    r"""One iteration: its exposed terms add up.

    .. math:: T = \sum_i t_i

    Parameters
    ----------
    terms : t_i [s], by name

    Returns
    -------
    iteration_time [s]

    Examples
    --------
    >>> iteration_time(forward_time=4, backward_time=7, update_time=1)  # 4 + 7 + 1
    12
    """
    return sum(terms.values())
