"""What gradients travel on: the bandwidths and latencies that the links of a setting come to."""

from __future__ import annotations

from typing import Any, NamedTuple

from perfmodel.core import ops
from perfmodel.core.tracing.tracing import given
from perfmodel.equations.link_rates import (
    achieved_bandwidth,
    node_bandwidth,
    staged_bandwidth,
)
from perfmodel.hardware.link import Link
from perfmodel.model.collectives.generation import generation_index
from perfmodel.model.collectives.model import PATH_SHARE, Start, fitted, start_of
from perfmodel.model.collectives.place import BUILT_IN, has_low_latency
from perfmodel.model.fitted.calibration import Calibration
from perfmodel.model.setting.link_caveats import network_cap
from perfmodel.model.setting.resolve import Setting, usual_connections
from perfmodel.model.setting.rings import filled_racks
from perfmodel.model.step.ports import (
    KERNEL_TCP,
    fraction,
    narrowest,
    port_limits,
    ring_bandwidth,
    tcp_ceiling,
)
from perfmodel.model.step.server_shards import imbalance
from perfmodel.model.step.uplinks import exchange_slowdown, rack_factor, racks_of


class Fabric(NamedTuple):
    """Bandwidths [B/s] and latencies [s]: numbers, or arrays of shape (variants, 1)."""

    intra_hop_latency: Any
    intra_link_bandwidth: Any
    """Of one rank inside its node."""
    inter_hop_latency: Any
    inter_link_bandwidth: Any
    """Of all adapters of one node together."""
    server_bandwidth: Any = 0.0
    """Of a parameter server's port; it matters where there are any."""
    launch_time: Any = 0.0
    """Of a collective of NCCL or RCCL, before its first hop; what follows is of such a collective too."""
    library_hop_latency: Any = 0.0
    """Of a hop inside a node by a low-latency protocol."""
    round_trip_time: Any = 0.0
    """Between two nodes and back, by such a protocol; 0 on one node."""
    crowd_latency: Any = 0.0
    """For each of several nodes."""
    low_latency: Any = True
    """Whether what lies between the nodes carries such a protocol."""
    ramp_factor: Any = 1.0
    """How much stronger the transport makes the ramp of large messages [1]."""
    exchange_slowdown: Any = 1.0
    """How many times less adapters carry of an all-to-all than of an all-reduce, by uplinks of racks [1]."""
    own_port: Any = 1.0
    """How many times its share of ``inter_link_bandwidth`` one rank reaches that sends alone [1]."""
    racks: Any = 0
    """That the nodes fill alike; 0 where none are known, or some hold fewer."""
    rack_factor: Any = 1.0
    """How many times less than ``inter_link_bandwidth`` adapters carry inside a rack; at most 1."""
    uplink_factor: Any = 1.0
    """How many times less they carry to other racks while all nodes send there."""

    @property
    def links(self) -> tuple[Any, Any, Any, Any]:
        """Latency and bandwidth inside a node, then between nodes, as formulas of all-reduce take them."""
        return self[:4]


def fabric(setting: Setting, calibration: Calibration) -> Fabric:
    """Return the bandwidths and latencies of a setting, as bulk transfers see them."""
    # variables in host memory are reached over the host's link, whatever joins the accelerators
    inside = setting.host_link if setting.strategy == "parameter-server-local" else setting.intra_link
    limits, servers = adapter_limits(setting, calibration), at_servers(setting)
    between = narrowest(limits)
    return Fabric(
        _latency(inside),
        narrowest(inside_limits(setting, calibration)),
        _latency(setting.inter_link),
        between,
        between if servers is setting else narrowest(adapter_limits(servers, calibration)),
        *_of_library(setting, inside, calibration),
        exchange_slowdown=exchange_slowdown(setting),
        own_port=_own_port(setting, calibration, limits, between),
        **_along_racks(setting, between, calibration),
    )


