"""What a layer with experts sends: tokens to the ranks of their experts and back, and what hides that.

Each rank of an expert group holds experts of its own (expert parallelism), or an equal part of the weights of
its experts (expert tensor parallelism).  A token goes once to every node, and from there once to every rank,
that has one of its experts.

Validity
--------
Experts are chosen at random; one rank or node has as many as any other.  Ranks send at the same time.
"""

from __future__ import annotations

from perfmodel.core import ops
from perfmodel.core.formula import formula
from perfmodel.core.ops import Real
from perfmodel.equations.special import log_gamma

IMPOSSIBLE = 1e-12
"""In place of 0 or less, an argument of the gamma function whose value is then beyond all others."""


@formula(cites=())
def distinct_destinations(group_size: Real, active_experts: Real, experts: Real) -> Real:
    r"""Ranks or nodes that have at least one of a token's experts.

    .. math:: D = n\left(1 - \frac{\binom{E - E/n}{k}}{\binom{E}{k}}\right)

    The k experts of a token differ from each other, and two on one rank, or on one node, take one copy.

    Parameters
    ----------
    group_size : n [1], ranks or nodes that experts lie on
    active_experts : k [1], experts of one token
    experts : E [1], of the layer, n of them equal shares

    Returns
    -------
    destinations [1], the mean

    Examples
    --------
    Mixtral on 8 ranks, one expert on each: 2 experts are on 2 ranks.

    >>> round(distinct_destinations(8, 2, 8), 6)
    2.0

    On 2 ranks with 4 experts each the second of 2 is on the rank of the first in 3 cases of 7.

    >>> round(distinct_destinations(2, 2, 8), 6) == round(2 - 3 / 7, 6)
    True

    DeepSeek-V3 takes 8 experts from 4 nodes with 32 of its 256 each: 128 experts.

    >>> round(distinct_destinations(4, 8, 128), 1)
    3.6
    """
    left = experts - experts / group_size
    able = ops.maximum(left - active_experts + 1, IMPOSSIBLE)
    elsewhere = log_gamma(left + 1) - log_gamma(able)
    missed = ops.exp(elsewhere - log_gamma(experts + 1) + log_gamma(experts - active_experts + 1))
    return group_size * (1 - missed)


@formula(cites="deepseek2024v3")
def token_message_bytes(
    tokens: Real, hidden_size: Real, value_bytes: Real, scale_bytes_per_value: Real
) -> Real:
    r"""Bytes of one copy of a rank's tokens on their way to experts.

    .. math:: S = T\,h\,(e + s)

    Values in 8 bits share scales; values in 16 bits have none.

    Parameters
    ----------
    tokens : T [tokens], that the rank sends
    hidden_size : h [1]
    value_bytes : e [B], of one value
    scale_bytes_per_value : s [B], of the scale of its block, for each value

    Returns
    -------
    message_bytes [B]

    Examples
    --------
    1,000 tokens of 7,168 features in 8 bits, with a scale of 4 B for 128 values.

    >>> token_message_bytes(1000, 7168, 1, 4 / 128)
    7392000.0
    """
    return tokens * hidden_size * (value_bytes + scale_bytes_per_value)


@formula(cites=())
def dispatch_bytes(message_bytes: Real, destinations: Real, group_size: Real) -> Real:
    r"""Bytes that leave a rank, or a node's rank for other nodes, to reach the experts of its tokens.

    .. math:: S_x = S\,D\left(1 - \frac{1}{n}\right)

    Parameters
    ----------
    message_bytes : S [B], one copy of the rank's tokens
    destinations : D [1], of each token
    group_size : n [1], ranks or nodes that experts lie on

    Returns
    -------
    dispatched_bytes [B]

    Examples
    --------
    >>> dispatch_bytes(1000, 1.5, 2)  # half of the copies stay at home
    750.0
    """
    return message_bytes * destinations * (1 - 1 / group_size)


@formula(cites=())
def dispatch_time(
    inner_bytes: Real,
    outer_bytes: Real,
    inner_bandwidth: Real,
    outer_bandwidth: Real,
    exchange_fraction: Real,
    start_time: Real,
) -> Real:
    r"""Time to bring tokens to their experts, or back.

    .. math:: t = A + \frac{1}{\phi_x}\max\left(\frac{S_i}{V}, \frac{S_e}{B_e}\right)

    Copies inside a node and between nodes travel at once.

    Parameters
    ----------
    inner_bytes : S_i [B], that leave a rank
    outer_bytes : S_e [B], of these between nodes
    inner_bandwidth : V [B/s], nominal, of one rank
    outer_bandwidth : B_e [B/s], nominal, of one rank's part of its node's adapters
    exchange_fraction : phi_x [1], of the nominal rate that many senders reach
    start_time : A [s]

    Returns
    -------
    communication_time [s]

    Examples
    --------
    100 MB inside at 100 GB/s, 50 MB outside at 25 GB/s, both at half rate: 4 ms, and 10 us.

    >>> round(dispatch_time(1e8, 5e7, 1e11, 25e9, 0.5, 1e-5) * 1e3, 6)
    4.01
    """
    wire = ops.maximum(inner_bytes / inner_bandwidth, outer_bytes / outer_bandwidth)
    return start_time + wire / exchange_fraction


