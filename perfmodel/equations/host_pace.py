"""Time of one accelerator in addition to its layers' work: launches, the host's dispatch, the update.

Validity
--------
Frameworks that launch kernels one by one from one thread, without CUDA graphs and compiled steps, which
need one launch.
"""

from __future__ import annotations

from perfmodel.core.formula import formula
from perfmodel.core.ops import Real

ROUNDING = 1e-12
"""Share of a time below which a difference from it counts as zero."""


@formula(cites=())
def update_on_device(update_time: Real, inefficiency: Real, update_kernels: Real, kernel_floor: Real) -> Real:
    r"""Time of the optimizer's update on the accelerator: its memory traffic and its kernels.

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
def device_time(accumulation_steps: Real, pass_time: Real, update_time: Real) -> Real:
    r"""Time of an iteration if the host never delayed the accelerator.

    .. math:: t_d = m\,t + t_u

    Parameters
    ----------
    accumulation_steps : m [1]
    pass_time : t [s], of all passes of a micro-batch with their launches
    update_time : t_u [s]

    Returns
    -------
    device_time [s]

    Examples
    --------
    Two micro-batches of 11 ms and an update of 1 ms.

    >>> device_time(2, 11e-3, 1e-3)
    0.023
    """
    return accumulation_steps * pass_time + update_time


@formula(cites=())
def host_time(accumulation_steps: Real, kernels: Real, update_kernels: Real, dispatch_time: Real) -> Real:
    r"""Time in which the host dispatches the kernels of an iteration.

    .. math:: t_h = (m\,k + k_u)\,\tau

    Parameters
    ----------
    accumulation_steps : m [1]
    kernels : k [1], of a micro-batch
    update_kernels : k_u [1]
    dispatch_time : tau [s], of one kernel

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
def launches_time(kernels: Real, kernel_floor: Real, product_kernels: Real, product_set_up: Real) -> Real:
    r"""Time of launches on the accelerator, independent of the kernels' work: of each layer, or of all.

    .. math:: l = k\,\theta + k_p\,\sigma

    A matrix product has a set-up that other kernels do not need: clearing the workspace, bringing operands
    into the library's layout, waiting for the first tile from memory, and joining partial sums at the end.

    Parameters
    ----------
    kernels : k [1], of each pass, shape (2 L,), or of all
    kernel_floor : theta [s]
    product_kernels : k_p [1], number of those kernels that compute products
    product_set_up : sigma [s], of one product

    Returns
    -------
    launches_time [s], of the same shape

    Examples
    --------
    10 kernels of 2 us each, and 4 products among them that take 5 us more.

    >>> round(launches_time(10, 2e-6, 4, 5e-6), 9)
    4e-05
    """
    return kernel_floor * kernels + product_set_up * product_kernels


@formula(cites=())
def launch_time(layers_time: Real, forward_time: Real, backward_time: Real) -> Real:
    r"""Launch overhead of a micro-batch: gaps between kernels, and delays by a slow host.

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
    12 ms with launches, 4 + 7 ms of work.

    >>> launch_time(12, 4, 7)
    1
    """
    return layers_time - forward_time - backward_time


@formula(cites=())
def once_an_iteration(iteration_overhead: Real, update_time: Real, stretch: Real, effect: Real) -> Real:
    r"""Overhead of every iteration: the host's own work, and the delay of the update by the host.

    .. math:: o' = z\,(o + t_u\,(g - 1))

    The host's own work delays the next iteration in addition to launches: the loop itself, handing over the
    batch, reading the loss.

    Parameters
    ----------
    iteration_overhead : o [s]
    update_time : t_u [s]
    stretch : g [1], factor by which a slow host stretches the accelerator's time
    effect : z [1], factor of the network

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
