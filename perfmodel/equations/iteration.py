"""Time of one iteration: micro-batches, launch overhead, and the sum of its terms.

Validity
--------
A synchronous iteration whose terms, without hidden parts, follow one another.
"""

from __future__ import annotations

from perfmodel.core.formula import formula
from perfmodel.core.ops import Real


@formula(cites=())
def alone_time(
    accumulation_steps: Real, pass_time: Real, update_time: Real, iteration_overhead: Real
) -> Real:
    r"""Time of one accelerator's iteration, without waiting for others.

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


@formula(cites=(), symbolic=False)
def iteration_time(**terms: Real) -> Real:
    r"""Time of one iteration: the sum of its exposed terms.

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
