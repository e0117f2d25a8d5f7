"""Machines reserved for a term: what is committed, what a run leaves unused, and when it pays.

Validity
--------
Every hour of the term is paid for, whether the machines work or not; the run holds all of them from the
term's first hour, and nothing else uses them after it.  A run longer than the term goes on at the same price.
"""

from perfmodel.core import ops
from perfmodel.core.formula import formula
from perfmodel.core.ops import Real


@formula(cites=())
def committed_cost(nodes: Real, reserved_price: Real, term: Real) -> Real:
    r"""Cost of machines that are reserved for a term.

    .. math:: C = N p_r T_r

    Parameters
    ----------
    nodes : N [1]
    reserved_price : p_r [$/s], of one machine
    term : T_r [s]

    Returns
    -------
    cost [$]

    Examples
    --------
    Four machines at 0.005 $/s (18 $/h) for 30 million seconds (0.95 years).

    >>> committed_cost(4, 0.005, 30e6)
    600000.0
    """
    return nodes * reserved_price * term


@formula(cites=())
def unused_cost(nodes: Real, reserved_price: Real, term: Real, wall_time: Real) -> Real:
    r"""Cost of the rest of a term, after a run that is shorter than it.

    .. math:: C = N p_r \max(0, T_r - t)

    Parameters
    ----------
    nodes : N [1]
    reserved_price : p_r [$/s], of one machine
    term : T_r [s]
    wall_time : t [s], of the run

    Returns
    -------
    cost [$]

    Examples
    --------
    Four machines at 0.005 $/s for 30 million seconds, of which the run takes 10 million: 20 million remain.

    >>> unused_cost(4, 0.005, 30e6, 10e6)
    400000.0
    """
    return nodes * reserved_price * ops.maximum(0, term - wall_time)


@formula(cites=())
def worthwhile_time(reserved_price: Real, machine_price: Real, term: Real) -> Real:
    r"""Time at work from which the whole term costs less than the same time by the hour.

    .. math:: t = T_r \frac{p_r}{p}

    Parameters
    ----------
    reserved_price : p_r [$/s], of one machine
    machine_price : p [$/s], of one by the hour
    term : T_r [s]

    Returns
    -------
    wall_time [s]

    Examples
    --------
    0.6 of the price by the hour: from 0.6 of the term.

    >>> worthwhile_time(0.006, 0.01, 30e6)
    18000000.0
    """
    return term * reserved_price / machine_price
