"""One line that says what binds and what a better network would bring."""

from __future__ import annotations

from typing import NamedTuple

from perfmodel.calibration import Calibration
from perfmodel.prediction.limits import crossed_link, limit_words
from perfmodel.prediction.remedies import remedies, saved
from perfmodel.resolve import Setting
from perfmodel.step.evaluate import Step
from perfmodel.step.terms import TERMS


class Network(NamedTuple):
    """Communication of one iteration [s]."""

    communication_time: float
    """On its own, nothing hidden."""
    exposed_communication_time: float
    binding: str
    """What binds the rate, as ``perfmodel.step.fabric`` names it: ``link`` or another limit."""


def verdict(setting: Setting, ports: Setting, step: Step, network: Network, constants: Calibration) -> str:
    """Return what takes most of the iteration, and what would save of it.

    Twice the bandwidth of the link that is crossed; where something else limits the rate, that is named, as a
    faster link would then save nothing.  Where communication takes most and that link explains little of it,
    what does.

    Parameters
    ----------
    setting : whose iteration it is
    ports : the same with the adapters of its servers, where those are busier than its nodes'
    step : the iteration; the variants of its fabric are as it is, of more bandwidth, of half the latency
    network : its communication
    constants : as for ``step``
    """
    shares: dict[str, float] = {}
    for name, time in step.terms.items():
        bound = TERMS[name].bound
        shares[bound] = shares.get(bound, 0.0) + time
    most = max(shares, key=shares.__getitem__)
    whole = step.iteration_time
    head = f"{most}: {shares[most] / whole:.0%} of the iteration"
    if setting.world_size == 1 and not setting.servers:
        return head
    bandwidth, latency = saved(setting, step, step.exposed_communication_time[1:], constants)
    said = [head, _hidden(network, whole), _savings(ports, network, bandwidth, latency)]
    if most == "communication-bound":
        known = max(bandwidth, latency)
        result = remedies(setting, ports, step, known, constants)
        said += [f"{each.words} would save {part(each.saves)}" for each in result]
    return "; ".join(said)


def _hidden(network: Network, iteration_time: float) -> str:
    share = network.exposed_communication_time / iteration_time
    if not network.communication_time:
        return f"communication adds {share:.1%}"
    hidden = max(0.0, 1 - network.exposed_communication_time / network.communication_time)
    return f"{hidden:.0%} of communication is hidden, the rest adds {share:.1%}"


def _savings(ports: Setting, network: Network, bandwidth: float, latency: float) -> str:
    link = crossed_link(ports).id
    if network.binding == "link":
        return f"twice the bandwidth of {link} would save {part(bandwidth)}, half its latency {part(latency)}"
    return (
        f"{limit_words(ports, network.binding)} binds, so a faster {link} would save nothing; "
        f"twice the rate would save {part(bandwidth)}, half the latency {part(latency)}"
    )


def part(share: float) -> str:
    """Return a part of the iteration as text, none of it negative where it rounds to nothing.

    >>> part(0.1234), part(-0.0001)
    ('12.3%', '0.0%')
    """
    return f"{round(share, 3) + 0.0:.1%}"


def placement(setting: Setting) -> str:
    """Return how the job lies on its nodes."""
    n, nodes = setting.world_size, setting.nodes
    if nodes == 1:
        return f"1 node, {n} of {setting.node.accelerators} accelerators"
    full, rest = divmod(n, setting.accelerators_per_node)
    held = setting.accelerators_per_node
    if rest:
        words = f"{full} x {held} + {rest} accelerators on {nodes} nodes"
    else:
        words = f"{nodes} nodes of {held} accelerator{'s' if held > 1 else ''}"
    groups = setting.domains
    if groups == nodes:
        return words
    return f"{words} in {'one NVLink domain' if groups == 1 else f'{groups} NVLink domains'}"
