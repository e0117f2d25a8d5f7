"""Bandwidths and latencies of the links that gradients are exchanged over."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from perfmodel.core import ops
from perfmodel.core.tracing.tracing import given
from perfmodel.equations.link_rates import (
    achieved_bandwidth,
    adapters_ceiling,
    node_bandwidth,
)
from perfmodel.hardware.link import Link
from perfmodel.model.collectives.generation import generation_index
from perfmodel.model.collectives.model import PATH_SHARE, Start, fitted, lone_share, start_of
from perfmodel.model.collectives.place import BUILT_IN, has_low_latency, reaches_adapter
from perfmodel.model.fitted.calibration import Calibration
from perfmodel.model.setting.link_caveats import network_cap
from perfmodel.model.setting.resolve import Setting, usual_connections
from perfmodel.model.setting.rings import filled_racks
from perfmodel.model.step.inside import inside_link, rates_inside, runs_library
from perfmodel.model.step.ports import (
    KERNEL_TCP,
    fraction,
    narrowest,
    port_limits,
    tcp_ceiling,
)
from perfmodel.model.step.server_shards import imbalance
from perfmodel.model.step.uplinks import exchange_slowdown, rack_factor, racks_of


class Fabric(NamedTuple):
    """Bandwidths [B/s] and latencies [s]: numbers, or arrays of shape (variants, 1)."""

    intra_hop_latency: Any
    intra_link_bandwidth: Any
    """Bandwidth of one rank inside its node."""
    inter_hop_latency: Any
    inter_link_bandwidth: Any
    """Bandwidth of all adapters of one node together."""
    server_bandwidth: Any = 0.0
    """Bandwidth of a parameter server's port; unused without servers."""
    launch_time: Any = 0.0
    """Time of a collective of NCCL or RCCL before its first hop; the next fields are of such a collective."""
    library_hop_latency: Any = 0.0
    """Latency of a hop inside a node by a low-latency protocol."""
    round_trip_time: Any = 0.0
    """Round trip between two nodes by such a protocol; 0 on one node."""
    crowd_latency: Any = 0.0
    """Additional latency for each of several nodes."""
    low_latency: Any = True
    """Whether the network between nodes carries low-latency protocols."""
    ramp_factor: Any = 1.0
    """Factor of the transport on the ramp of large messages [1]."""
    exchange_slowdown: Any = 1.0
    """Slowdown of an all-to-all by uplinks of racks, over that of an all-reduce [1]."""
    own_port: Any = 1.0
    """Bandwidth of a rank that sends alone, over its share of ``inter_link_bandwidth`` [1]."""
    racks: Any = 0
    """Racks that the nodes fill equally; 0 if unknown or unequal."""
    rack_factor: Any = 1.0
    """``inter_link_bandwidth`` over the adapters' bandwidth inside a rack; at most 1."""
    uplink_factor: Any = 1.0
    """``inter_link_bandwidth`` over the adapters' bandwidth to other racks while all nodes send there."""

    @property
    def links(self) -> tuple[Any, Any, Any, Any]:
        """Latency and bandwidth inside a node, then between nodes, as formulas of all-reduce take them."""
        return self[:4]


def fabric(setting: Setting, calibration: Calibration) -> Fabric:
    """Return the bandwidths and latencies of bulk transfers in a setting."""
    # variables in host memory are reached over the host's link, for any link between accelerators
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
    """Return the latencies of collectives of NCCL or RCCL, in the order of ``Fabric``."""
    chip, outer, several = setting.accelerator, setting.inter_link, bool(setting.domains > 1)
    of_link = outer.hop_latency.value, outer.kind in BUILT_IN, has_low_latency(outer, inside, chip)
    known = several, inside.switched and not is_alone(setting), generation_index(inside, chip), *of_link
    return start_of(*known, calibration.latencies, fitted().parameters)


def is_alone(setting: Setting) -> bool:
    """Return whether every node or NVLink domain has a single rank, so that no link inside one is used."""
    return bool(np.all(ops.plain(setting.accelerators_per_domain) == 1))


def at_servers(setting: Setting) -> Setting:
    """Return the setting with a parameter server's adapters in place of a node's.

    Uplinks of racks are counted for the nodes, not again for the servers.
    """
    if setting.strategy == "parameter-server" and racks_of(setting) is not None:
        setting = setting._replace(scenario=setting.scenario.model_copy(update={"oversubscription": 1.0}))
    server = setting.server_node
    if server.id == setting.node.id:
        return setting
    return setting._replace(node=server, inter_link=setting.server_link, nics=server.nics or 1)


