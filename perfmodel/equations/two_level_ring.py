"""Time of one ring that runs through the accelerators of a node and on to the next node.

Validity
--------
Ranks placed node by node, as many on each node; links of one level alike.
"""

from perfmodel.core import ops
from perfmodel.core.formula import formula
from perfmodel.core.ops import Real


@formula(cites=("patarasuk2009", "nccl-tuning"))
def two_level_ring_all_reduce_time(
    accelerators_per_node: Real,
    nodes: Real,
    message_bytes: Real,
    intra_hop_latency: Real,
    intra_link_bandwidth: Real,
    inter_hop_latency: Real,
    inter_link_bandwidth: Real,
) -> Real:
    r"""Time of an all-reduce by a flat ring over all accelerators, placed node by node.

    .. math:: T = 2(n - N)\,\alpha_i + 2(N-1)\,\alpha_e + \frac{2(n-1)}{n}\frac{S}{\min(B_i, B_e)},
              \quad n = gN

    The ring enters and leaves every node once, so all rings together move what one node's adapters move,
    and the slower of the two levels sets the pace.  A piece of the buffer passes 2(n-1) hops on its way.
    Counting 2(N-1) of them between nodes is NCCL's own approximation: where nodes hold three ranks or more,
    the piece that takes longest passes 2N, so the latency is short by 2 (alpha_e - alpha_i).

    Parameters
    ----------
    accelerators_per_node : g [1]
    nodes : N [1]
    message_bytes : S [B]
    intra_hop_latency : alpha_i [s], inside a node
    intra_link_bandwidth : B_i [B/s], of all rings together inside a node
    inter_hop_latency : alpha_e [s], between nodes
    inter_link_bandwidth : B_e [B/s], of all adapters of one node together; not used within one node

    Returns
    -------
    communication_time [s]

    Examples
    --------
    Two nodes of two: each rank sends 2 * 3/4 of 1 GB at the adapters' 1 GB/s, 1.5 s; of six hops,
    two cross nodes at 10 ms and four stay inside at 1 ms: 24 ms.

    >>> round(two_level_ring_all_reduce_time(2, 2, 1e9, 1e-3, 10e9, 10e-3, 1e9), 9)
    1.524
    """
    world_size = accelerators_per_node * nodes
    slower = ops.minimum(intra_link_bandwidth, inter_link_bandwidth)
    bandwidth = ops.where(nodes > 1, slower, intra_link_bandwidth)
    hops = 2 * (world_size - nodes) * intra_hop_latency + 2 * (nodes - 1) * inter_hop_latency
    return hops + message_bytes * (2 * (world_size - 1) / (world_size * bandwidth))
