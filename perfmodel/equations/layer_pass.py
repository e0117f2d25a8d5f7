"""Time of one layer's forward or backward pass, and of an iteration on accelerator and host together.

Validity
--------
Layers of one or a few kernels, with shares of the peaks learned by type of layer, precision and
generation of the accelerator; fused or compiled networks are faster than the sum.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from perfmodel.core import ops
from perfmodel.core.formula import formula
from perfmodel.core.ops import Real

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray
WORK_UNIT = 500.0
"""Unit of ``half_work``: FLOP of each compute unit."""


@formula(cites="williams2009")
def operation_flops(local_batch_size: Real, flops_per_sample: Real) -> Real:
    r"""Arithmetic of each pass over a micro-batch.

    .. math:: F = b f

    Parameters
    ----------
    local_batch_size : b [samples]
    flops_per_sample : f [FLOP], of one layer's pass

    Returns
    -------
    operation_flops [FLOP]

    Examples
    --------
    64 samples of 2 GFLOP.

    >>> operation_flops(64, 2e9)
    128000000000.0
    """
    return flops_per_sample * local_batch_size


@formula(cites="williams2009")
def operation_bytes(
    local_batch_size: Real, activations: Real, element_bytes: Real, weights: Real, weight_bytes: Real
) -> Real:
    r"""Bytes that each pass reads and writes: activations of every sample, and the weights once.

    .. math:: D = x\,b\,e + p\,e_w

    Parameters
    ----------
    local_batch_size : b [samples]
    activations : x [1], of one sample
    element_bytes : e [B], of an activation
    weights : p [1], read, or read and written
    weight_bytes : e_w [B]

    Returns
    -------
    operation_bytes [B]

    Examples
    --------
    10 samples of 100 activations of 4 B, and 50 weights of 2 B: 4,000 + 100 B.

    >>> operation_bytes(10, 100, 4, 50, 2)
    4100
    """
    return activations * (local_batch_size * element_bytes) + weights * weight_bytes


@formula(cites="hockney1994")
def unit_work(operation_flops: Real, compute_units: Real) -> Real:
    r"""Arithmetic of each compute unit, in units of 500 FLOP.

    .. math:: w = \max\left(\frac{F}{c}, 1\right) / 500

    Parameters
    ----------
    operation_flops : F [FLOP]
    compute_units : c [1], over which a product is distributed

    Returns
    -------
    work [FLOP], in units of 500

    Examples
    --------
    1 MFLOP on 100 units: 10,000 each, 20 units of 500.

    >>> unit_work(1e6, 100)
    20.0
    """
    return ops.maximum(operation_flops / (compute_units * WORK_UNIT), 1 / WORK_UNIT)


@formula(cites="williams2009")
def flop_time(peak_flops: Real, inefficiency: Real, shape_saturation: Real) -> Real:
    r"""Time of one floating-point operation in a very large product of given type and shape.

    .. math:: t_1 = \frac{s\, q_s}{F_p}

    Parameters
    ----------
    peak_flops : F_p [FLOP/s], of the units that compute it
    inefficiency : s [1], time of a very large product of its type over its time at the peak; below 1 if
        Winograd's algorithm saves arithmetic
    shape_saturation : q_s [1], at least 1; slowdown by its shape

    Returns
    -------
    flop_time [s/FLOP]

    Examples
    --------
    10 TFLOP/s are 0.1 ps an operation; 1.5 times that for its type, twice for its shape.

    >>> round(flop_time(10e12, 1.5, 2.0) * 1e12, 9)
    0.3
    """
    return inefficiency * shape_saturation / peak_flops


@formula(cites="williams2009")
def product_time(operation_flops: Real, flop_time: Real, saturation: Real) -> Real:
    r"""Time of a matrix product or convolution on its arithmetic units alone.

    .. math:: t_c = F\, t_1\, q

    Parameters
    ----------
    operation_flops : F [FLOP]
    flop_time : t_1 [s/FLOP], of a very large product of its type and shape
    saturation : q [1], at least 1; slowdown of a product that is too small to fill the accelerator

    Returns
    -------
    compute_time [s]

    Examples
    --------
    1 GFLOP at 0.15 ps each take 150 us, twice that for its size.

    >>> round(product_time(1e9, 0.15e-12, 2.0), 9)
    0.0003
    """
    return operation_flops * flop_time * saturation


@formula(cites="hockney1994")
def shape_saturation(
    product_depth: Real, product_columns: Real, half_depth: Real, half_columns: Real
) -> Real:
    r"""Slowdown of a product by its shape: short dot products and few columns.

    .. math:: q_s = \left(1 + \frac{d_0}{d}\right)\left(1 + \frac{c_0}{c}\right)

    Parameters
    ----------
    product_depth : d [1], length of each dot product
    product_columns : c [1], output channels or features
    half_depth, half_columns : d_0, c_0, at which half the rate is reached

    Returns
    -------
    shape_saturation [1], at least 1

    Examples
    --------
    At the half point of one of the two, a product takes twice its time.

    >>> shape_saturation(60, 1e12, 60, 30).__round__(6)
    2.0
    """
    return (1 + half_depth / product_depth) * (1 + half_columns / product_columns)


@formula(cites="hockney1994")
def small_product_saturation(work: Real, half_work: Real) -> Real:
    r"""Slowdown of a small product, which has few operations for each compute unit.

    .. math:: q = 1 + \frac{w_0}{w}

    This is the law of a pipeline that reaches half its rate at the constant with index 0 (Hockney's n_1/2),
    as for the shape.

    Parameters
    ----------
    work : w [FLOP], of the whole product over compute units, in units of 500 FLOP
    half_work : w_0, at which half the rate is reached

    Returns
    -------
    saturation [1], at least 1

    Examples
    --------
    Half the rate for its few operations.

    >>> small_product_saturation(4000, 4000)
    2.0
    """
    return 1 + half_work / work


@formula(cites="williams2009")
def byte_time(memory_bandwidth: Real, inefficiency: Real) -> Real:
    r"""Time to move one byte of memory traffic of a given type.

    .. math:: t_B = \frac{s}{B_m}

    Parameters
    ----------
    memory_bandwidth : B_m [B/s], nominal
    inefficiency : s [1], of this type of traffic; below 1 if caches or fusion avoid some of it

    Returns
    -------
    byte_time [s/B]

    Examples
    --------
    1000 GB/s are 1 ps a byte; at a slowdown of 1.3, 1.3 ps.

    >>> round(byte_time(1e12, 1.3) * 1e12, 9)
    1.3
    """
    return inefficiency / memory_bandwidth


@formula(cites="williams2009")
def traffic_time(operation_bytes: Real, byte_time: Real) -> Real:
    r"""Time of a layer's memory traffic.

    .. math:: t_m = D\, t_B

    Parameters
    ----------
    operation_bytes : D [B]
    byte_time : t_B [s/B], of this type of traffic

    Returns
    -------
    traffic_time [s]

    Examples
    --------
    1 GB at 1.3 ps a byte.

    >>> round(traffic_time(1e9, 1.3e-12), 9)
    0.0013
    """
    return operation_bytes * byte_time


@formula(cites="williams2009")
def paced_time(first_time: Real, second_time: Real) -> Real:
    r"""Time of two simultaneous activities that sometimes wait for each other.

    .. math:: t = \sqrt{a^2 + b^2}

    It lies between the roofline's maximum (perfect overlap) and the sum (no overlap), and approaches the
    longer time if that is much longer.

    Parameters
    ----------
    first_time : a [s], e.g. arithmetic, or all kernels on the accelerator
    second_time : b [s], e.g. memory traffic, or the host that launches the kernels

    Returns
    -------
    time [s]

    Examples
    --------
    3 ms of arithmetic and 4 ms of traffic take 5 ms; the maximum is 4, the sum 7.

    >>> paced_time(3.0, 4.0)
    5.0
    """
    return ops.sqrt(first_time * first_time + second_time * second_time)


@formula(cites="williams2009", symbolic=False)
def paced_layer_times(
    device_elapsed_times: Any, host_elapsed_times: Any, device_time: Any, host_time: Any
) -> NDArray[np.float64]:
    r"""Time of each layer at the end of an iteration, if accelerator and host wait for each other.

    .. math:: b_l = \tau_{l-1} - \tau_l, \quad
              \tau_l = \sqrt{\left(t_d - d_l\right)^2 + \left(t_h - h_l\right)^2}

    The work before layer l takes the paced time of its own kernels and launches, independent of what follows:
    so a faster layer never delays the end of another.

    Parameters
    ----------
    device_elapsed_times : d [s], shape (..., L + 1), of the layers up to each on the accelerator alone, the
        last to run first
    host_elapsed_times : h [s], shape (L + 1,), on the host alone
    device_time : t_d [s], shape (...), of the whole iteration on the accelerator alone
    host_time : t_h [s], shape (...), on the host alone

    Returns
    -------
    time of each layer [s], shape (..., L)

    Examples
    --------
    An iteration of 4 s on the accelerator and 3 s on the host takes 5 s; without its last second on the
    accelerator and its last three on the host it takes 3.

    >>> from perfmodel.equations.layer_sums import elapsed_times
    >>> paced_layer_times(elapsed_times([1.0]), elapsed_times([3.0]), 4.0, 3.0).tolist()
    [2.0]
    """

    def left(whole: Any, elapsed: Any) -> Any:
        """Return the time that remains before each layer and after the last."""
        return (whole[..., None] if getattr(whole, "ndim", 0) else whole) - elapsed

    paced: Any = paced_time(left(device_time, device_elapsed_times), left(host_time, host_elapsed_times))
    times: NDArray[np.float64] = paced[..., :-1] - paced[..., 1:]
    return times
