"""How one iteration adds up: passes of layers, the pace of the host, micro-batches, and the terms' total."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from perfmodel import ops
from perfmodel.formula import formula
from perfmodel.ops import Real

if TYPE_CHECKING:
    from numpy.typing import NDArray


@formula(cites=(), symbolic=False)
def sum_over_layers(layer_times: Any) -> Any:
    r"""Time of passes that run one after another.

    .. math:: T = \sum_l t_l

    Parameters
    ----------
    layer_times : t_l [s], shape (..., L)

    Returns
    -------
    pass_time [s], a number or shape (...)

    Examples
    --------
    Three passes of 1, 2 and 4 s take 7 s.

    >>> import numpy as np
    >>> sum_over_layers(np.array([1.0, 2.0, 4.0]))
    7.0
    """
    total = layer_times.sum(axis=-1)
    return total if total.ndim else total.item()


@formula(cites=(), symbolic=False)
def forward_passes(layer_times: Any) -> NDArray[Any]:
    r"""The forward passes of a table that holds them before the backward passes.

    .. math:: f_l = t_l, \quad l \le L

    Parameters
    ----------
    layer_times : t [s], shape (..., 2 L)

    Returns
    -------
    forward_times [s], shape (..., L)

    Examples
    --------
    Of two layers, the first two of four passes.

    >>> import numpy as np
    >>> forward_passes(np.array([1.0, 2.0, 3.0, 4.0])).tolist()
    [1.0, 2.0]
    """
    half: NDArray[Any] = layer_times[..., : layer_times.shape[-1] // 2]
    return half


@formula(cites=(), symbolic=False)
def backward_passes(layer_times: Any) -> NDArray[Any]:
    r"""The backward passes of a table that holds the forward passes before them.

    .. math:: b_l = t_{L + l}

    Parameters
    ----------
    layer_times : t [s], shape (..., 2 L)

    Returns
    -------
    backward_times [s], shape (..., L), in forward order

    Examples
    --------
    Of two layers, the last two of four passes.

    >>> import numpy as np
    >>> backward_passes(np.array([1.0, 2.0, 3.0, 4.0])).tolist()
    [3.0, 4.0]
    """
    half: NDArray[Any] = layer_times[..., layer_times.shape[-1] // 2 :]
    return half


@formula(cites=())
def update_on_device(update_time: Real, inefficiency: Real, update_kernels: Real, kernel_floor: Real) -> Real:
    r"""Optimizer's update on the accelerator: its memory traffic and its kernels.

    .. math:: t_u' = t_u s + k_u \theta

    Parameters
    ----------
    update_time : t_u [s], at the nominal bandwidth
    inefficiency : s [1], of this traffic
    update_kernels : k_u [1]
    kernel_floor : theta [s]

    Returns
    -------
    update_time [s]

    Examples
    --------
    1 ms of traffic that takes 1.5 times as long, and 100 kernels of 2 us.

    >>> round(update_on_device(1e-3, 1.5, 100, 2e-6), 9)
    0.0017
    """
    return update_time * inefficiency + update_kernels * kernel_floor


@formula(cites=())
def device_time(
    accumulation_steps: Real, pass_time: Real, kernels: Real, kernel_floor: Real, update_time: Real
) -> Real:
    r"""An iteration as the accelerator alone would do it.

    .. math:: t_d = m\,(t + k\,\theta) + t_u

    Parameters
    ----------
    accumulation_steps : m [1]
    pass_time : t [s], of all passes of a micro-batch without launches
    kernels : k [1], of a micro-batch
    kernel_floor : theta [s]
    update_time : t_u [s]

    Returns
    -------
    device_time [s]

    Examples
    --------
    Two micro-batches of 10 ms and 500 kernels of 2 us, and an update of 1 ms: 2 x 11 + 1 ms.

    >>> round(device_time(2, 10e-3, 500, 2e-6, 1e-3), 9)
    0.023
    """
    return accumulation_steps * (pass_time + kernels * kernel_floor) + update_time


@formula(cites=())
def host_time(accumulation_steps: Real, kernels: Real, update_kernels: Real, dispatch_time: Real) -> Real:
    r"""The same iteration as the host alone would do it: launch after launch.

    .. math:: t_h = (m\,k + k_u)\,\tau

    Parameters
    ----------
    accumulation_steps : m [1]
    kernels : k [1], of a micro-batch
    update_kernels : k_u [1]
    dispatch_time : tau [s], to launch one

    Returns
    -------
    host_time [s]

    Examples
    --------
    Two micro-batches of 500 kernels and 100 of the update, 5 us each.

    >>> round(host_time(2, 500, 100, 5e-6), 9)
    0.0055
    """
    return (accumulation_steps * kernels + update_kernels) * dispatch_time


@formula(cites=())
def host_stretch(paced_time: Real, device_time: Real) -> Real:
    r"""Factor by which the pace of the host lengthens the accelerator's time.

    .. math:: g = t_p / t_d

    Parameters
    ----------
    paced_time : t_p [s], of an iteration that both pace
    device_time : t_d [s], on the accelerator alone

    Returns
    -------
    stretch [1], at least 1

    Examples
    --------
    5 ms where the accelerator alone takes 4.

    >>> host_stretch(5e-3, 4e-3)
    1.25
    """
    return paced_time / device_time


@formula(cites=())
def layer_device_times(busy_times: Real, kernels: Real, kernel_floor: Real) -> Real:
    r"""Each pass of a layer on the accelerator alone, with its launches.

    .. math:: d = t + k\,\theta

    Parameters
    ----------
    busy_times : t [s], shape (..., 2 L)
    kernels : k [1], of each pass, shape (2 L,)
    kernel_floor : theta [s]

    Returns
    -------
    layer_device_times [s], shape (..., 2 L)

    Examples
    --------
    1 ms and 10 kernels of 2 us.

    >>> round(layer_device_times(1e-3, 10, 2e-6), 9)
    0.00102
    """
    return busy_times + kernel_floor * kernels


@formula(cites=())
def layer_host_times(kernels: Real, dispatch_time: Real) -> Real:
    r"""Launches of each pass of a layer on the host alone.

    .. math:: h = k\,\tau

    Parameters
    ----------
    kernels : k [1], of each pass, shape (2 L,)
    dispatch_time : tau [s]

    Returns
    -------
    layer_host_times [s], shape (2 L,)

    Examples
    --------
    10 kernels of 5 us each.

    >>> round(layer_host_times(10, 5e-6), 9)
    5e-05
    """
    return dispatch_time * kernels


@formula(cites=())
def both_passes(forward_times: Real, backward_times: Real) -> Real:
    r"""Forward and backward pass of each layer together.

    .. math:: t = f + b

    Parameters
    ----------
    forward_times : f [s], shape (..., L)
    backward_times : b [s], shape (..., L)

    Returns
    -------
    layer_times [s], shape (..., L)

    Examples
    --------
    >>> both_passes(1, 2)  # 1 ms forward, 2 ms backward
    3
    """
    return forward_times + backward_times


@formula(cites=())
def forward_remainder(layer_times: Real, backward_times: Real) -> Real:
    r"""What each layer's forward pass adds to its backward pass.

    .. math:: f = t_l - b

    Parameters
    ----------
    layer_times : t_l [s], of both passes, shape (..., L)
    backward_times : b [s], shape (..., L)

    Returns
    -------
    forward_times [s], shape (..., L)

    Examples
    --------
    >>> forward_remainder(3, 2)  # 3 ms, of which 2 ms backward
    1
    """
    return layer_times - backward_times


@formula(cites=())
def stretched_time(pass_time: Real, stretch: Real, effect: Real) -> Real:
    r"""All passes of a micro-batch at the pace of the host.

    .. math:: t' = t\,g\,z

    Parameters
    ----------
    pass_time : t [s], launches included
    stretch : g [1], the host's pace
    effect : z [1], of the network

    Returns
    -------
    layers_time [s]

    Examples
    --------
    10 ms, a quarter longer for the host.

    >>> stretched_time(10, 1.25, 1)
    12.5
    """
    return pass_time * stretch * effect


@formula(cites=())
def micro_batch_time(alone_time: Real, accumulation_steps: Real) -> Real:
    r"""Share of an iteration that falls to one micro-batch.

    .. math:: t = T_0 / m

    Parameters
    ----------
    alone_time : T_0 [s], of the iteration
    accumulation_steps : m [1]

    Returns
    -------
    time [s]

    Examples
    --------
    >>> micro_batch_time(40, 4)  # 40 ms in four micro-batches
    10.0
    """
    return alone_time / accumulation_steps


@formula(cites=())
def with_effect(time: Real, effect: Real) -> Real:
    r"""A time with what measured runs of this network say of it.

    .. math:: t' = t\,z

    Parameters
    ----------
    time : t [s]
    effect : z [1], of the network

    Returns
    -------
    time [s]

    Examples
    --------
    A network that runs 10 % slower than its family.

    >>> round(with_effect(2.0, 1.1), 9)
    2.2
    """
    return time * effect


@formula(cites=())
def launch_time(layers_time: Real, forward_time: Real, backward_time: Real) -> Real:
    r"""What a micro-batch loses between kernels and to a host that launches them too slowly.

    .. math:: t_l = t - t_f - t_b

    Parameters
    ----------
    layers_time : t [s], all passes with their launches
    forward_time : t_f [s], without launches
    backward_time : t_b [s], without launches

    Returns
    -------
    launch_overhead_time [s]

    Examples
    --------
    12 ms with launches, of which 4 and 7 ms are work.

    >>> launch_time(12, 4, 7)
    1
    """
    return layers_time - forward_time - backward_time


@formula(cites=())
def once_an_iteration(iteration_overhead: Real, update_time: Real, stretch: Real, effect: Real) -> Real:
    r"""What every iteration loses: a fixed time, and the update's share of the host's pace.

    .. math:: o' = z\,(o + t_u\,(g - 1))

    Parameters
    ----------
    iteration_overhead : o [s]
    update_time : t_u [s]
    stretch : g [1], the host's pace
    effect : z [1], of the network

    Returns
    -------
    iteration_overhead [s]

    Examples
    --------
    1 ms, and a quarter of a 2 ms update.

    >>> once_an_iteration(1e-3, 2e-3, 1.25, 1.0)
    0.0015
    """
    return (iteration_overhead + update_time * (stretch - 1)) * effect


@formula(cites=())
def anchored_time(time: Real, anchor_factor: Real) -> Real:
    r"""A time of one accelerator, brought to what was measured there.

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
def pass_time(forward_time: Real, backward_time: Real, launch_overhead_time: Real) -> Real:
    r"""Forward and backward pass of one micro-batch, launches included.

    .. math:: t = t_f + t_b + t_l

    Parameters
    ----------
    forward_time : t_f [s]
    backward_time : t_b [s]
    launch_overhead_time : t_l [s]

    Returns
    -------
    pass_time [s]

    Examples
    --------
    >>> pass_time(4, 7, 1)  # 4 + 7 + 1
    12
    """
    return forward_time + backward_time + launch_overhead_time


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
    accumulation_steps: Real, launch_overhead_time: Real, one_host_time: Real, iteration_overhead: Real
) -> Real:
    r"""All launch overhead of an iteration.

    .. math:: T = m\,t_l + (o + m\,t_o)

    Parameters
    ----------
    accumulation_steps : m [1]
    launch_overhead_time : t_l [s], of one micro-batch
    one_host_time : t_o [s], of one micro-batch, where one process serves every accelerator
    iteration_overhead : o [s], of every iteration

    Returns
    -------
    launch_overhead_time [s]

    Examples
    --------
    Two micro-batches of 3 ms and 1 ms, and 2 ms of every iteration: 2 x 3 + (2 + 2 x 1).

    >>> launch_overhead_time(2, 3, 1, 2)
    10
    """
    return accumulation_steps * launch_overhead_time + (
        iteration_overhead + accumulation_steps * one_host_time
    )