def _of_library(setting: Setting, inside: Link, calibration: Calibration) -> Start:
    """What an all-reduce of NCCL or RCCL starts with, in the order of ``Fabric``."""
    chip, outer, several = setting.accelerator, setting.inter_link, bool(setting.domains > 1)
    of_link = outer.hop_latency.value, outer.kind in BUILT_IN, has_low_latency(outer, inside, chip)
    known = several, inside.switched, generation_index(inside, chip), *of_link
    return start_of(*known, calibration.latencies, fitted().parameters)


def at_servers(setting: Setting) -> Setting:
    """Return the setting with the adapters of a parameter server for those of a node.

    What crosses uplinks of racks is counted for the nodes, not once more for the servers.
    """
    if setting.strategy == "parameter-server" and racks_of(setting) is not None:
        asked = setting.scenario.model_copy(update={"oversubscription": 1.0})
        setting = setting._replace(scenario=asked)
    server = setting.server_node
    if server.id == setting.node.id:
        return setting
    return setting._replace(node=server, inter_link=setting.server_link, nics=server.nics or 1)


def busiest_ports(setting: Setting, calibration: Calibration) -> Setting:
    """Return the setting, with the adapters of its servers where those are busy longer than its nodes'."""
    at = at_servers(setting)
    if at is setting:
        return setting
    workers, servers = port_times(setting, fabric(setting, calibration))
    return at if servers > workers else setting


def port_times(setting: Setting, on: Fabric) -> tuple[float, float]:
    """Return how long a push of 1 GB keeps a worker's port busy, and the fullest server's [s]."""
    aggregated = setting.local_aggregation
    workers = setting.nodes if aggregated else setting.world_size
    port = on.inter_link_bandwidth / (1 if aggregated else setting.accelerators_per_node)
    of_servers = setting.servers * on.server_bandwidth
    return 1e9 / port, 1e9 * workers * imbalance(setting) / of_servers


def adapter_limits(
    setting: Setting, calibration: Calibration, slowdown: float | None = None
) -> dict[str, float]:
    """Return what may bind all adapters of one node together [B/s], by what limits it, own runs included."""
    return _moved(_adapter_limits(setting, calibration, slowdown), setting.inter_link, calibration)


def inside_limits(setting: Setting, calibration: Calibration) -> dict[str, float]:
    """Return what may bind all rings inside a node together [B/s], by what limits it, own runs included."""
    link = inside_link(setting)
    return _moved(_inside_limits(setting, link, calibration), link, calibration)


def _moved(limits: dict[str, float], link: Link, calibration: Calibration) -> dict[str, float]:
    own = calibration.own
    if own is None or (name := f"link/{link.id}") not in own.logarithms:
        return limits
    factor = ops.exp(own.effect(name))
    moved: dict[str, Any] = {limit: rate * factor for limit, rate in limits.items()}
    return moved


