"""Cuts through a job's network, whose bandwidth bounds the time of every collective."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from perfmodel.core import ops
from perfmodel.equations.lower_bounds import (
    all_reduce_lower_bound,
    broadcast_lower_bound,
    in_network_all_reduce_lower_bound,
    share_lower_bound,
)
from perfmodel.hardware.link import Link
from perfmodel.hardware.machine_words import link_words, node_words
from perfmodel.model.collectives.all_reduce import IN_NETWORK
from perfmodel.model.collectives.generation import adds
from perfmodel.model.setting.resolve import Setting
from perfmodel.model.step.fabric import machine_limit

if TYPE_CHECKING:
    from perfmodel.model.collectives.place import Point


NODE, DOMAIN = "node", "NVLink domain"
"""Groups of ranks whose adapters form a cut."""


class Cut(NamedTuple):
    """Equal groups of ranks, and the bandwidth of each in one direction; counts may be arrays."""

    groups: Any
    members: Any
    bandwidth: Any
    adds: bool
    """Whether the switches between the groups can sum (in-network reduction)."""
    description: tuple[Any, ...]
    """A format string, and the values of its ``{}``."""
    group: str = ""
    """``NODE`` or ``DOMAIN`` if the bandwidth is that of its adapters; else empty."""

    @property
    def words(self) -> str:
        """Name of the links of the cut, as text."""
        words, *parts = self.description
        return str(words).format(*parts)


def node_cut(setting: Setting) -> Cut:
    """Return the cut through the adapters of every node, or NVLink domain."""
    limit, joined, groups = machine_limit(setting), setting.nodes_per_domain, setting.domains
    group = NODE if ops.holds(groups == setting.nodes) else DOMAIN
    per_domain, nics = setting.accelerators_per_domain, setting.nics * joined
    cut = _adapter_cut(groups, per_domain, setting.inter_link, nics, group)
    if limit is None or ops.holds(limit * joined >= cut.bandwidth):
        return cut
    words, *parts = cut.description
    limited = (f"{words} (limited as {{}} is)", *parts, node_words(setting.node))
    return cut._replace(bandwidth=limit * joined, description=limited)


def _adapter_cut(groups: Any, members: Any, link: Link, nics: Any, group: str) -> Cut:
    """Return the cut through the adapters of every group."""
    # InfiniBand switches may reduce (SHARP)
    words = ("each {}'s {} x {}", group, nics, link_words(link))
    return Cut(groups, members, nics * link.bandwidth.value, link.kind == "infiniband", words, group)


def _own_links(group_size: Any, link: Link, node: Cut | None) -> Cut:
    """Return the cut around each rank: its own link and its node's adapters."""
    if node is None:
        return Cut(group_size, 1, link.bandwidth.value, adds(link), ("each rank's {}", link_words(link)))
    words = ("each rank's {} with its {}'s adapters", link_words(link), node.group)
    return Cut(group_size, 1, link.bandwidth.value + node.bandwidth, adds(link) or node.adds, words)


def cuts(setting: Setting) -> list[Cut]:
    """Return every cut between the ranks: their own links, their nodes' adapters, their racks' uplinks.

    Parameters
    ----------
    setting : whose counts may be arrays of placements with the same cuts: all in one node or all in several,
        all in one rack or all in several
    """
    if ops.holds(setting.world_size <= 1):
        return []
    if ops.holds(setting.domains <= 1):
        return [_own_links(setting.world_size, setting.intra_link, None)]
    node, scenario = node_cut(setting), setting.scenario
    result = [_own_links(setting.world_size, setting.intra_link, node), node]
    rack = scenario.rack_nodes
    if rack is None or scenario.oversubscription == 1:
        return result
    # a domain may join nodes of several racks
    if ops.holds(setting.nodes == setting.domains) and ops.holds(setting.nodes > rack):
        result.append(_uplinks(setting.nodes, node, rack, scenario.oversubscription))
    return result


def _uplinks(nodes: Any, node: Cut, rack: int, oversubscription: float) -> Cut:
    """Return the cut around each rack of ``rack`` nodes."""
    words = ("each rack's uplink (1/{:g} of its {} nodes' adapters)", oversubscription, rack)
    up = rack * node.bandwidth / oversubscription
    return Cut(-(-nodes // rack), rack * node.members, up, node.adds, words)


def cuts_of(point: Point) -> list[Cut]:
    """Return every cut between the ranks of a collective."""
    if point.group_size == 1:
        return []
    if point.nodes == 1 or point.inter_link is None:
        return [_own_links(point.group_size, point.link, None)]
    per_node = point.group_size / point.nodes
    group = NODE if point.nodes == point.hosts else DOMAIN
    node = _adapter_cut(point.nodes, per_node, point.inter_link, point.nics, group)
    result = [_own_links(point.group_size, point.link, node), node]
    racks = point.racks
    if racks is not None and racks.nodes < point.nodes == point.hosts:
        result.append(_uplinks(point.nodes, node, racks.nodes, racks.oversubscription))
    return result


def least_time(collective: str, group_size: Any, message_bytes: float, cut: Cut) -> Any:
    """Return the least time of a collective through a cut [s], latency left out."""
    if collective == "all-reduce":
        bound = in_network_all_reduce_lower_bound if cut.adds else all_reduce_lower_bound
        return bound(cut.groups, message_bytes, 0.0, cut.bandwidth)
    if collective in ("broadcast", "send-receive"):  # one message of that size passes the cut
        return broadcast_lower_bound(cut.groups, message_bytes, 0.0, cut.bandwidth)
    if collective == "all-to-all":  # every member of a group has its own buffer for the others
        others = share_lower_bound(group_size / cut.members, message_bytes, 0.0, cut.bandwidth)
        return cut.members * others
    return share_lower_bound(cut.groups, message_bytes, 0.0, cut.bandwidth)


def _cuts_with_reduction(setting: Setting) -> list[Cut]:
    """Return every cut, with reducing switches if the scenario's algorithm needs them."""
    if setting.scenario.algorithm != IN_NETWORK:
        return cuts(setting)
    return [cut._replace(adds=True) for cut in cuts(setting)]


def exchange_limits(setting: Setting) -> list[tuple[Any, Cut]]:
    """Return the least time to sum one byte of every rank's gradients through each cut [s/B], with the cut.

    Empty without an exchange, and for strategies within a node, which may copy over the host.
    """
    if setting.strategy == "parameter-server":
        if ops.holds(setting.world_size <= 1):
            return []
        # every node sends its sum to the servers, each of which receives its share from every node
        cut = node_cut(setting)
        most = ops.maximum(1.0, setting.nodes / setting.servers)
        return [(most / cut.bandwidth, cut)]
    if setting.strategy == "all-reduce":
        return [
            (least_time("all-reduce", setting.world_size, 1.0, cut), cut)
            for cut in _cuts_with_reduction(setting)
        ]
    return []