@formula(cites=(), symbolic=False)
def gradient_ready_times(backward_times: Any, layer_indices: Any) -> NDArray[Any]:
    r"""When each message is ready: the backward pass goes from the last layer to the first.

    .. math:: r_k = \sum_{l \ge l_k} b_l

    Parameters
    ----------
    backward_times : b [s], shape (..., L), in forward order
    layer_indices : l_k [1], shape (K,), from 0: the layer whose pass makes the last gradient of a message

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

    ready: NDArray[Any] = np.cumsum(backward_times[..., ::-1], axis=-1)[..., ::-1]
    return ready[..., np.asarray(layer_indices, dtype=np.intp)]


@formula(cites=(), symbolic=False)
def sum_of_messages(communication_times: Any) -> Any:
    r"""All messages one after another.

    .. math:: t_c = \sum_k c_k

    Parameters
    ----------
    communication_times : c [s], shape (..., K)

    Returns
    -------
    communication_time [s], shape (...)

    Examples
    --------
    Three messages of 1, 2 and 4 s take 7 s.

    >>> import numpy as np
    >>> float(sum_of_messages(np.array([1.0, 2.0, 4.0])))
    7.0
    """
    return communication_times.sum(axis=-1)


@formula(cites="sergeev2018")
def with_waits(communication_time: Real, cycle_wait_time: Real) -> Real:
    r"""Messages with the waits for the cycle that releases them.

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


