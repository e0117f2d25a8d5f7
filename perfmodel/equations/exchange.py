"""The exchange of gradients in one iteration: when each message is ready, and the cost of overlap.

Validity
--------
Messages of one iteration over one network, in the order in which gradients become ready, at the same time
on every rank.
"""

from __future__ import annotations

from functools import reduce
from typing import TYPE_CHECKING, Any

from perfmodel.core import ops
from perfmodel.core.formula import formula
from perfmodel.core.ops import Real

if TYPE_CHECKING:
    from numpy.typing import NDArray


@formula(cites=(), symbolic=False)
def gradient_ready_times(backward_times: Any, layer_indices: Any) -> NDArray[Any]:
    r"""Time at which each message is ready: the backward pass runs from the last layer to the first.

    .. math:: r_k = \sum_{l \ge l_k} b_l

    Parameters
    ----------
    backward_times : b [s], shape (..., L), in forward order
    layer_indices : l_k [1], shape (K,), from 0: layer whose pass computes the last gradient of a message

    Returns
    -------
    ready_times [s], shape (..., K)

    Examples
    --------
    Three layers of 1, 2 and 3 s: the last layer's gradient is there after 3 s, the first's after 6.

    >>> import numpy as np
    >>> gradient_ready_times(np.array([1.0, 2.0, 3.0]), np.array([2, 0])).tolist()
    [3.0, 6.0]
    """
    import numpy as np

    ready: NDArray[Any] = np.add.accumulate(backward_times[..., ::-1], axis=-1)[..., ::-1]
    return ready[..., np.asarray(layer_indices, dtype=np.intp)]


@formula(cites="sergeev2018")
def with_waits(communication_time: Real, cycle_wait_time: Real) -> Real:
    r"""Time of messages and of the waits for the cycles that send them.

    .. math:: t_c' = t_c + t_y

    Parameters
    ----------
    communication_time : t_c [s]
    cycle_wait_time : t_y [s]

    Returns
    -------
    communication_time [s]

    Examples
    --------
    >>> with_waits(10, 2)  # 10 ms of messages, 2 ms of waits
    12
    """
    return communication_time + cycle_wait_time


CONTENDING_UNITS = 80
"""Multiprocessors of a V100, the accelerator for which the cost of hiding is stated."""


@formula(cites=())
def hiding_cost_of_units(reference_cost: Real, compute_units: Real) -> Real:
    r"""Cost of hiding a collective whose channels occupy a fixed number of multiprocessors.

    .. math:: c = \min\left(1, \kappa\,\frac{80}{u}\right)

    Parameters
    ----------
    reference_cost : kappa [1], of an accelerator of 80 multiprocessors
    compute_units : u [1], multiprocessors

    Returns
    -------
    hiding_cost [1]

    Examples
    --------
    Of 80 multiprocessors 20 serve the collective; of 160 an eighth.

    >>> hiding_cost_of_units(0.25, 160)
    0.125
    """
    return ops.minimum(1.0, reference_cost * CONTENDING_UNITS / compute_units)


@formula(cites=())
def shared_hiding_cost(hiding_cost: Real, inner_time: Real, communication_time: Real) -> Real:
    r"""Cost of hiding communication of which the accelerators themselves move only a part.

    .. math:: c' = c\,\frac{c_i}{t_c}

    Parameters
    ----------
    hiding_cost : c [1]
    inner_time : c_i [s], of the part that the accelerators move
    communication_time : t_c [s], of all messages

    Returns
    -------
    hiding_cost [1]

    Examples
    --------
    A quarter of the communication is the accelerators' own.

    >>> shared_hiding_cost(0.4, 1, 4)
    0.1
    """
    return hiding_cost * (inner_time / communication_time)


