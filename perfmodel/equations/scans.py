"""Arithmetic, traffic and time of scans: state-space models and linear attention.

Validity
--------
Kernels that keep no state of a token in memory and work on chunks of a sequence as matrix products (Mamba-2,
lightning attention, the delta rule), or token by token (Mamba-1), whose arithmetic its traffic hides.
"""

from __future__ import annotations

from perfmodel.core.formula import formula
from perfmodel.core.ops import Real
from perfmodel.equations.layer_pass import paced_time


@formula(cites=("dao2024", "yang2024"))
def scan_projected_width(
    scan_width: Real, scan_gate_width: Real, key_width: Real, scan_scalars: Real
) -> Real:
    r"""Features that the first product of a scan makes of a token.

    .. math:: w = d_i + w_g + 2 w_k + n_s

    Values and their gate, keys and queries (B and C) for each group, and numbers for each head: a step size
    in Mamba-2 (Dao and Gu 2024, section 7), a decay and a learning rate in the delta rule.

    Parameters
    ----------
    scan_width : d_i [1], features of all values
    scan_gate_width : w_g [1], as wide as the values, or the narrow ones that gates are expanded from
    key_width : w_k [1], features of all keys: groups times states
    scan_scalars : n_s [1]

    Returns
    -------
    projected_width [1]

    Examples
    --------
    Nemotron-H 8B: 128 heads of 64, 8 groups of 128 states.

    >>> scan_projected_width(8192, 8192, 1024, 128)
    18560
    """
    return scan_width + scan_gate_width + 2 * key_width + scan_scalars


@formula(cites=("dao2024", "yang2024"))
def recurrence_flops(scan_width: Real, state_size: Real, state_operations: Real) -> Real:
    r"""FLOP of a scan for one token, step by step, forward: the least that the recurrence takes.

    .. math:: f = o\,d_i\,N

    6 of each state: its decay, the product of key and value that is added, and the product with the query.
    The delta rule reads the state once more to subtract what it holds for the key: 8, as Megatron-LM counts,
    which counts 7 for Mamba-2.

    Parameters
    ----------
    scan_width : d_i [1]
    state_size : N [1], states of each value
    state_operations : o [1]

    Returns
    -------
    token_flops [FLOP]

    Examples
    --------
    >>> recurrence_flops(8192, 128, 6)
    6291456
    """
    return state_operations * scan_width * state_size


@formula(cites="dao2024")
def chunked_scan_flops(scan_width: Real, key_width: Real, state_size: Real, chunk_length: Real) -> Real:
    r"""FLOP of a scan for one token, by chunks of tokens, forward.

    .. math:: f = 4 d_i N + 2 q\,d_i + 2 q\,w_k

    Inside a chunk keys times queries, and those scores times values; between chunks values times keys, which
    makes the state, and the state times queries (Dao and Gu 2024, section 6).  Masked blocks are computed.

    Parameters
    ----------
    scan_width : d_i [1]
    key_width : w_k [1], features of all keys
    state_size : N [1]
    chunk_length : q [tokens]

    Returns
    -------
    token_flops [FLOP]

    Examples
    --------
    4 x 8192 x 128, and 256 for each of 8192 + 1024 features.

    >>> chunked_scan_flops(8192, 1024, 128, 128)
    6553600
    """
    return 4 * scan_width * state_size + 2 * chunk_length * (scan_width + key_width)


@formula(cites="yang2024")
def delta_rule_flops(
    scan_width: Real, key_width: Real, state_size: Real, scan_heads: Real, chunk_length: Real
) -> Real:
    r"""FLOP of a chunked scan for one token that the delta rule adds, forward.

    .. math:: f = 2 d_i N + 2 q\,(w_k + a N + d_i)

    Keys times keys, the inverse of that triangle times keys and values of each head, and the state times keys
    (Yang et al. 2024, section 3.3).  The inversion itself, below the smallest of these, is left out.

    Parameters
    ----------
    scan_width : d_i [1]
    key_width : w_k [1], features of all keys
    state_size : N [1]
    scan_heads : a [1]
    chunk_length : q [tokens]

    Returns
    -------
    token_flops [FLOP]

    Examples
    --------
    Qwen3-Next: 32 heads of 128 values, 16 of 128 keys, chunks of 64: 2 x 4096 x 128 and 128 x 10240.

    >>> delta_rule_flops(4096, 2048, 128, 32, 64)
    2359296
    """
    of_heads = key_width + scan_heads * state_size + scan_width
    return 2 * scan_width * state_size + 2 * chunk_length * of_heads


