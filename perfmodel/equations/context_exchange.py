"""What context-parallel ranks exchange before and after attention, beyond a ring of keys and values.

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