@formula(cites="peng2019", symbolic=False)
def partitioned_times(communication_times: Any, startup_time: Any, partitions: Any) -> NDArray[Any]:
    r"""Time of each message that is cut into partitions, each of which adds a start.

    .. math:: c' = c + (k - 1)\,a

    Parameters
    ----------
    communication_times : c [s], in one piece, shape (..., L)
    startup_time : a [s], of a message of no bytes, shape (..., 1)
    partitions : k [1], of each message, shape (L,); 0 for no message

    Returns
    -------
    communication_times [s], shape (..., L); 0 without partitions

    Examples
    --------
    10 ms in three pieces that each start in 1 ms.

    >>> import numpy as np
    >>> partitioned_times(np.array([10.0, 1.0]), 1.0, np.array([3, 0])).tolist()
    [12.0, 0.0]
    """
    import numpy as np

    times: NDArray[Any] = np.where(
        np.greater(partitions, 0), communication_times + (partitions - 1) * startup_time, 0.0
    )
    return times


@formula(cites="peng2019", symbolic=False)
def time_beyond_passes(iteration_time: Any, forward_times: Any, backward_times: Any) -> Any:
    r"""Time of an iteration in addition to the forward and backward passes of all layers.

    .. math:: t_x = T - \sum_l (f_l + b_l)

    Parameters
    ----------
    iteration_time : T [s], shape (...)
    forward_times : f [s], shape (..., L)
    backward_times : b [s], shape (..., L)

    Returns
    -------
    exposed_communication_time [s], shape (...)

    Examples
    --------
    12.5 s for two layers of 1 + 2 and 2 + 4 s: 3.5 s more.

    >>> import numpy as np
    >>> float(time_beyond_passes(12.5, np.array([1.0, 2.0]), np.array([2.0, 4.0])))
    3.5
    """
    return iteration_time - (forward_times.sum(axis=-1) + backward_times.sum(axis=-1))


@formula(cites=())
def slowest_hop(intra_hop_latency: Real, inter_hop_latency: Real) -> Real:
    r"""Latency of the slower of the hops inside nodes and between them.

    .. math:: \alpha = \max(\alpha_i, \alpha_e)

    Parameters
    ----------
    intra_hop_latency : alpha_i [s]
    inter_hop_latency : alpha_e [s]

    Returns
    -------
    hop_latency [s]

    Examples
    --------
    >>> slowest_hop(3, 14)  # 3 us inside, 14 us between
    14
    """
    return ops.maximum(intra_hop_latency, inter_hop_latency)


@formula(cites=())
def least_bandwidth(intra_link_bandwidth: Real, inter_link_bandwidth: Real) -> Real:
    r"""Bandwidth of each rank over the slower of the links inside nodes and between them.

    .. math:: B = \min(B_i, B_e)

    Parameters
    ----------
    intra_link_bandwidth : B_i [B/s]
    inter_link_bandwidth : B_e [B/s]

    Returns
    -------
    link_bandwidth [B/s]

    Examples
    --------
    >>> least_bandwidth(100, 12)  # 100 GB/s inside, 12 GB/s between
    12
    """
    return ops.minimum(intra_link_bandwidth, inter_link_bandwidth)


@formula(cites=())
def least_times(**communication_times: Real) -> Real:
    r"""Time of each message by its fastest algorithm.

    .. math:: c_k = \min_a c_{a,k}

    Parameters
    ----------
    communication_times : c_a [s], by algorithm, shape (..., messages)

    Returns
    -------
    communication_times [s], of the same shape

    Examples
    --------
    >>> least_times(ring=3, tree=2)  # 3 ms by a ring, 2 by a tree
    2
    """
    return reduce(ops.minimum, communication_times.values())


@formula(cites=())
def queue_behind_wait(
    straggler_time: Real, push_share: Real, exposed_communication_time: Real, workers: Real
) -> Real:
    r"""Wait for the slowest worker, less the pushes of the others that it hides.

    .. math:: T = \max\left(0,\; t_s - p\,t_x\,\frac{W-1}{W}\right)

    Parameters
    ----------
    straggler_time : t_s [s], mean wait for the slowest
    push_share : p [1], of an exchange that is spent on pushes
    exposed_communication_time : t_x [s]
    workers : W [1]

    Returns
    -------
    straggler_time [s]

    Examples
    --------
    Four workers wait 10 ms; three of them push for half of 8 ms meanwhile.

    >>> queue_behind_wait(10, 0.5, 8, 4)
    7.0
    """
    return ops.maximum(
        0.0, straggler_time - push_share * exposed_communication_time * (workers - 1) / workers
    )