@formula(cites="dao2024")
def convolution_flops(convolved_width: Real, convolution_taps: Real) -> Real:
    r"""FLOP of the convolution over neighbouring tokens for one token, forward.

    .. math:: f = 2 w_c k

    Parameters
    ----------
    convolved_width : w_c [1], features, each with its own filter
    convolution_taps : k [tokens], that a filter reaches

    Returns
    -------
    token_flops [FLOP]

    Examples
    --------
    >>> convolution_flops(10240, 4)
    81920
    """
    return 2 * convolved_width * convolution_taps


@formula(cites="dao2024")
def scan_traffic_bytes(scan_width: Real, convolved_width: Real, states_per_token: Real) -> Real:
    r"""Bytes that convolution, scan and gate move for one token, forward, 16-bit.

    .. math:: D = 6 w_c + 8 d_i + 16 n_s

    The convolution reads and writes its features, the scan reads them again and writes the values, and the
    gate with its norm reads both and writes one, 2 B each; the states of every chunk are written, passed on
    and read in 32 bits.

    Parameters
    ----------
    scan_width : d_i [1]
    convolved_width : w_c [1], values, keys and queries
    states_per_token : n_s [1], states of all heads over the tokens of a chunk

    Returns
    -------
    traffic_bytes [B]

    Examples
    --------
    >>> scan_traffic_bytes(8192, 10240, 8192)
    258048
    """
    return 6 * convolved_width + 8 * scan_width + 16 * states_per_token


@formula(cites="williams2009")
def scan_time(
    tokens: Real,
    token_flops: Real,
    token_bytes: Real,
    attention_rate: Real,
    elementwise_bandwidth: Real,
) -> Real:
    r"""Time of a scan: its arithmetic paced by its traffic.

    .. math:: t = T \sqrt{\left(\frac{f}{F}\right)^2 + \left(\frac{D}{B}\right)^2}

    No measured scan was fitted: its products run at the rate of fused attention, their nearest relative, its
    traffic at the bandwidth of element-wise operations.

    Parameters
    ----------
    tokens : T [tokens], of one rank
    token_flops : f [FLOP]
    token_bytes : D [B], that pass memory for each
    attention_rate : F [FLOP/s]
    elementwise_bandwidth : B [B/s]

    Returns
    -------
    operation_time [s]

    Examples
    --------
    1000 tokens of 3 kFLOP at 1 GFLOP/s and 4 kB at 1 GB/s: 3 and 4 ms.

    >>> round(scan_time(1000, 3e3, 4e3, 1e9, 1e9) * 1e3, 9)
    5.0
    """
    arithmetic = tokens * token_flops / attention_rate
    return paced_time(arithmetic, tokens * token_bytes / elementwise_bandwidth)


@formula(cites="deepseek2025")
def index_flops(attended_positions: Real, index_heads: Real, index_size: Real) -> Real:
    r"""FLOP of the scores of an indexer for one token, forward.

    .. math:: f = 2\,c\,a_i\,d_i

    Every earlier position is scored by a few narrow heads; attention then reads the best alone
    (DeepSeek-AI 2025, section 2.1).

    Parameters
    ----------
    attended_positions : c [tokens], scored for a query, the mean over a sequence
    index_heads : a_i [1]
    index_size : d_i [1], features of each

    Returns
    -------
    token_flops [FLOP]

    Examples
    --------
    DeepSeek-V3.2 on sequences of 4095: 2048 positions for 64 heads of 128.

    >>> index_flops(2048, 64, 128)
    33554432
    """
    return 2 * attended_positions * index_heads * index_size
