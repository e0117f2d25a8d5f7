"""Limits on the bandwidth of the exchange of gradients, and their names."""

from __future__ import annotations

from perfmodel.core.units import show
from perfmodel.hardware.link import Link
from perfmodel.hardware.machine_words import link_words, node_words
from perfmodel.hardware.node import Node
from perfmodel.model.fitted.calibration import Calibration
from perfmodel.model.setting.link_caveats import connections_served
from perfmodel.model.setting.resolve import Setting, usual_connections
from perfmodel.model.step.fabric import (
    adapter_ceiling,
    adapter_limits,
    busiest_ports,
    crosses_network,
    inside_limits,
)
from perfmodel.model.step.inside import inside_link
from perfmodel.model.step.parts import communicates
from perfmodel.workloads.workload import Workload

KERNEL = "the kernel's TCP"
AS_IN = ", as in "
"""What a text of ``kernel_words`` has before the runs that its rate was learned from."""
TIE = 1 + 1e-9
"""Tolerance within which a limit equals the link's rate."""
TCP_YEARS = "2017 to 2021"
"""Years of the measured training runs over the kernel's TCP."""
LIFTED_BY = {
    "kernel": "RDMA on the same ports or more --connections would lift it",
    "connections": "more --connections would lift it",
    "machine": "--no-network-cap predicts without it",
}
"""Limits that an option removes -> advice."""


UNKNOWN_TERM = "its cause is not known (communication or waiting), nor what a faster network would save of it"
"""What a loss that own runs measured leaves open."""


def replicas_alone(workload: Workload) -> str | None:
    """Return a note that a transformer is predicted without model parallelism; None for other networks."""
    if workload.architecture is None:
        return None
    return (
        "every accelerator holds a copy of the whole network: perfmodel layouts, and predict with a layout, "
        "e.g. --sharding zero1, know sharded states, tensor, pipeline and other parallelism"
    )


def crossed_link(setting: Setting) -> Link:
    """Return the link that gradients are exchanged over."""
    return setting.inter_link if crosses_network(setting) else inside_link(setting)


def bottleneck(setting: Setting, constants: Calibration) -> tuple[str, float]:
    """Return the binding limit of the exchange, and the factor by which to raise it in a what-if evaluation.

    The factor is 2, but for the link itself at most the ratio to the next limit.
    """
    if crosses_network(setting):
        limits = adapter_limits(setting, constants)
    else:
        limits = limits_inside(setting, constants)
    binding = narrowest(limits)
    if binding != "link":
        return binding, 2.0
    own = limits["link"]
    return binding, min([2.0, *(rate / own for rate in limits.values() if rate > own * TIE)])


def limits_inside(setting: Setting, constants: Calibration) -> dict[str, float]:
    """Return the bandwidth limits of rings inside a node [B/s]; only the link if a profile measured it."""
    limits = inside_limits(setting, constants)
    if setting.profile is not None and setting.profile.link is not None:
        return {"link": limits["link"]}
    return limits


def narrowest(limits: dict[str, float]) -> str:
    """Return the name of the least limit; ``link`` if others equal it.

    >>> narrowest({"link": 2.0, "kernel": 2.0}), narrowest({"link": 2.0, "kernel": 1.0})
    ('link', 'kernel')
    """
    least = min(limits, key=limits.__getitem__)
    return least if limits[least] * TIE < limits["link"] else "link"


def limit_words(setting: Setting, limit: str) -> str:
    """Return the text of a limit of ``perfmodel.model.step.fabric`` other than the link."""
    if limit == "machine" and setting.node.network_bandwidth is not None:
        return cap_words(setting.node)
    if limit == "sockets" and setting.socket_link is not None:
        return f"{link_words(setting.socket_link)} between the sockets"
    return {
        "kernel": KERNEL,
        "connections": connections_words(setting.connections),
        "path": "the accelerators' own way to their adapters",
        "server": "what one server adds up",
        "uplinks": "what the uplinks of racks carry to servers and back",
        "sockets": "the way between sockets",
        "staged": "host memory, through which the accelerators reach their adapters",
        "host": "host memory, through which the accelerators reach each other",
    }[limit]


def stated_limit(setting: Setting, limit: str, constants: Calibration) -> str:
    """Return the text of a limit, with rate and origin if it is learned."""
    if limit != "kernel":
        return limit_words(setting, limit)
    ceiling = adapter_ceiling(setting, constants)
    return kernel_words(ceiling, setting.connections, f"runs of {TCP_YEARS}")


def kernel_words(rate: float, connections: int, runs: str) -> str:
    """Return the text of the kernel's TCP as a limit, with its rate over one adapter [B/s] and origin.

    >>> kernel_words(2e9, 1, "runs of 2020")
    "the kernel's TCP (2 GB/s an adapter over one connection, as in runs of 2020)"
    """
    over = _counted(connections, "connection")
    return f"{KERNEL} ({show(rate, 'B/s')} an adapter over {over}{AS_IN}{runs})"


def learned_from(limit: str) -> str:
    """Return which runs the rate in a text of ``kernel_words`` was learned from; empty for other limits.

    >>> learned_from(kernel_words(2e9, 1, "runs of 2020")), learned_from("the way between sockets")
    ('runs of 2020', '')
    """
    return limit.partition(AS_IN)[2].partition(")")[0] if limit.startswith(KERNEL) else ""


def connections_words(connections: int) -> str:
    """Return the text of a provider's limit on connections."""
    return f"the provider's limit on {_counted(connections, 'connection')}"


def cap_words(node: Node) -> str:
    """Return the text of a machine's network limit, which must exist."""
    assert node.network_bandwidth is not None
    return f"the network limit of {node_words(node)} ({show(node.network_bandwidth.value, 'B/s')})"


def network_limit(setting: Setting, constants: Calibration) -> str | None:
    """Return the binding limit of the exchange of gradients other than its link, with its remedy, as text.

    None if the link itself binds, or without an exchange.
    """
    if not communicates(setting):
        return None
    ports = busiest_ports(setting, constants)
    limit, _ = bottleneck(ports, constants)
    if limit == "link":
        return None
    return with_remedy(stated_limit(ports, limit, constants), lifted_by(ports, limit))


def lifted_by(setting: Setting, limit: str) -> str:
    """Return what would remove a limit; more connections only where the machine's cores serve more."""
    usual = usual_connections(setting.strategy)
    more = connections_served(setting.connections + 1, usual, setting.node, setting.nics, [])
    if limit not in ("kernel", "connections") or more > setting.connections:
        return LIFTED_BY.get(limit, "")
    most = f"--connections are counted up to {setting.connections}"
    return f"RDMA on the same ports would lift it; {most}" if limit == "kernel" else most


def with_remedy(words: str, remedy: str) -> str:
    """Return the text of a limit with its remedy, if it has one."""
    return f"{words}: {remedy}" if remedy else words


def without_remedy(words: str) -> str:
    """Return the text of a limit without the remedy of ``with_remedy``.

    >>> without_remedy(with_remedy("the kernel's TCP", LIFTED_BY["kernel"]))
    "the kernel's TCP"
    """
    return words.partition(": ")[0]


def _counted(count: int, what: str) -> str:
    """Return a count with its noun, ``one`` for 1."""
    return f"one {what}" if count == 1 else f"{count} {what}s"
