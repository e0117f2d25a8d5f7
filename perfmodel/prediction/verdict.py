"""One line that says what binds and what a better network would bring."""

from __future__ import annotations

from typing import NamedTuple

from perfmodel.calibration import Calibration
from perfmodel.resolve import Setting
from perfmodel.specs.link import Link
from perfmodel.step.fabric import adapter_limits, crosses_nodes, inside_limits, inside_link
from perfmodel.step.terms import TERMS
from perfmodel.units import show


class Network(NamedTuple):
    """Communication of one iteration [s], as it is and as it could be."""

    communication_time: float
    """On its own, nothing hidden."""
    exposed_communication_time: float
    exposed_with_more_bandwidth: float
    """With twice the bandwidth of the link, as far as other limits let it; where another limit binds, with
    twice what that lets pass."""
    exposed_with_half_the_latency: float
    binding: str
    """What binds the rate, as ``perfmodel.step.fabric`` names it: ``link`` or another limit."""


TIE = 1 + 1e-9
"""A limit within this of a link's rate is the sum of the links."""


def crossed_link(setting: Setting) -> Link:
    """Return the link whose bandwidth matters to the exchange of gradients."""
    return setting.inter_link if crosses_nodes(setting) else inside_link(setting)


def bottleneck(setting: Setting, constants: Calibration) -> tuple[str, float]:
    """Return what binds the rate of the exchange, and how many times faster it is asked what would come of.

    Twice, but no further than the next limit where the link itself binds.
    """
    if crosses_nodes(setting):
        limits = adapter_limits(setting, constants)
    elif setting.scenario.profile is not None and measures_link(setting.scenario.profile):
        return "link", 2.0
    else:
        limits = inside_limits(setting, constants)
    own = limits.pop("link")
    binding = min(limits, key=limits.__getitem__, default="link")
    if binding != "link" and limits[binding] * TIE < own:
        return binding, 2.0
    return "link", min([2.0, *(rate / own for rate in limits.values() if rate > own * TIE)])


def measures_link(profile: str) -> bool:
    """Whether a profile says what the link inside a node carries, so that no limit of the model binds."""
    from perfmodel.profile import read_profile

    return read_profile(profile).link is not None


def limit_words(setting: Setting, limit: str) -> str:
    """Return what a limit of ``perfmodel.step.fabric`` other than the link is called."""
    if limit == "machine" and setting.node.network_bandwidth is not None:
        return f"the network limit of {setting.node.id} ({show(setting.node.network_bandwidth.value, 'B/s')})"
    return {
        "kernel": "the kernel's TCP",
        "connections": f"the provider's limit on {_counted(setting.connections, 'connection')}",
        "server": "what one server adds up",
        "sockets": "the way between sockets",
    }[limit]


def _counted(count: int, what: str) -> str:
    return f"one {what}" if count == 1 else f"{count} {what}s"


def verdict(setting: Setting, terms: dict[str, float], iteration_time: float, network: Network) -> str:
    """Return what takes most of the iteration, and what a faster network would save.

    Twice the bandwidth of the link that is crossed; where something else limits the rate, that is named, as a
    faster link would then save nothing.
    """
    shares: dict[str, float] = {}
    for name, time in terms.items():
        bound = TERMS[name].bound
        shares[bound] = shares.get(bound, 0.0) + time
    most = max(shares, key=shares.__getitem__)
    told = f"{most}: {shares[most] / iteration_time:.0%} of the iteration"
    if setting.world_size == 1 and not setting.servers:
        return told
    hidden = network.communication_time - network.exposed_communication_time
    share = network.exposed_communication_time / iteration_time
    bandwidth = (network.exposed_communication_time - network.exposed_with_more_bandwidth) / iteration_time
    latency = (network.exposed_communication_time - network.exposed_with_half_the_latency) / iteration_time
    covered = (
        f", {hidden / network.communication_time:.0%} of it hidden" if network.communication_time else ""
    )
    link = crossed_link(setting).id
    saves = f"twice the bandwidth of {link} would save {bandwidth:.1%}, half its latency {latency:.1%}"
    if network.binding != "link":
        saves = (
            f"{limit_words(setting, network.binding)} binds, so a faster {link} would save nothing; "
            f"twice that limit would save {bandwidth:.1%}, half the latency {latency:.1%}"
        )
    return f"{told}; communication adds {share:.1%}{covered}; {saves}"


def placement(setting: Setting) -> str:
    """Return how the job lies on its nodes."""
    n, nodes = setting.world_size, setting.nodes
    if nodes == 1:
        return f"1 node, {n} of {setting.node.accelerators} accelerators"
    full, rest = divmod(n, setting.accelerators_per_node)
    if rest:
        return f"{full} x {setting.accelerators_per_node} + {rest} accelerators on {nodes} nodes"
    return f"{nodes} nodes of {setting.accelerators_per_node} accelerators"
