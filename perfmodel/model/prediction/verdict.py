"""One line that says what binds and what a better network would bring."""

from __future__ import annotations

import numpy as np

from perfmodel.core.units import plural, show
from perfmodel.model.fitted.calibration import Calibration
from perfmodel.model.prediction.limits import LIFTED_BY, bottleneck, crossed_link, stated_limit
from perfmodel.model.prediction.numbers import Evaluated
from perfmodel.model.prediction.remedies import exchanges, remedies, saved
from perfmodel.model.setting.resolve import Setting
from perfmodel.model.step.evaluate import Step
from perfmodel.model.step.fabric import Fabric, busiest_ports, crosses_network
from perfmodel.model.step.parts import communicates
from perfmodel.model.step.terms import TERMS, by_bound, only_of


def verdict(setting: Setting, step: Step, constants: Calibration) -> str:
    """Return what takes most of the iteration, and what would save of it.

    Twice the bandwidth of the link that is crossed; where something else limits the rate, that is named, as a
    faster link would then save nothing.  Where communication takes most and that link explains little of it,
    what does.

    Parameters
    ----------
    setting : whose iteration it is
    step : the iteration
    constants : as for ``step``
    """
    most, head = largest_bound(step)
    if not communicates(setting):
        return head
    ports = busiest_ports(setting, constants)
    binding, faster = bottleneck(ports, constants)
    better = _better(setting, ports, faster, step.fabric)
    bandwidth, latency = saved(setting, step, exchanges(setting, step, better, 2, constants), constants)
    limit = stated_limit(ports, binding, constants) if binding != "link" else ""
    said = [head, _hidden(step), _savings(ports, limit, bandwidth, latency)]
    said += [LIFTED_BY[binding]] if binding in LIFTED_BY else []
    if most == "communication-bound":
        known = max(bandwidth, latency)
        result = remedies(setting, ports, step, known, constants)
        said += [f"{each.words} would save {part(each.saves)}" for each in result]
    return "; ".join(said)


def largest_bound(result: Step | Evaluated) -> tuple[str, str]:
    """Return what bounds most of an iteration, and the same with its share."""
    shares = by_bound(result.terms)
    most = max(shares, key=shares.__getitem__)
    return most, f"{most}: {shares[most] / result.iteration_time:.0%} of the iteration"


def _better(setting: Setting, ports: Setting, faster: float, on: Fabric) -> Fabric:
    """Return the fabric with more bandwidth, then with half the latency, of the link that matters."""
    bandwidth, latency, same = np.array([[faster], [1.0]]), np.array([[1.0], [0.5]]), np.ones((2, 1))
    if not crosses_network(setting):
        return on._replace(
            intra_link_bandwidth=on.intra_link_bandwidth * bandwidth,
            intra_hop_latency=on.intra_hop_latency * latency,
        )
    alike = setting.server_node.id == setting.node.id and on.server_bandwidth == on.inter_link_bandwidth
    between = on.inter_link_bandwidth * (bandwidth if ports is setting else same)
    return on._replace(
        inter_link_bandwidth=between,
        inter_hop_latency=on.inter_hop_latency * latency,
        server_bandwidth=between
        if alike
        else on.server_bandwidth * (same if ports is setting else bandwidth),
        # a round trip crosses the link twice; what the host adds to it stays
        round_trip_time=on.round_trip_time - setting.inter_link.hop_latency.value * (2 - 2 * latency),
    )


def _hidden(step: Step) -> str:
    share, slowdown = (
        time / step.iteration_time for time in (step.exposed_communication_time, step.contention_time)
    )
    if not step.communication_time:
        return f"communication adds {share:.1%}"
    hidden = max(0.0, 1 - step.exposed_communication_time / step.communication_time)
    slows = f" and slows computation by {slowdown:.1%}" if part(slowdown) != "0.0%" else ""
    return f"{hidden:.0%} of communication is hidden{slows}, the rest adds {share:.1%}"


def _savings(ports: Setting, limit: str, bandwidth: float, latency: float) -> str:
    link = crossed_link(ports).id
    if not limit:
        return f"twice the bandwidth of {link} would save {part(bandwidth)}, half its latency {part(latency)}"
    return (
        f"{limit} binds, so a faster {link} would save nothing; "
        f"a limit twice as high would save {part(bandwidth)}, half the latency {part(latency)}"
    )


def slower_than_one(setting: Setting, step: Step, baseline_time: float) -> str:
    """Say why several accelerators of one process do less than one of them alone, with the numbers.

    Parameters
    ----------
    setting, step : of the job
    baseline_time : of one accelerator [s]: of the same batch, or where the job's is fixed of all of it
    """
    n, terms = setting.world_size, step.terms
    alone = baseline_time * (n if setting.scaling == "weak" else 1)
    added = {name: time for name, time in terms.items() if name in only_of("one process")}
    added["straggler_time"] = terms["straggler_time"]
    whole = sum(added.values())
    saved = max(0.0, alone - (step.iteration_time - whole))
    most = sorted(added, key=lambda name: -added[name])[:3]
    named = ", ".join(f"{TERMS[name].label} {show(added[name], 's')}" for name in most)
    return (
        f"{n} accelerators are slower than one ({alone / step.iteration_time:.2f} times as fast): to share "
        f"out the batch saves {show(saved, 's')}, and one process for all adds {show(whole, 's')} ({named}); "
        f"--strategy all-reduce gives each a process of its own"
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
        words = f"{nodes} nodes of {held} {plural('accelerator', held)}"
    groups = setting.domains
    if groups == nodes:
        return words
    if setting.is_slice:
        return f"{words} in one slice"
    return f"{words} in {'one NVLink domain' if groups == 1 else f'{groups} NVLink domains'}"