@formula(cites=())
def both_levels(inner_time: Real, outer_time: Real) -> Real:
    r"""A message's time inside the nodes and then between them.

    .. math:: c = c_i + c_e

    Parameters
    ----------
    inner_time : c_i [s]
    outer_time : c_e [s]

    Returns
    -------
    communication_times [s]

    Examples
    --------
    >>> both_levels(1, 3)  # 1 ms inside, 3 ms between
    4
    """
    return inner_time + outer_time


@formula(cites=())
def shared_hiding_cost(hiding_cost: Real, inner_time: Real, communication_time: Real) -> Real:
    r"""Cost of hiding where the accelerators themselves move only a part of the messages.

    .. math:: c' = c\,\frac{c_i}{t_c}

    Parameters
    ----------
    hiding_cost : c [1]
    inner_time : c_i [s], what the accelerators move
    communication_time : t_c [s], all of it

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


@formula(cites=())
def queue_behind_wait(
    straggler_time: Real, push_share: Real, exposed_communication_time: Real, workers: Real
) -> Real:
    r"""Wait for the slowest worker where the pushes of the others hide behind it.

    .. math:: T = \max\left(0,\; t_s - p\,t_x\,\frac{W-1}{W}\right)

    Parameters
    ----------
    straggler_time : t_s [s], mean wait for the slowest
    push_share : p [1], of an exchange, in which workers push
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


@formula(cites=())
def shared_bandwidth(link_bandwidth: Real, accelerators_per_node: Real) -> Real:
    r"""What each accelerator gets of a port that its node shares.

    .. math:: B' = B / g

    Parameters
    ----------
    link_bandwidth : B [B/s], of the node
    accelerators_per_node : g [1]

    Returns
    -------
    link_bandwidth [B/s]

    Examples
    --------
    Four accelerators share 10 GB/s.

    >>> shared_bandwidth(10e9, 4)
    2500000000.0
    """
    return link_bandwidth / accelerators_per_node


@formula(cites="peng2019", symbolic=False)
def partitioned_times(communication_times: Any, startup_time: Any, partitions: Any) -> NDArray[Any]:
    r"""Time of each message that is cut into partitions: every further one starts anew.

    .. math:: c' = c + (k - 1)\,a

    Parameters
    ----------
    communication_times : c [s], in one piece, shape (..., L)
    startup_time : a [s], of a message of no bytes, shape (..., 1)
    partitions : k [1], of each message, shape (L,); 0 where there is none

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
    r"""What an iteration takes longer than the forward and the backward pass of all layers.

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
    r"""The hop that sets the pace of ranks inside and between nodes.

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
    r"""What each rank gets of the slower of two levels.

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