def busiest_ports(setting: Setting, calibration: Calibration) -> Setting:
    """Return the setting, with its servers' adapters if they are busy longer than the nodes'."""
    at = at_servers(setting)
    if at is setting:
        return setting
    workers, servers = port_times(setting, fabric(setting, calibration))
    return at if servers > workers else setting


def port_times(setting: Setting, on: Fabric) -> tuple[float, float]:
    """Return the time that a push of 1 GB occupies a worker's port, and the fullest server's [s]."""
    aggregated = setting.local_aggregation
    workers = setting.nodes if aggregated else setting.world_size
    port = on.inter_link_bandwidth / (1 if aggregated else setting.accelerators_per_node)
    of_servers = setting.servers * on.server_bandwidth
    return 1e9 / port, 1e9 * workers * imbalance(setting) / of_servers


def adapter_limits(
    setting: Setting, calibration: Calibration, slowdown: float | None = None
) -> dict[str, float]:
    """Return the bandwidth limits of all adapters of one node [B/s], by name, with own runs' effects."""
    return _with_own_effect(_adapter_limits(setting, calibration, slowdown), setting.inter_link, calibration)


def inside_limits(setting: Setting, calibration: Calibration) -> dict[str, float]:
    """Return the bandwidth limits of all rings inside a node [B/s], by name, with own runs' effects."""
    link = inside_link(setting)
    return _with_own_effect(rates_inside(setting, link, calibration), link, calibration)


def _with_own_effect(limits: dict[str, float], link: Link, calibration: Calibration) -> dict[str, float]:
    """Return limits multiplied by the effect of own runs on a link, if there is one."""
    own = calibration.own
    if own is None or (name := f"link/{link.id}") not in own.logarithms:
        return limits
    factor = ops.exp(own.effect(name))
    result: dict[str, Any] = {limit: rate * factor for limit, rate in limits.items()}
    return result


def _adapter_limits(
    setting: Setting, calibration: Calibration, slowdown: float | None = None
) -> dict[str, float]:
    """Return the bandwidth limits of all adapters of a node or NVLink domain [B/s], by name.

    ``link``: the ports; ``kernel``: the kernel's TCP; ``connections``: the provider's limit on each
    connection; ``machine``: the provider's limit on machines; ``path``: from accelerators to their adapters,
    with a library; ``server``: summation by one parameter server; ``uplinks``: uplinks of racks to such
    servers and back. Uplinks slow ports and machines, not limits of the host: by ``slowdown`` if given, else
    by that of a ring along the racks.
    """
    link, served = setting.inter_link, setting.strategy == "parameter-server"
    joined = setting.nodes_per_domain
    nics = setting.nics * joined
    slower = rack_factor(setting) if slowdown is None else slowdown
    usual = usual_connections(setting.strategy)
    limits: dict[str, Any] = {**port_limits(link, calibration, setting.connections, usual, slower)}
    if link.passes_kernel:
        limits["kernel"] = adapter_ceiling(setting, calibration)
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
    if runs_library(setting):
        path: Any = achieved_bandwidth(
            setting.host_link.bandwidth.value, given(PATH_SHARE, "collectives.path_share", "assumed")
        )
        limits["path"] = node_bandwidth(path, setting.accelerators_per_domain, 1.0, 1.0)
        _limit_of_accelerators(setting, calibration, limits)
    if served:
        limits["server"] = calibration.server_ceiling
        if (racks := racks_of(setting)) is not None:
            sent = narrowest({name: limits[name] for name in ("link", "machine") if name in limits})
            # pushes and pulls overlap: of blocks, or of asynchronous workers
            both = setting.framework.pipelined_servers or (
                setting.updates is not None and not setting.updates.in_step(setting.world_size)
            )
            crossed = racks.server_slowdown(setting.nodes, setting.servers, both)
            limits["uplinks"] = node_bandwidth(sent, 1, 1.0, crossed)
    return limits


