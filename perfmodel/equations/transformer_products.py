"""Time of what one rank computes of a transformer's layer: products, attention, traffic between them.

Validity
--------
Large products, with constants learned by generation of accelerator. Tiles are counted smoothly: a
width that just misses a whole tile costs more than this.
"""

from __future__ import annotations

from perfmodel.core import ops
from perfmodel.core.formula import formula
from perfmodel.core.ops import Real
from perfmodel.equations.layer_pass import WORK_UNIT, paced_time, shape_saturation

HALF_HEAD = 32
"""Head size at which kernels of fused attention reach half of what they do with very large heads."""


@formula(cites=("nvidia-dl-performance", "williams2009"))
def matrix_product_time(
    product_rows: Real,
    product_depth: Real,
    product_columns: Real,
    products: Real,
    product_rate: Real,
    product_bandwidth: Real,
    compute_units: Real,
    half_depth: Real,
    half_columns: Real,
    half_work: Real,
) -> Real:
    r"""Time of equal matrix products: arithmetic slowed by its shape and size, paced by traffic.

    .. math:: t = \sqrt{\left(\frac{f + 500\,c\,w_0}{F}\right)^2
        + \left(\frac{2 p\,(n_1 n_2 + n_2 n_3 + n_1 n_3)}{B}\right)^2}, \quad
        f = 2 n_1 n_2 n_3 p\left(1 + \frac{d_0}{n_2}\right)\left(1 + \frac{c_0}{n_3}\right)

    A product of n_1 x n_2 by n_2 x n_3, by the roofline of every layer (``layer_pass``): it loses by short
    dot products, by few columns, and by few operations of each compute unit, what is lost by shape among
    them: so no product becomes faster by growing.  Exact waves of tiles fit measured steps worse.  Operands
    and result pass memory once, 2 B each.

    Parameters
    ----------
    product_rows : n_1 [1]
    product_depth : n_2 [1]
    product_columns : n_3 [1]
    products : p [1], computed side by side
    product_rate : F [FLOP/s], of a very large product
    product_bandwidth : B [B/s]
    compute_units : c [1]
    half_depth, half_columns : d_0, c_0 [1], at which half the rate is reached
    half_work : w_0 [FLOP], of each unit in units of 500 FLOP, at which half the rate is reached

    Returns
    -------
    operation_time [s]

    Examples
    --------
    Two products of 128 x 100 by 100 x 128 on two units at 1 GFLOP/s: 6.5536 ms, doubled by a half depth of
    100, doubled again by a half work of the 6.5536 MFLOP that each unit then has.

    >>> round(matrix_product_time(128, 100, 128, 2, 1e9, 1e12, 2, 100, 0, 13107.2) * 1e3, 4)
    26.2144
    """
    outputs = product_rows * product_columns
    by_shape = shape_saturation(product_depth, product_columns, half_depth, half_columns)
    flops = 2 * outputs * product_depth * products * by_shape
    elements = product_depth * (product_rows + product_columns) + outputs
    return paced_time(
        (flops + WORK_UNIT * half_work * compute_units) / product_rate,
        2 * products * elements / product_bandwidth,
    )


@formula(cites="dao2022")
def fused_attention_time(
    tokens: Real,
    sequence_length: Real,
    heads: Real,
    head_size: Real,
    value_size: Real,
    attended_fraction: Real,
    attention_rate: Real,
) -> Real:
    r"""Time of scores and weighted sum, forward, in one kernel that keeps no score.

    .. math:: t = \frac{T\,s\,u\,a\,(d + d_v)}{1.25\,F}\left(1 + \frac{32}{d}\right)

    A token's 2 d + 2 d_v FLOP for each position and head, of half of the positions under a causal mask.
    Small heads fill the matrix units badly: the rate F is that at a head size of 128.

    Parameters
    ----------
    tokens : T [tokens], of one rank
    sequence_length : s [tokens]
    heads : a [1], of one rank
    head_size : d [1]
    value_size : d_v [1], features of one value
    attended_fraction : u [1], of the scores that a causal mask leaves; 2 without a mask
    attention_rate : F [FLOP/s], at head size 128

    Returns
    -------
    operation_time [s]

    Examples
    --------
    1000 tokens of 1000, one head of 128 at 256 MFLOP/s: 256 MFLOP, one second.

    >>> round(fused_attention_time(1000, 1000, 1, 128, 128, 1, 256e6), 12)
    1.0
    """
    flops = tokens * sequence_length * attended_fraction * heads * (head_size + value_size)
    return flops / (1.25 * attention_rate) * (1 + HALF_HEAD / head_size)


