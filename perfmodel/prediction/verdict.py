"""One line that says what binds and what a better network would bring."""

from __future__ import annotations

from typing import NamedTuple

from perfmodel.resolve import Setting


class Network(NamedTuple):
    """Communication of one iteration [s], as it is and as it could be."""

    communication_time: float
    """On its own, nothing hidden."""
    exposed_communication_time: float
    exposed_with_twice_the_bandwidth: float
    exposed_with_half_the_latency: float


_BOUND = {
    "computation": "compute-bound",
    "launch_overhead_time": "host-bound",
    "update_time": "update-bound",
    "exposed_communication_time": "communication-bound",
    "input_time": "input-bound",
    "straggler_time": "straggler-bound",
}


def verdict(setting: Setting, terms: dict[str, float], iteration_time: float, network: Network) -> str:
    """Return what takes most of the iteration, and what a network of twice the bandwidth would save."""
    shares = {"computation": terms["forward_time"] + terms["backward_time"]}
    shares |= {name: time for name, time in terms.items() if name in _BOUND}
    most = max(shares, key=shares.__getitem__)
    told = f"{_BOUND[most]}: {shares[most] / iteration_time:.0%} of the iteration"
    if setting.world_size == 1 and not setting.servers:
        return told
    # below zero where messages wait for a fusion cycle that outlasts the backward pass
    hidden = max(0.0, network.communication_time - network.exposed_communication_time)
    share = network.exposed_communication_time / iteration_time
    bandwidth = (
        network.exposed_communication_time - network.exposed_with_twice_the_bandwidth
    ) / iteration_time
    latency = (network.exposed_communication_time - network.exposed_with_half_the_latency) / iteration_time
    link = setting.inter_link if setting.nodes > 1 or setting.servers else setting.intra_link
    link = setting.host_link if setting.strategy == "parameter-server-local" else link
    covered = (
        f", {hidden / network.communication_time:.0%} of it hidden" if network.communication_time else ""
    )
    return (
        f"{told}; communication adds {share:.1%}{covered}; "
        f"twice the bandwidth of {link.id} would save {bandwidth:.1%}, half its latency {latency:.1%}"
    )


def placement(setting: Setting) -> str:
    """Return how the job lies on its nodes."""
    n, nodes = setting.world_size, setting.nodes
    if nodes == 1:
        return f"1 node, {n} of {setting.node.accelerators} accelerators"
    full, rest = divmod(n, setting.accelerators_per_node)
    if rest:
        return f"{full} x {setting.accelerators_per_node} + {rest} accelerators on {nodes} nodes"
    return f"{nodes} nodes of {setting.accelerators_per_node} accelerators"
