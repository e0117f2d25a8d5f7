"""Ring algorithms that need a certain placement: along racks that a job fills, or within one node."""

from __future__ import annotations

from perfmodel.core.choices import Placement
from perfmodel.core.errors import refusal

MULTI_RING, AMONG_PEERS = "multi-ring", "ring-chunked"


def filled_racks(rack_nodes: int | None, groups: int, machines: int) -> int:
    """Return how many racks a job fills equally; 0 if racks are unknown or hold different numbers of nodes.

    Parameters
    ----------
    rack_nodes : machines of a rack
    groups : number of machines, or of NVLink domains of several, that exchange over adapters
    machines : number of machines of the job

    >>> filled_racks(4, 8, 8), filled_racks(16, 8, 8), filled_racks(3, 8, 8), filled_racks(None, 8, 8)
    (2, 1, 0, 0)
    """
    if rack_nodes is None:
        return 0
    if machines <= rack_nodes:
        return 1
    each, rest = divmod(rack_nodes * groups, machines)
    return groups // each if not rest and each and groups % each == 0 else 0


def check_rings(
    algorithm: str, rack_nodes: int | None, placement: Placement, groups: int, machines: int
) -> None:
    """Refuse a ring algorithm that the placement of the ranks does not allow.

    Refused are multi-rings without racks, or if the job does not fill its racks equally or lies on them in
    another order; and chunked rings of ranks that are not in one node.

    Parameters
    ----------
    algorithm : of the all-reduce
    rack_nodes, placement : the options of a scenario
    groups, machines : as for ``filled_racks``

    Raises
    ------
    InputError : with the nearest possible values
    """
    if algorithm == AMONG_PEERS and groups > 1:
        raise refusal("racks.one_node", algorithm=algorithm, groups=groups)
    if algorithm != MULTI_RING:
        return
    if rack_nodes is None:
        raise refusal("racks.needed", algorithm=algorithm)
    if placement != "contiguous":
        raise refusal("racks.placement", algorithm=algorithm, placement=placement)
    if filled_racks(rack_nodes, groups, machines):
        return
    fitting = [n for n in range(1, machines) if filled_racks(n, groups, machines)]
    able = sorted(fitting, key=lambda n: (abs(n - rack_nodes), n))[:2]
    raise refusal(
        "racks.uneven",
        rack_nodes=rack_nodes,
        machines=machines,
        algorithm=algorithm,
        known=" or ".join(map(str, able)),
    )
