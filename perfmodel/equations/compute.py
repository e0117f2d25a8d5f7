"""Time of computation on one accelerator: launch overhead, the optimizer's update, time at peak.

Validity
--------
Successive kernels on one accelerator; an optimizer whose state does not fit into a cache.
"""

from perfmodel.core import ops
from perfmodel.core.formula import formula
from perfmodel.core.ops import Real


@formula(cites="nvidia-dl-performance")
def launch_overhead(operation_time: Real, kernels: Real, kernel_floor: Real) -> Real:
    r"""Time added because a kernel never takes less than its floor.

    .. math:: t_l = \max(0,\; k\,\theta - t)

    Parameters
    ----------
    operation_time : t [s], of arithmetic and memory traffic
    kernels : k [1], kernels launched
    kernel_floor : theta [s], from launching one kernel to the next, however little it does

    Returns
    -------
    launch_overhead_time [s]

    Examples
    --------
    Two kernels of at least 5 us each take 10 us; 4 us of it is work, 6 us is overhead.

    >>> round(launch_overhead(4e-6, 2, 5e-6), 12)
    6e-06
    """
    return ops.maximum(0, kernels * kernel_floor - operation_time)


@formula(cites="rajbhandari2020")
def update_time(parameters: Real, update_bytes_per_parameter: Real, achieved_memory_bandwidth: Real) -> Real:
    r"""Time of the optimizer's update, which memory bandwidth limits.

    .. math:: t_u = \frac{\Psi u}{\eta_m B_m}

    SGD with momentum in fp32 reads weight, gradient and momentum and writes weight and momentum: 20 B a
    parameter; Adam with both fp32 master weights and half-precision weights moves 28 B.

    Parameters
    ----------
    parameters : Psi [1]
    update_bytes_per_parameter : u [B]
    achieved_memory_bandwidth : eta_m B_m [B/s]

    Returns
    -------
    update_time [s]

    Examples
    --------
    25 million parameters of 20 B are 0.5 GB; at 500 GB/s that is 1 ms.

    >>> update_time(25e6, 20, 500e9)
    0.001
    """
    return parameters * update_bytes_per_parameter / achieved_memory_bandwidth


@formula(cites="williams2009")
def time_at_peak(model_flops: Real, peak_flops: Real) -> Real:
    r"""Time of arithmetic at the peak, which is the least possible.

    .. math:: t = \frac{F}{F_p}

    Parameters
    ----------
    model_flops : F [FLOP], of one accelerator
    peak_flops : F_p [FLOP/s], dense

    Returns
    -------
    peak_time [s]

    Examples
    --------
    3 TFLOP at 1 TFLOP/s.

    >>> time_at_peak(3e12, 1e12)
    3.0
    """
    return model_flops / peak_flops


@formula(cites="williams2009")
def slowdown_to_peak(compute_time: Real, peak_time: Real) -> Real:
    r"""Factor by which a time must grow so that its arithmetic does not exceed the peak; 1 if it does not.

    .. math:: q = \max\left(1, \frac{t_p}{t}\right)

    Parameters
    ----------
    compute_time : t [s]
    peak_time : t_p [s]

    Returns
    -------
    peak_slowdown [1]

    Examples
    --------
    Arithmetic of 3 s at the peak takes at least 1.5 times 2 s; 6 s are long enough.

    >>> slowdown_to_peak(2.0, 3.0), slowdown_to_peak(6.0, 3.0)
    (1.5, 1.0)
    """
    return ops.maximum(1.0, peak_time / compute_time)


@formula(cites="chowdhery2022")
def flops_utilization(model_flops: Real, iteration_time: Real, world_size: Real, peak_flops: Real) -> Real:
    r"""Model FLOPs utilisation: the work done over what the peaks could do in the time.

    .. math:: U = \frac{F}{T\,n\,F_p}

    Parameters
    ----------
    model_flops : F [FLOP], forward and backward of the whole iteration, all accelerators, no recomputation
    iteration_time : T [s]
    world_size : n [1]
    peak_flops : F_p [FLOP/s], dense

    Returns
    -------
    mfu [1]

    Examples
    --------
    4 PFLOP in 2 s on 8 accelerators of 500 TFLOP/s: 2 of 4 PFLOP/s.

    >>> flops_utilization(4e15, 2, 8, 500e12)
    0.5
    """
    return model_flops / (iteration_time * world_size * peak_flops)