def _limit_of_accelerators(setting: Setting, calibration: Calibration, limits: dict[str, Any]) -> None:
    """Limit a library's adapters by where its ranks are: alone on their machines, or behind host memory.

    The kernel's TCP over the same adapters passes the host in any case, and is never slower for it.
    """
    link, p = setting.inter_link, fitted().parameters
    is_lone = bool(np.all(ops.plain(setting.accelerators_per_node) == 1))
    is_staged = not reaches_adapter(link, inside_link(setting), setting.accelerator)
    if link.passes_kernel or not (is_staged or is_lone):
        return
    nics, share = setting.nics * setting.nodes_per_domain, calibration.link_fraction[KERNEL_TCP]
    ceiling = node_bandwidth(adapter_ceiling(setting, calibration), nics, 1.0, 1.0)
    ports: dict[str, Any] = {"link": node_bandwidth(link.bandwidth.value, nics, 1.0, 1.0)}
    if (whole := machine_limit(setting)) is not None:
        ports["machine"] = whole
    by_tcp: dict[str, Any] = {
        name: ops.minimum(achieved_bandwidth(rate, share), ceiling) for name, rate in ports.items()
    }
    if is_lone:
        limits |= {
            name: ops.maximum(achieved_bandwidth(limits[name], lone_share(True, p)), rate)
            for name, rate in by_tcp.items()
        }
    if is_staged:
        limits["staged"] = ops.maximum(p["staged"], narrowest(by_tcp))


def adapter_ceiling(setting: Setting, calibration: Calibration) -> Any:
    """Return the largest rate of the kernel's TCP over one of a machine's adapters [B/s]."""
    usual = usual_connections(setting.strategy)
    ceiling = tcp_ceiling(calibration, setting.connections, usual)
    return adapters_ceiling(ceiling, setting.nics, fitted().parameters["tcp_adapters"])


def _own_port(setting: Setting, calibration: Calibration, shared: dict[str, float], between: Any) -> Any:
    """Return the bandwidth of a rank that sends alone, over its share of its node's bandwidth [1].

    It has at least one adapter and the whole limit of its machine, and uplinks do not slow it.

    Parameters
    ----------
    setting, calibration : of the job
    shared, between : ``adapter_limits`` of its whole node, and the least of them
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
    """Return the network limit of a machine over all its adapters [B/s]; None without a limit."""
    return network_cap(setting.node, setting.inter_link, setting.nics, setting.scenario.network_cap)


def _share_of_cap(setting: Setting, calibration: Calibration, whole: float, slower: float) -> float:
    """Return the share of a machine's limit that bulk transfers reach; at least TCP's over another link.

    A faster link is thus never slower under the same limit.
    """
    link = setting.inter_link
    below: Any = ops.maximum(1.0, setting.nics * link.bandwidth.value / whole)
    ceiling = tcp_ceiling(calibration, setting.connections, usual_connections(setting.strategy))
    share = fraction(link, calibration, ceiling, slower * below)
    if link.id == setting.node.inter_link or link.passes_kernel:
        return share
    by_tcp = ops.minimum(
        calibration.link_fraction[KERNEL_TCP], setting.nics * adapter_ceiling(setting, calibration) / whole
    )
    least: Any = ops.maximum(share, by_tcp)
    return least  # type: ignore[no-any-return]


def crosses_network(setting: Setting) -> bool:
    """Return whether gradients leave their machine, or NVLink domain, over adapters."""
    return setting.strategy == "parameter-server" or bool(setting.domains > 1)


def _latency(link: Link) -> float:
    """Return the latency of a link for bulk transfers [s]."""
    return (link.bulk_hop_latency or link.hop_latency).value


def _along_racks(setting: Setting, between: Any, calibration: Calibration) -> dict[str, Any]:
    """Return the fields of ``Fabric`` for rings along racks."""
    scenario = setting.scenario
    if scenario.rack_nodes is None or setting.strategy != "all-reduce" or scenario.placement != "contiguous":
        return {}
    racks = filled_racks(scenario.rack_nodes, ops.plain(setting.domains), ops.plain(setting.nodes))
    if not racks:
        return {}
    if scenario.oversubscription == 1:
        return {"racks": racks}

    def carried(slowdown: float) -> Any:
        return narrowest(adapter_limits(setting, calibration, slowdown))

    return {
        "racks": racks,
        "rack_factor": between / carried(1.0),
        "uplink_factor": between / carried(scenario.oversubscription),
    }