def _adapter_limits(
    setting: Setting, calibration: Calibration, slowdown: float | None = None
) -> dict[str, float]:
    """Return what may bind all adapters of one node, or NVLink domain, together [B/s], by what limits it.

    ``link``: their ports; ``kernel``: its TCP; ``connections``: what a provider lets each carry; ``machine``:
    what the provider lets whole machines send; ``path``: what accelerators reach their adapters over, by a
    library; ``server``: what one parameter server adds up; ``uplinks``: what the uplinks of racks carry to
    such servers and back.  Uplinks slow what ports and machines send, not what a host is too slow for: by
    ``slowdown`` times, where given, else as a ring along the racks meets them.
    """
    link, served = setting.inter_link, setting.strategy == "parameter-server"
    joined = setting.nodes_per_domain
    nics = setting.nics * joined
    slower = rack_factor(setting) if slowdown is None else slowdown
    usual = usual_connections(setting.strategy)
    limits: dict[str, Any] = {**port_limits(link, calibration, setting.connections, usual, slower)}
    share = calibration.server_fraction if served and link.passes_kernel else 1.0
    is_plain = share == slower == 1.0
    if nics > 1 or not is_plain:
        uplinks = {"link": slower}
        limits = {
            name: node_bandwidth(rate, nics, share, uplinks.get(name, 1.0)) for name, rate in limits.items()
        }
    if (whole := machine_limit(setting)) is not None:
        reached: Any = achieved_bandwidth(whole, _share_of_cap(setting, calibration, whole, slower))
        is_plain = is_plain and joined == 1
        limits["machine"] = reached if is_plain else node_bandwidth(reached, joined, share, slower)
    if setting.strategy == "all-reduce" and setting.accelerator.collective_library is not None:
        path: Any = achieved_bandwidth(
            setting.host_link.bandwidth.value, given(PATH_SHARE, "collectives.path_share", "assumed")
        )
        limits["path"] = node_bandwidth(path, setting.accelerators_per_domain, 1.0, 1.0)
    if served:
        limits["server"] = calibration.server_ceiling
        if (racks := racks_of(setting)) is not None:
            sent = narrowest({name: limits[name] for name in ("link", "machine") if name in limits})
            # pushes and pulls go both ways at once: of blocks, or of workers out of step
            both = setting.framework.pipelined_servers or (
                setting.updates is not None and not setting.updates.in_step(setting.world_size)
            )
            crossed = racks.server_slowdown(setting.nodes, setting.servers, both)
            limits["uplinks"] = node_bandwidth(sent, 1, 1.0, crossed)
    return limits


def _own_port(setting: Setting, calibration: Calibration, shared: dict[str, float], between: Any) -> Any:
    """Return what one rank sends alone, over its share of what all of its node send together [1].

    It has an adapter of its own at least and all that the machine may send, and no uplink of a rack slows it.

    Parameters
    ----------
    setting, calibration : of the job
    shared, between : ``adapter_limits`` of all of its node, and the least of them
    """
    ranks, machines = setting.accelerators_per_domain, setting.nodes_per_domain
    of_port, of_machine = ops.maximum(1.0, ranks / (setting.nics * machines)), ranks / machines
    more = {"link": of_port, "kernel": of_port, "connections": of_port, "machine": of_machine, "path": 1.0}
    limits = shared if racks_of(setting) is None else adapter_limits(setting, calibration, 1.0)
    alone: dict[str, Any] = {
        name: node_bandwidth(limits[name], factor, 1.0, 1.0)
        for name, factor in more.items()
        if name in limits
    }
    return narrowest(alone) / between


def machine_limit(setting: Setting) -> float | None:
    """Return what all adapters of a machine may send together [B/s]; None where nothing limits it."""
    return network_cap(setting.node, setting.inter_link, setting.nics, setting.scenario.network_cap)


def _share_of_cap(setting: Setting, calibration: Calibration, whole: float, slower: float) -> float:
    """Share of a machine's limit that bulk transfers reach: over a link not its own no less than TCP's.

    So a faster link is never slower under the same limit.
    """
    link = setting.inter_link
    below: Any = ops.maximum(1.0, setting.nics * link.bandwidth.value / whole)
    ceiling = tcp_ceiling(calibration, setting.connections, usual_connections(setting.strategy))
    share = fraction(link, calibration, ceiling, slower * below)
    if link.id == setting.node.inter_link or link.passes_kernel:
        return share
    least: Any = ops.maximum(share, calibration.link_fraction[KERNEL_TCP])
    return least  # type: ignore[no-any-return]


def crosses_network(setting: Setting) -> bool:
    """Whether gradients leave their machine, or NVLink domain, over adapters."""
    return setting.strategy == "parameter-server" or bool(setting.domains > 1)


def adds_on_accelerators(setting: Setting) -> bool:
    """Whether the accelerators of a node add up gradients among themselves, by a collective."""
    if setting.strategy == "parameter-server":
        return setting.local_aggregation
    return setting.strategy == "all-reduce"


def _latency(link: Link) -> float:
    return (link.bulk_hop_latency or link.hop_latency).value


