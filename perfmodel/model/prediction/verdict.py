"""The verdict: one line on the bottleneck and the saving by a better network."""

from __future__ import annotations

import numpy as np

from perfmodel.core.units import counted, per_cent, plural, show
from perfmodel.hardware.machine_words import link_words
from perfmodel.model.fitted.calibration import Calibration
from perfmodel.model.prediction.host_words import host_text
from perfmodel.model.prediction.limits import UNKNOWN_TERM, bottleneck, crossed_link, lifted_by, stated_limit
from perfmodel.model.prediction.numbers import Evaluated
from perfmodel.model.prediction.remedies import exchanges, remedies, saved
from perfmodel.model.setting.resolve import Setting
from perfmodel.model.step.evaluate import Step
from perfmodel.model.step.fabric import Fabric, busiest_ports, crosses_network
from perfmodel.model.step.parts import communicates
from perfmodel.model.step.terms import HOST, TERMS, by_bound, only_of


def verdict(setting: Setting, step: Step, constants: Calibration) -> str:
    """Return, as text, what takes most of the iteration, and what would shorten it.

    The remedy is twice the bandwidth of the link in use; if something else limits the rate, that is named, as
    a faster link would then save nothing.  If communication takes most and that link explains little of it,
    the actual cause is named.

    Parameters
    ----------
    setting : of the job
    step : evaluation of the iteration
    constants : as for ``step``
    """
    most, head = largest_bound(step)
    if most == HOST and (said := host_text(setting, step, constants)):
        head = f"{head}; {said}"
    if not communicates(setting):
        return head
    if setting.measured_loss:
        share = per_cent(setting.measured_loss / step.iteration_time)
        loss = f"{share} is the loss measured on your own runs{_held_words(setting)}"
        return f"{head}; {_hidden_text(step)}; {loss}; {UNKNOWN_TERM}"
    ports = busiest_ports(setting, constants)
    binding, faster = bottleneck(ports, constants)
    better = _better(setting, ports, faster, step.fabric)
    bandwidth, latency = saved(setting, step, exchanges(setting, step, better, 2, constants), constants)
    limit = stated_limit(ports, binding, constants) if binding != "link" else ""
    remedy = lifted_by(ports, binding)
    alone = "more bandwidth alone" if binding in ("kernel", "connections") else ""
    sentences = [head, _hidden_text(step), _savings_text(ports, limit, alone, bandwidth, latency)]
    sentences += [remedy] if remedy else []
    if most == "communication-bound":
        known = max(bandwidth, latency)
        result = remedies(setting, ports, step, known, constants)
        sentences += [f"{each.words} would save {per_cent(each.saves)}" for each in result]
    return "; ".join(sentences)


def largest_bound(result: Step | Evaluated) -> tuple[str, str]:
    """Return the verdict of the largest share of an iteration, and its text with the share."""
    shares = by_bound(result.terms)
    most = max(shares, key=shares.__getitem__)
    return most, f"{most}: {per_cent(shares[most] / result.iteration_time, 0)} of the iteration"


def _better(setting: Setting, ports: Setting, faster: float, fabric: Fabric) -> Fabric:
    """Return the fabric with a faster main link, and with half its latency, as arrays of two variants."""
    bandwidth, latency, same = np.array([[faster], [1.0]]), np.array([[1.0], [0.5]]), np.ones((2, 1))
    if not crosses_network(setting):
        return fabric._replace(
            intra_link_bandwidth=fabric.intra_link_bandwidth * bandwidth,
            intra_hop_latency=fabric.intra_hop_latency * latency,
        )
    alike = (
        setting.server_node.id == setting.node.id and fabric.server_bandwidth == fabric.inter_link_bandwidth
    )
    between = fabric.inter_link_bandwidth * (bandwidth if ports is setting else same)
    return fabric._replace(
        inter_link_bandwidth=between,
        inter_hop_latency=fabric.inter_hop_latency * latency,
        server_bandwidth=between
        if alike
        else fabric.server_bandwidth * (same if ports is setting else bandwidth),
        # a round trip crosses the link twice; the host's part stays
        round_trip_time=fabric.round_trip_time - setting.inter_link.hop_latency.value * (2 - 2 * latency),
    )


def _held_words(setting: Setting) -> str:
    """Return that the loss of own runs is taken as constant beyond them; "" for a job within them."""
    sizes = setting.repeat.sizes if setting.repeat else ()
    largest = max(sizes, default=setting.world_size)
    return f", taken as constant beyond {counted(largest, 'GPU')}" if largest < setting.world_size else ""


def _hidden_text(step: Step) -> str:
    """Return, as text, the hidden share of communication and what the rest adds."""
    share, slowdown = (
        time / step.iteration_time for time in (step.exposed_communication_time, step.contention_time)
    )
    if not step.communication_time:
        return f"communication adds {per_cent(share)}"
    hidden = max(0.0, 1 - step.exposed_communication_time / step.communication_time)
    slows = f" and slows computation by {per_cent(slowdown)}" if per_cent(slowdown) != "0.0 %" else ""
    return f"{per_cent(hidden, 0)} of communication is hidden{slows}, the rest adds {per_cent(share)}"


def _savings_text(ports: Setting, limit: str, alone: str, bandwidth: float, latency: float) -> str:
    """Return, as text, the savings by more bandwidth or less latency of the main link or limit.

    Parameters
    ----------
    ports : the setting whose link is crossed
    limit : what binds in place of the link; empty where the link does
    alone : what saves nothing where a remedy lifts the limit; empty where there is none
    bandwidth, latency : shares saved
    """
    link, more, sooner = link_words(crossed_link(ports)), saving_words(bandwidth), saving_words(latency)
    if not limit:
        return f"twice the bandwidth of {link} would save {more}, half its latency {sooner}"
    faster = alone or f"a faster {'network' if crosses_network(ports) else link}"
    return (
        f"{limit} binds, so {faster} would save nothing; "
        f"a limit twice as high would save {more}, half the latency {sooner}"
    )


def saving_words(share: float) -> str:
    """Return a share that is saved as text.

    >>> saving_words(0.021), saving_words(0.0004)
    ('2.1 %', 'nothing')
    """
    words = per_cent(share)
    return "nothing" if words == per_cent(0.0) else words


def slower_than_one(setting: Setting, step: Step, baseline_time: float) -> str:
    """Return a note why several accelerators with one process are slower than one, with the numbers.

    Parameters
    ----------
    setting, step : of the job
    baseline_time : of one accelerator with the same batch, or in strong scaling with the whole batch [s]
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
        f"{n} accelerators are slower than one ({alone / step.iteration_time:.2f} times as fast): to divide "
        f"the batch saves {show(saved, 's')}, and one process for all adds {show(whole, 's')} ({named}); "
        f"--strategy all-reduce gives each a process of its own"
    )


def placement(setting: Setting) -> str:
    """Return the placement of the job on its nodes, as text."""
    n, nodes = setting.world_size, setting.nodes
    if nodes == 1:
        held = setting.node.accelerators
        if n == held:
            return f"1 node of {counted(held, 'accelerator')}"
        return f"1 node for up to {held} accelerators"
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