@formula(cites=())
def tokens_of_expert(
    tokens: Real,
    active_experts: Real,
    experts: Real,
    expert_parallel: Real,
    expert_tensor_parallel: Real,
    tensor_parallel: Real,
    expert_load: Real,
) -> Real:
    r"""Tokens that each expert of the fullest rank computes for one micro-batch.

    .. math:: T_e = \lambda\,\frac{k\,T}{E}\,\frac{n_e\,n_t}{t}

    The ranks of an expert group bring the tokens of their micro-batches, of which tensor-parallel ranks share
    one.

    Parameters
    ----------
    tokens : T [tokens]
    active_experts : k [1], experts of one token
    experts : E [1], of the layer
    expert_parallel : n_e [1]
    expert_tensor_parallel : n_t [1]
    tensor_parallel : t [1]
    expert_load : lambda [1], of the fullest rank over the mean

    Returns
    -------
    expert_tokens [tokens]

    Examples
    --------
    8 ranks without tensor parallelism bring 1,000 tokens each, for 2 of 8 experts, one on each rank.

    >>> tokens_of_expert(1000, 2, 8, 8, 1, 1, 1.0)
    2000.0

    Where pairs of them share the tokens they are half as many.

    >>> tokens_of_expert(1000, 2, 8, 8, 1, 2, 1.0)
    1000.0
    """
    share = expert_parallel * expert_tensor_parallel / tensor_parallel
    return expert_load * (active_experts * tokens / experts) * share


@formula(cites=())
def gathered_token_bytes(
    message_bytes: Real, destinations: Real, expert_tensor_parallel: Real, tensor_parallel: Real
) -> Real:
    r"""Bytes of the tokens that ranks with parts of the same experts gather, and whose results they sum.

    .. math:: S_g = S\,D\,\frac{n_t}{t}

    An all-gather before the experts and a reduce-scatter after them take as long as one all-reduce of them.

    Parameters
    ----------
    message_bytes : S [B], one copy of the tokens of a micro-batch
    destinations : D [1], of each token: its experts
    expert_tensor_parallel : n_t [1]
    tensor_parallel : t [1], ranks that share the tokens

    Returns
    -------
    gathered_bytes [B]

    Examples
    --------
    >>> gathered_token_bytes(1000, 2, 4, 4)
    2000.0
    """
    return message_bytes * destinations * expert_tensor_parallel / tensor_parallel


@formula(cites="deepseek2024v3")
def overlapped_fraction(accumulation_steps: Real, unpaired_micro_batches: Real) -> Real:
    r"""Share of the micro-batches of which a forward pass runs together with another one's backward pass.

    .. math:: u = \max\left(0,\; 1 - \frac{m_0}{m}\right)

    While a pipeline fills and drains passes have no partner: in interleaved 1F1B as many micro-batches as
    stages, one more chunk than without overlap (``unpaired_in_dualpipe`` for DualPipe).

    Parameters
    ----------
    accumulation_steps : m [1], micro-batches of a step
    unpaired_micro_batches : m_0 [1], the mean over stages

    Returns
    -------
    overlapped_fraction [1]

    Examples
    --------
    >>> overlapped_fraction(32, 8)
    0.75
    """
    return ops.maximum(0.0, 1 - unpaired_micro_batches / accumulation_steps)


@formula(cites="deepseek2024v3")
def unpaired_in_dualpipe(pipeline_parallel: Real) -> Real:
    r"""Micro-batches whose passes have no partner in DualPipe, the mean over stages.

    .. math:: m_0 = \frac{5 p}{4} - \frac{1}{2}

    Of m micro-batches stage r of the first half runs m - 3p/2 + r + 1 forward passes together with a
    backward pass.

    Parameters
    ----------
    pipeline_parallel : p [1], even

    Returns
    -------
    unpaired_micro_batches [1]

    Examples
    --------
    >>> unpaired_in_dualpipe(16)
    19.5
    """
    return 5 * pipeline_parallel / 4 - 0.5


@formula(cites="deepseek2024v3")
def exposed_exchange_time(
    communication_time: Real, compute_time: Real, overlapped_fraction: Real, hiding_cost: Real
) -> Real:
    r"""Time that tokens on their way cost a micro-batch next to which another one is computed.

    .. math:: t_x = t_c - u\,(1 - c)\,\min(t_c, t_w)

    Where every pass has a partner and hiding costs nothing that is max(0, t_c - t_w).

    Parameters
    ----------
    communication_time : t_c [s], of forward and backward pass
    compute_time : t_w [s], of both passes
    overlapped_fraction : u [1], of the micro-batches
    hiding_cost : c [1], computation lost for each second of hidden communication

    Returns
    -------
    exposed_communication_time [s]

    Examples
    --------
    3 s next to 2 s of computation leave 1 s; where half of the passes have a partner, 2 s.

    >>> exposed_exchange_time(3.0, 2.0, 1.0, 0.0), exposed_exchange_time(3.0, 2.0, 0.5, 0.0)
    (1.0, 2.0)

    A tenth of the hidden time is lost to computation.

    >>> round(exposed_exchange_time(3.0, 2.0, 1.0, 0.1), 6)
    1.2
    """
    hidden = overlapped_fraction * ops.minimum(communication_time, compute_time)
    return communication_time - (1 - hiding_cost) * hidden