def _along_racks(setting: Setting, between: Any, calibration: Calibration) -> dict[str, Any]:
    """The fields of a fabric that rings along racks need."""
    asked = setting.scenario
    if asked.rack_nodes is None or setting.strategy != "all-reduce" or asked.placement != "contiguous":
        return {}
    racks = filled_racks(asked.rack_nodes, ops.plain(setting.domains), ops.plain(setting.nodes))
    if not racks:
        return {}
    if asked.oversubscription == 1:
        return {"racks": racks}

    def carried(slowdown: float) -> Any:
        return narrowest(adapter_limits(setting, calibration, slowdown))

    return {
        "racks": racks,
        "rack_factor": between / carried(1.0),
        "uplink_factor": between / carried(asked.oversubscription),
    }


def inside_link(setting: Setting) -> Link:
    """Return the link that gradients cross inside a node: the host's, where the named one cannot join all."""
    link = setting.intra_link
    if setting.strategy == "parameter-server-local":
        return setting.host_link
    if link.joins is not None and setting.accelerators_per_domain > link.joins:
        return setting.host_link  # a bridge joins two cards; a ring of more passes the host's link
    if _is_mesh(setting, link) and not _mesh_bandwidth(setting, link):
        return setting.host_link  # the mesh closes no ring of so many
    return link


def _inside_limits(setting: Setting, link: Link, calibration: Calibration) -> dict[str, float]:
    """Return what may bind all rings inside a node together [B/s], by what it is a limit of.

    ``link``: measured, found in the graph of a mesh, or the link's rate; ``sockets``: the way between the
    processors.
    """
    if _is_mesh(setting, link):
        return {"link": _mesh_bandwidth(setting, link)}
    limits: dict[str, Any] = {"link": ring_bandwidth(link, setting.accelerators_per_domain, calibration)}
    if link.kind != "pcie":
        return limits
    if crosses_sockets(setting):
        limits["sockets"] = socket_bandwidth(setting, calibration)
    if setting.accelerator.peer_access or not adds_on_accelerators(setting):
        return limits  # the others sum in host memory, or copy one way at a time
    # by way of host memory, where peers are shut off
    share = calibration.staged_fraction
    staged: dict[str, Any] = {name: staged_bandwidth(rate, share) for name, rate in limits.items()}
    return staged


def crosses_sockets(setting: Setting) -> bool:
    """Whether accelerators of both processors of a node exchange gradients, over what joins those."""
    node, inside = setting.node, inside_link(setting)
    known = setting.socket_link is not None or node.cross_socket_bandwidth is not None
    return known and inside.kind == "pcie" and bool(2 * setting.accelerators_per_domain > node.accelerators)


def socket_bandwidth(setting: Setting, calibration: Calibration) -> float:
    """Return what joins the processors of a node [B/s]: as the machine says, else as its link reaches."""
    own, link = setting.node.cross_socket_bandwidth, setting.socket_link
    if own is not None:
        return own.value
    assert link is not None  # one of them is known where sockets are crossed
    rate: Any = achieved_bandwidth(link.bandwidth.value, fraction(link, calibration))
    return rate  # type: ignore[no-any-return]


def _is_mesh(setting: Setting, link: Link) -> bool:
    """Whether the rate of a link inside a node hangs on which accelerators it joins."""
    return bool(
        setting.node.peer_graph
        and setting.accelerators_per_node > 1
        and link.kind != "pcie"
        and link.ring_bandwidth is None
        and link.id == setting.node.intra_link
    )


def _mesh_bandwidth(setting: Setting, link: Link) -> float:
    """Bandwidth of all rings that the graph of a mesh closes [B/s]; 0 where it closes none."""
    from perfmodel.equations.ring_search import ring_bandwidth as of_rings

    graph = setting.node.peer_graph
    links_of_first = sum(count for a, b, count in graph if 0 in (a, b))
    each: Any = link.bandwidth.value / links_of_first
    return of_rings(graph, setting.accelerators_per_node, each)
