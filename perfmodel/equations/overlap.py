"""Exposed communication when gradients are sent during the backward pass.

Gradients, or buckets of them, are indexed in the order in which they become ready, along the last axis.

Validity
--------
One network, on which messages follow one another in the order in which they become ready; the mean
iteration; gradients are ready when the backward pass of their layer ends.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from perfmodel.core import ops
from perfmodel.core.formula import formula
from perfmodel.core.ops import Real

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

MANY_ROWS = 1024
"""Number of rows from which a loop over messages is faster than one array of all rows and messages."""


@formula(cites=("zhang2017", "shi2018"), symbolic=False)
def communication_finish_time(ready_times: Any, communication_times: Any) -> Any:
    r"""Time at which the last message ends, if messages are sent in the order in which they become ready.

    .. math:: T = \max_k\left(r_k + \sum_{i \ge k} c_i\right)

    The closed form of f_k = max(f_{k-1}, r_k) + c_k.  A row shorter than the
    others is padded at its end with r = c = 0.

    Parameters
    ----------
    ready_times : r [s], shape (..., K), since the start of the backward pass; not necessarily sorted
    communication_times : c [s], shape (..., K), each message on its own

    Returns
    -------
    finish time [s], shape (...), since the start of the backward pass

    Examples
    --------
    Ready at 3, 5, 7, 8, lasting 1, 4, 0.5, 0.5: the second starts at 5 and
    everything after it waits in line, 5 + 4 + 0.5 + 0.5.

    >>> communication_finish_time([3, 5, 7, 8], [1, 4, 0.5, 0.5])
    10.0
    """
    import numpy as np

    ready, communication = ops.array(ready_times), ops.array(communication_times)
    messages = communication.shape[-1]
    finish: NDArray[np.float64]
    if ready.size * communication.size < MANY_ROWS * messages**2:
        remaining = np.add.accumulate(communication[..., ::-1], axis=-1)[..., ::-1]
        finish = np.maximum.reduce(ready + remaining, axis=-1)
        return finish if finish.ndim else finish.item()
    # many rows: message by message from the last, without an array of shape (..., K)
    ready = np.ascontiguousarray(np.moveaxis(ready, -1, 0))
    communication = np.ascontiguousarray(np.moveaxis(communication, -1, 0))
    left = communication[-1].copy()
    finish = ready[-1] + left
    one = np.empty_like(finish)
    for k in range(messages - 2, -1, -1):
        left += communication[k]
        np.maximum(finish, np.add(ready[k], left, out=one), out=finish)
    return finish


@formula(cites=("zhang2017", "shi2018"), symbolic=False)
def exposed_communication_time(ready_times: Any, communication_times: Any, backward_time: Any) -> Any:
    r"""Time of communication after the end of the backward pass.

    .. math:: t_x = \max\left(0, \max_k\left(r_k + \sum_{i \ge k} c_i\right) - t_b\right)

    It is not max(0, sum c - t_b): the last gradient is ready only at the end,
    so at least its own message is exposed.

    Parameters
    ----------
    ready_times : r [s], shape (..., K), since the backward pass began
    communication_times : c [s], shape (..., K), each message on its own
    backward_time : t_b [s], shape (...)

    Returns
    -------
    exposed_communication_time [s], shape (...)

    Examples
    --------
    The messages of ``communication_finish_time`` end at 10, the backward pass at 8.

    >>> exposed_communication_time([3, 5, 7, 8], [1, 4, 0.5, 0.5], 8)
    2.0
    """
    finish = communication_finish_time(ready_times, communication_times)
    return ops.maximum(finish - backward_time, 0.0)


@formula(cites=(), symbolic=False)  # the maximum only removes rounding errors
def contention_time(communication_time: Real, exposed_communication_time: Real, hiding_cost: Real) -> Real:
    r"""Time by which hidden communication slows the computation that hides it.

    .. math:: t_k = c \max(0, t_c - t_x)

    The kernels of hidden messages take multiprocessors and memory bandwidth from the backward pass.  To first
    order they slow it in proportion to the time for which both run.

    Parameters
    ----------
    communication_time : t_c [s], on its own
    exposed_communication_time : t_x [s], not hidden
    hiding_cost : c [1], computation lost for each second hidden; 0 to 1

    Returns
    -------
    contention_time [s]

    Examples
    --------
    Of 100 ms, 20 are exposed; the other 80 slow the backward pass by a quarter of their time.

    >>> round(contention_time(0.100, 0.020, 0.25), 9)
    0.02
    """
    return hiding_cost * ops.maximum(communication_time - exposed_communication_time, 0)
