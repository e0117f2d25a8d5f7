"""Time of computation on one accelerator: roofline, launch floor, waves, the optimizer's update."""

from perfmodel import ops
from perfmodel.formula import formula
from perfmodel.ops import Real


@formula(cites="williams2009")
def roofline_time(
    operation_flops: Real, operation_bytes: Real, achieved_flops: Real, achieved_memory_bandwidth: Real
) -> Real:
    r"""Time of an operation that is bound by arithmetic or by memory, whichever is slower.

    .. math:: t = \max\left(\frac{F}{\eta_c F_p}, \frac{D}{\eta_m B_m}\right)

    Both run at once, so the two are never added (Williams, Waterman and Patterson 2009).

    Parameters
    ----------
    operation_flops : F [FLOP]
    operation_bytes : D [B], read and written
    achieved_flops : eta_c F_p [FLOP/s], peak times achieved fraction
    achieved_memory_bandwidth : eta_m B_m [B/s]

    Returns
    -------
    compute_time [s]

    Examples
    --------
    2 GFLOP at 1 TFLOP/s take 2 ms; 1 MB at 1 GB/s takes 1 ms, so arithmetic binds.

    >>> roofline_time(2e9, 1e6, 1e12, 1e9)
    0.002
    """
    return ops.maximum(operation_flops / achieved_flops, operation_bytes / achieved_memory_bandwidth)


@formula(cites="nvidia-dl-performance")
def launch_overhead(operation_time: Real, kernels: Real, kernel_floor: Real) -> Real:
    r"""Time added because a kernel never takes less than its floor.

    .. math:: t_l = \max(0,\; k\,\theta - t)

    Parameters
    ----------
    operation_time : t [s], what arithmetic and memory ask for
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


@formula(cites="nvidia-dl-performance")
def wave_efficiency(tiles: Real, concurrent_tiles: Real) -> Real:
    r"""Share of the last-wave-rounded time that does work.

    .. math:: \eta = \frac{q}{c \lceil q / c \rceil}

    Parameters
    ----------
    tiles : q [1], output tiles of the matrix product
    concurrent_tiles : c [1], tiles computed at once: compute units times occupancy

    Returns
    -------
    efficiency [1]

    Examples
    --------
    109 tiles on 108 units take two waves, 216 places for 109 tiles.

    >>> round(wave_efficiency(109, 108), 6)
    0.50463
    """
    return tiles / (concurrent_tiles * ops.ceil(tiles / concurrent_tiles))


@formula(cites="rajbhandari2020")
def update_time(parameters: Real, update_bytes_per_parameter: Real, achieved_memory_bandwidth: Real) -> Real:
    r"""Time of the optimizer's update, which only streams memory.

    .. math:: t_u = \frac{\Psi u}{\eta_m B_m}

    SGD with momentum in fp32 reads weight, gradient and momentum and writes weight and momentum: 20 B a
    parameter; Adam with fp32 master weights beside half-precision ones moves 28 B.

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
