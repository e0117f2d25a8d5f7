"""What context parallelism exchanges and merges beyond a ring of keys and values.

Validity
--------
Every rank holds as many positions, balanced under a causal mask; heads divide among the ranks that exchange
them.
"""

from __future__ import annotations

from perfmodel.core import ops
from perfmodel.core.formula import formula
from perfmodel.core.ops import Real


@formula(cites=("jacobs2023", "deepspeed2024ulysses"))
def repeated_key_heads(key_heads: Real, group_size: Real) -> Real:
    r"""Key-value heads of a rank that an all-to-all of heads sends, each to one rank.

    .. math:: a_r = n\left\lceil\frac{a_k}{n}\right\rceil

    Every rank needs a key head for its queries: where there are fewer than ranks, they are repeated.

    Parameters
    ----------
    key_heads : a_k [1], of one tensor-parallel rank
    group_size : n [1], ranks that exchange heads

    Returns
    -------
    sent_heads [1]

    Examples
    --------
    Two key heads for four ranks are sent twice, eight once.

    >>> repeated_key_heads(2, 4), repeated_key_heads(8, 4)
    (4, 8)
    """
    return group_size * ops.ceil(key_heads / group_size)


@formula(cites="jacobs2023")
def head_exchange_bytes(
    tokens: Real, heads: Real, sent_heads: Real, head_size: Real, value_size: Real
) -> Real:
    r"""Bytes of queries, keys, values and output of a rank's positions, which all-to-alls exchange for heads.

    .. math:: S = 2\,T\,(a + a_r)(d + d_v)

    An all-to-all of each leaves every rank whole sequences of a share of the heads, and brings the output
    back; with a = a_r heads of h features together that is 4 N h / P values of N tokens on P ranks.
    Gradients take the same paths.

    Parameters
    ----------
    tokens : T [tokens], of one rank
    heads : a [1], of one tensor-parallel rank
    sent_heads : a_r [1], key-value heads with repeated ones
    head_size : d [1]
    value_size : d_v [1]

    Returns
    -------
    message_bytes [B]

    Examples
    --------
    1000 tokens, 8 heads of 128 with as many key heads: four tensors of 1024 features of 2 B.

    >>> head_exchange_bytes(1000, 8, 8, 128, 128)
    8192000
    """
    return 2 * tokens * (heads + sent_heads) * (head_size + value_size)


@formula(cites="jacobs2023")
def repeated_head_bytes(
    tokens: Real, key_heads: Real, sent_heads: Real, head_size: Real, value_size: Real
) -> Real:
    r"""Bytes of repeated keys and values that a layer keeps for its backward pass.

    .. math:: S = 2\,T\,(a_r - a_k)(d + d_v)

    Parameters
    ----------
    tokens : T [tokens], of one rank
    key_heads : a_k [1], of one tensor-parallel rank
    sent_heads : a_r [1], with repeated ones
    head_size : d [1]
    value_size : d_v [1]

    Returns
    -------
    stored_bytes [B]

    Examples
    --------
    >>> repeated_head_bytes(1000, 2, 4, 128, 128)  # two heads more of 256 features of 2 B
    1024000
    """
    return 2 * tokens * (sent_heads - key_heads) * (head_size + value_size)


@formula(cites="fang2024")
def ring_head_share(sent_heads: Real, key_heads: Real, group_size: Real) -> Real:
    r"""Share of a rank's keys and values that travel round the ring once heads were exchanged.

    .. math:: r = \frac{a_r}{a_k\,n}

    Parameters
    ----------
    sent_heads : a_r [1], with repeated ones
    key_heads : a_k [1], of one tensor-parallel rank
    group_size : n [1], ranks that exchanged heads; 1: a ring alone

    Returns
    -------
    head_share [1]

    Examples
    --------
    Eight key heads on four ranks leave each two, a quarter; two repeated for four leave each one, a half.

    >>> ring_head_share(8, 8, 4), ring_head_share(4, 2, 4)
    (0.25, 0.5)
    """
    return sent_heads / (key_heads * group_size)


@formula(cites="pytorch2024context")
def block_merge_bytes(tokens: Real, query_width: Real, group_size: Real) -> Real:
    r"""Bytes moved to merge the outputs of attention over the keys of each rank, operation by operation.

    .. math:: D = 38\,T\,w_q\,(n - 1)

    The output over the keys of a further rank is cast to fp32 (6 B for each feature), subtracted from that so
    far (12), weighted (8), and subtracted again (12).

    Parameters
    ----------
    tokens : T [tokens], of one rank
    query_width : w_q [1]
    group_size : n [1], ranks whose keys come one after another

    Returns
    -------
    traffic_bytes [B]

    Examples
    --------
    One token of 100 features, keys of four ranks: three merges.

    >>> block_merge_bytes(1, 100, 4)
    11400
    """
    return 38 * tokens * query_width * (group_size - 1)


@formula(cites="pytorch2024context")
def block_gradient_bytes(tokens: Real, query_width: Real, kv_width: Real, group_size: Real) -> Real:
    r"""Bytes moved to sum the gradients of attention over the keys of each rank, in fp32.

    .. math:: D = T\,n\,(10\,w_q + 36\,w)

    For each rank, gradients of 2 B are added to sums of 4 B, those of queries, keys and values (10 B for each
    feature); keys and values with their sums are copied into one message (8 B for each).

    Parameters
    ----------
    tokens : T [tokens], of one rank
    query_width : w_q [1]
    kv_width : w [1]
    group_size : n [1], ranks whose keys come one after another

    Returns
    -------
    traffic_bytes [B]

    Examples
    --------
    One token, 100 features of queries and 10 of keys, two ranks: 2 x (1,000 + 360).

    >>> block_gradient_bytes(1, 100, 10, 2)
    2720
    """
    return tokens * group_size * (10 * query_width + 36 * kv_width)


@formula(cites="pytorch2024context")
def gradient_ring_time(
    communication_time: Real, attention_time: Real, hidden_fraction: Real, group_size: Real
) -> Real:
    r"""Exposed time of a ring of gradients: each hop runs during the next block, the last after all of them.

    .. math:: t_x = \frac{t_c + (n - 1)\max(t_c - \eta\,t_a,\;0)}{n}

    Parameters
    ----------
    communication_time : t_c [s], of all n hops
    attention_time : t_a [s], of all n blocks
    hidden_fraction : eta [1], of attention during which a ring can run
    group_size : n [1]

    Returns
    -------
    exposed_communication_time [s]

    Examples
    --------
    Four hops of 1 s next to blocks of 2 s: the last is exposed. Blocks of 0.5 s leave half of the others.

    >>> gradient_ring_time(4.0, 8.0, 1.0, 4), gradient_ring_time(4.0, 2.0, 1.0, 4)
    (1.0, 2.5)
    """
    beyond = ops.maximum(communication_time - hidden_fraction * attention_time, 0)
    return (communication_time + (group_size - 1) * beyond) / group_size
