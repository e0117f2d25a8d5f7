"""Time of PowerAI DDL's multi-ring over racks: rings in nodes, between nodes of a rack, between racks.

Validity
--------
Ranks in the order of racks of equal size; equal links within each level.
"""

from perfmodel.core.formula import formula
from perfmodel.core.ops import Real
from perfmodel.equations.ring_all_reduce import per_dimension_all_reduce_time


@formula(cites="cho2017")
def multi_ring_all_reduce_time(
    accelerators_per_node: Real,
    ranks_per_rack: Real,
    racks: Real,
    message_bytes: Real,
    intra_hop_latency: Real,
    intra_link_bandwidth: Real,
    inter_hop_latency: Real,
    rack_bandwidth: Real,
    uplinks_bandwidth: Real,
) -> Real:
    r"""Time of an all-reduce by rings along three dimensions: GPUs of a node, nodes of a rack, racks.

    .. math:: T = 2(g-1)\left(\alpha_i + \frac{S}{g B_i}\right)
              + 2(r-1)\left(\alpha_e + \frac{S}{r B_r}\right)
              + 2(R-1)\left(\alpha_e + \frac{S}{r R B_u}\right)

    Each dimension sums the part that the previous one left to each rank, so that the uplinks of racks, which
    come last, carry the least: 1/r of the buffer of a node.  The g rings of a node share its NICs.

    Parameters
    ----------
    accelerators_per_node : g [1], at least 1
    ranks_per_rack : r [1], nodes of one rack
    racks : R [1]
    message_bytes : S [B]
    intra_hop_latency : alpha_i [s], inside a node
    intra_link_bandwidth : B_i [B/s], of one rank inside its node
    inter_hop_latency : alpha_e [s], between nodes, of one rack or of two
    rack_bandwidth : B_r [B/s], of all NICs of one node to other nodes of its rack
    uplinks_bandwidth : B_u [B/s], of all NICs of one node to other racks while all nodes of the rack send
        there

    Returns
    -------
    communication_time [s]

    Examples
    --------
    Two racks of two nodes of two, 800 MB: 0.8 GB at 10 GB/s inside (0.08 s); both rings of a node pass half
    of that half each way, 0.8 GB at 1 GB/s (0.8 s); between the racks half as much at 0.25 GB/s (1.6 s).

    >>> round(multi_ring_all_reduce_time(2, 2, 2, 800e6, 0, 10e9, 0, 1e9, 0.25e9), 12)
    2.48
    """
    return per_dimension_all_reduce_time(
        (accelerators_per_node, ranks_per_rack, racks),
        message_bytes,
        (intra_hop_latency, inter_hop_latency, inter_hop_latency),
        (
            intra_link_bandwidth,
            rack_bandwidth / accelerators_per_node,
            uplinks_bandwidth / accelerators_per_node,
        ),
    )