@formula(cites="korthikanti2022")
def plain_attention_time(
    score_product_time: Real, scores: Real, score_bytes: Real, elementwise_bandwidth: Real
) -> Real:
    r"""Time of attention by two products with the scores in memory between them.

    .. math:: t = 2 t_p + \frac{n_s k}{B}

    Softmax, mask and dropout read and write every score.

    Parameters
    ----------
    score_product_time : t_p [s], of queries by keys; as long as of scores by values
    scores : n_s [1], of one rank
    score_bytes : k [B], that pass memory for each beyond the products
    elementwise_bandwidth : B [B/s]

    Returns
    -------
    operation_time [s]

    Examples
    --------
    Two products of 1 ms, a million scores of 5 B at 1 GB/s.

    >>> round(plain_attention_time(1e-3, 1e6, 5, 1e9) * 1e3, 6)
    7.0
    """
    return 2 * score_product_time + scores * score_bytes / elementwise_bandwidth


@formula(cites="korthikanti2022")
def attention_traffic_bytes(
    tokens: Real, hidden_size: Real, element_bytes: Real, sequence_shards: Real, attention_width: Real
) -> Real:
    r"""Bytes that element-wise operations of a layer move, its feed-forward part left out, forward.

    .. math:: D = T\left(\frac{e\,h}{n_q} + 8 w_a\right)

    Two norms, two sums with what bypasses them and, where there is any, their dropout move some bytes of each
    feature, on one of the ranks that share a sequence; 8 B for each feature of queries and keys or values
    that is rotated, biased or copied.

    Parameters
    ----------
    tokens : T [tokens], of one rank
    hidden_size : h [1]
    element_bytes : e [B]
    sequence_shards : n_q [1], ranks that share the tokens between products; 1 without sequence parallelism
    attention_width : w_a [1], features of heads and key-value heads of one rank

    Returns
    -------
    traffic_bytes [B]

    Examples
    --------
    One token of width 10 on one rank, 24 B a feature, attention 20 wide: 240 and 160.

    >>> attention_traffic_bytes(1, 10, 24, 1, 20)
    400.0
    """
    return tokens * (element_bytes * hidden_size / sequence_shards + 8 * attention_width)


@formula(cites=())
def gate_traffic_bytes(tokens: Real, inner_matrices: Real, inner_width: Real) -> Real:
    r"""Bytes that the activation of a feed-forward part moves, forward.

    .. math:: D = 6\,T\,g\,f

    Each inner feature is read twice and written once, 2 B each time.

    Parameters
    ----------
    tokens : T [tokens], that pass it
    inner_matrices : g [1], 2 where the part is gated, else 1
    inner_width : f [1], inner features of one rank

    Returns
    -------
    traffic_bytes [B]

    Examples
    --------
    >>> gate_traffic_bytes(10, 2, 4)  # 10 tokens, 8 features, 6 B
    480
    """
    return 6 * tokens * inner_matrices * inner_width


@formula(cites=())
def launched_time(device_time: Real, kernels: Real, kernel_floor: Real) -> Real:
    r"""Time of a pass whose kernels a host launches: the longer of the two, smoothed.

    .. math:: t = \left(t_d^8 + (k\,\theta)^8\right)^{1/8}

    Some layers of a stack wait for the host and others do not, so the crossing is rounded.

    Parameters
    ----------
    device_time : t_d [s], on the accelerator alone
    kernels : k [1], launched one after another
    kernel_floor : theta [s], from one launch to the next

    Returns
    -------
    pass_time [s]

    Examples
    --------
    Both 1 ms: the eighth root of 2.

    >>> round(launched_time(1e-3, 100, 10e-6) * 1e3, 4)
    1.0905
    """
    host = kernels * kernel_floor
    longer = ops.maximum(device_time, host)
    shorter = ops.minimum(device_time, host)
    return longer * (1 + (shorter / longer) ** 8) ** 0.125


@formula(cites=())
def mean_over_layers(dense_fraction: Real, dense_time: Real, routed_time: Real) -> Real:
    r"""Mean over layers without and with experts.

    .. math:: t = d\,t_d + (1 - d)\,t_r

    Parameters
    ----------
    dense_fraction : d [1], of the layers
    dense_time : t_d [s], of a layer without experts
    routed_time : t_r [s], of one with

    Returns
    -------
    time [s]

    Examples
    --------
    >>> mean_over_layers(0.25, 4.0, 8.0)  # 0.25 x 4 + 0.75 x 8
    7.0
    """
    return dense_fraction * dense_time + (1 - dense_fraction) * routed_time
