"""The derivation of communication: what a message takes, when it is ready, what is left after overlap."""

from __future__ import annotations

import inspect
import math
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from perfmodel.equations.collectives import ring_all_reduce_time
from perfmodel.equations.fusion import cycle_wait_time
from perfmodel.equations.nccl_all_reduce import nccl_all_reduce_time, size_class
from perfmodel.equations.overlap import contended_time, exposed_communication_time
from perfmodel.explain import assembly
from perfmodel.explain.node import Node, given, worked
from perfmodel.explain.recorder import Call, recorded
from perfmodel.formula import FORMULAS
from perfmodel.prediction import terms
from perfmodel.prediction.communication import (
    HOST_UPLINKS,
    by_library,
    communication,
    library_ways,
    message_times,
)
from perfmodel.prediction.computation import Computation
from perfmodel.prediction.fabric import Fabric, at_servers, crosses_nodes
from perfmodel.prediction.messages import MERGED, layer_bytes, messages
from perfmodel.prediction.server_shards import imbalance
from perfmodel.prediction.terms import fabric_of
from perfmodel.prediction.verdict import bottleneck, limit_words
from perfmodel.sensitivity.case import Case
from perfmodel.sensitivity.inputs import inputs_of
from perfmodel.vocabulary import QUANTITIES

LEVELS = Fabric._fields[:5]
"""Latency and bandwidth inside a node and between nodes, and of servers."""
OF_LIBRARY = {
    "base_latency": "of NCCL, before the first hop",
    "intra_hops": "of the algorithm that NCCL takes",
    "intra_hop_latency": "by its algorithm and protocol",
    "inter_hops": "of the algorithm that NCCL takes",
    "inter_hop_latency": "by its algorithm and protocol",
    "algorithm_bandwidth": "of the slower level",
}
"""What the time of a message by NCCL is worked out from, besides its size."""
STEP = 1e-4
KINK = 1e-3
INNER = ("library_base_latency", "channel_bandwidth")
OF_THE_FABRIC = (
    "node_network_bandwidth",
    "cross_socket_bandwidth",
    "tcp_ceiling",
    "staged_fraction",
    "server_fraction",
    "server_ceiling",
    "oversubscription",
)
"""Inputs that bandwidths hang on, besides those of the links."""


class Exchange(NamedTuple):
    """Communication of one iteration."""

    communication_time: Node
    exposed_communication_time: Node
    is_exact: bool
    """Whether every step is worked out here; not where a search or a queue stands in between."""


def exchange(case: Case, work: Computation, backward_times: Node) -> Exchange:
    """Return what ``perfmodel.prediction.terms.exchange`` works out, quantity by quantity.

    Parameters
    ----------
    case : whose gradients travel
    work : one accelerator's times, an anchor's factor included
    backward_times : the backward pass of each layer, worked out
    """
    on = fabric_of(case.setting, case.constants)
    setting = terms.best_way(case.setting, work, on, case.constants)
    case = case._replace(setting=setting)
    if setting.overlap == "priority":
        alone_time, exposed_time = (float(t) for t in communication(setting, work, on, on))
        note = "a queue of partitions, see the formula priority.priority_iteration_time"
        alone = given("communication_time", alone_time, note)
        exposed = given("exposed_communication_time", exposed_time, note)
        return _contended(case, on, work, alone, exposed, False)

    def times_of(sizes: Any) -> Any:
        return message_times(setting, sizes, on)

    sent = messages(setting, work, times_of, terms.merging_cost(setting, case.constants))
    count = len(sent.message_bytes)
    labels = tuple(f"message {k + 1} of {count}" for k in range(count))
    size = given(
        "message_bytes", sent.message_bytes, _merged(setting.overlap), labels, parameters=1, element_bytes=1
    )
    times, exact = _message_times(case, on, size, times_of)
    ready, found = _ready(sent.ready_times, backward_times, labels)
    backward_time = worked("backward_time", assembly.sum_of, values=backward_times)
    queue = {"ready_times": ready, "communication_times": times, "backward_time": backward_time}
    exposed = worked("exposed_communication_time", exposed_communication_time, **queue)
    alone = worked("communication_time", assembly.sum_of, values=times)
    if setting.overlap == "fused":
        wait = worked("cycle_wait", cycle_wait_time, **queue)
        alone = worked(
            "communication_time", assembly.sent_or_waiting, communication_time=alone, cycle_wait=wait
        )
    return _contended(case, on, work, alone, exposed, exact and found)


def _merged(overlap: str) -> str:
    return {
        "none": "all gradients at once, after the backward pass",
        "bucketed": "gradients, in the buckets of formula overlap.ddp_buckets",
        "fused": "gradients, fused by formula fusion.fused_messages",
        MERGED: "gradients, merged by formula merging.optimal_buckets",
    }.get(overlap, "gradients, one tensor each")


def _contended(
    case: Case, on: Fabric, work: Computation, alone: Node, exposed: Node, exact: bool
) -> Exchange:
    """What hiding messages costs the computation beside them, as far as accelerators add up gradients."""
    with recorded() as calls:
        terms.exchange(case.setting, work, on, on, case.constants)
    cost = next((c.arguments["hiding_cost"] for c in calls if c.name == "overlap.contended_time"), 0.0)
    cost = float(np.ravel(cost)[0])
    if not cost:
        return Exchange(alone, exposed, exact)
    hiding = given("hiding_cost", case.constants.contention, "fitted", contention=1)
    if not math.isclose(cost, case.constants.contention, rel_tol=1e-9):
        hiding = worked(
            "hiding_cost",
            assembly.shared_cost,
            hiding_cost=hiding,
            first_part=_inside(case, on),
            communication_time=alone,
        )
    if not math.isclose(cost, hiding.value, rel_tol=1e-9):
        hiding, exact = given("hiding_cost", cost, "fitted"), False
    contended = worked(
        "exposed_communication_time",
        contended_time,
        communication_time=alone,
        exposed_communication_time=exposed,
        hiding_cost=hiding,
    )
    return Exchange(alone, contended, exact)


def _inside(case: Case, on: Fabric) -> Node:
    """All gradients once round the rings inside the nodes."""
    size = float(layer_bytes(case.setting).sum())
    by_name = {node.name: node for node in _known(case, on, given("message_bytes", size))}
    return worked(
        "communication_time",
        ring_all_reduce_time,
        group_size=given("group_size", float(case.setting.accelerators_per_node)),
        message_bytes=given("message_bytes", size, "all gradients", parameters=1, element_bytes=1),
        hop_latency=by_name["intra_hop_latency"],
        link_bandwidth=by_name["intra_link_bandwidth"],
    )


def _ready(ready_times: Any, backward_times: Node, labels: tuple[str, ...]) -> tuple[Node, bool]:
    """When messages are ready: with the backward pass of which layer."""
    passed = np.cumsum(np.asarray(backward_times.value)[::-1])[::-1]
    layers = np.abs(passed[:, None] - np.asarray(ready_times)[None, :]).argmin(axis=0)
    if not np.allclose(passed[layers], ready_times, rtol=1e-9, atol=0):
        return given("ready_times", ready_times, "released by a clock", labels), False
    index = given("layer_indices", layers.astype(np.float64), "layers in forward order, from 0", labels)
    return worked(
        "ready_times", assembly.when_ready, labels, backward_times=backward_times, layer_indices=index
    ), True


def _message_times(case: Case, on: Fabric, size: Node, times_of: Callable[[Any], Any]) -> tuple[Node, bool]:
    """Time of each message by the formulas that really ran for them."""
    if by_library(case.setting):
        return _by_library(case, on, size), True
    with recorded() as calls:
        times = np.asarray(times_of(size.value), dtype=np.float64)
    tops = [call for call in calls if call.depth == 0 and np.shape(call.result) == times.shape]
    known = _known(case, on, size)
    whole = next((call for call in tops if _same(call.result, times)), None)
    if whole is not None:
        outside = case.setting.nodes > 1 or case.setting.strategy == "parameter-server"
        return _of_call(whole, known, size, "inter_" if outside else "intra_")
    if len(tops) == 2 and _same(tops[0].result + tops[1].result, times):
        inside, first = _of_call(tops[0], known, size, "intra_")
        between, second = _of_call(tops[1], known, size, "inter_")
        both = worked(
            "communication_times", assembly.both_levels, size.labels, first_part=inside, second_part=between
        )
        return both, first and second
    # several algorithms share the messages out among them
    names = sorted({call.name for call in tops if np.any(np.isclose(call.result, times, rtol=1e-12))})
    note = "for each message the cheapest of " + ", ".join(names)
    return given("communication_times", times, note, size.labels), False


def _by_library(case: Case, on: Fabric, size: Node) -> Node:
    """Time of each message by the algorithm and protocol of NCCL that it goes by."""
    setting = case.setting
    known = library_ways(setting, on)
    sizes = np.asarray(size.value, dtype=np.float64)
    best = known.times(sizes)[:, 0].argmin(axis=0)
    names = ["/".join(known.names[row]) for row in best.tolist()]
    labels = tuple(f"{label}, {name}" for label, name in zip(size.labels, names, strict=True))
    powers: dict[str, dict[str, Any]] = {name: {} for name in OF_LIBRARY}
    met: set[str] = set()
    for which, _ in inputs_of(case, inner=True):
        if "link" not in which.name and which.name not in (*OF_THE_FABRIC, *INNER):
            continue
        below, above = (which.scaled(case, factor) for factor in (1 - STEP, 1 + STEP))
        low, high = (
            library_ways(each.setting, fabric_of(each.setting, each.constants)) for each in (below, above)
        )
        for name in OF_LIBRARY:
            before, now, after = (getattr(ways, name)[best, 0, 0] for ways in (low, known, high))
            if np.array_equal(before, after):
                continue
            power, meets = _powers(before, now, after)
            if meets:
                power = np.zeros_like(power) if name in met else power
                met.add(name)
            if np.any(power):
                powers[name][which.name] = power
    outer = setting.nodes > 1 and on.inter_link_bandwidth < on.intra_link_bandwidth
    slower = "inter_link_bandwidth" if outer else "intra_link_bandwidth"
    notes = OF_LIBRARY | {"algorithm_bandwidth": f"of {slower}, by its way"}
    parts = {
        name: given(name, getattr(known, name)[best, 0, 0], note, labels, **powers[name])
        for name, note in notes.items()
    }
    column = size_class(sizes)
    parts["message_bytes"] = size
    parts["size_correction"] = given(
        "size_correction", known.correction[best, column], "by NCCL's table, of a tree", labels
    )
    order = inspect.signature(nccl_all_reduce_time).parameters
    return worked(
        "communication_times", nccl_all_reduce_time, labels, **{name: parts[name] for name in order}
    )


def _powers(before: Any, now: Any, after: Any) -> tuple[Any, bool]:
    """Power of each element in an input, from values a little below and above, whole where nearly so.

    Where two arms meet it is that towards a smaller input; and whether they do.
    """
    with np.errstate(divide="ignore", invalid="ignore"):
        below = np.log(now / before) / -math.log1p(-STEP)
        power = np.log(after / before) / (math.log1p(STEP) - math.log1p(-STEP))
    meets = np.abs(power - below) > KINK
    power = np.where(now > 0, np.where(meets, below, power), 0.0)
    whole = np.round(power)
    return np.where(np.abs(power - whole) < KINK, whole, power), bool(np.any(meets))


def _same(a: Any, b: Any) -> bool:
    return bool(np.allclose(a, b, rtol=1e-12, atol=0))


def _of_call(call: Call, known: list[Node], size: Node, place: str) -> tuple[Node, bool]:
    """A recorded call as a quantity worked out from known ones; exact where all of them were found.

    Of two known quantities with one value, the one of the parameter's name is meant, then the one of
    ``place``: ``intra_`` or ``inter_``.
    """
    entry = FORMULAS[call.name]
    inputs, exact = {}, entry.symbolic
    for name, value in call.arguments.items():
        if isinstance(value, float) and math.isinf(value):
            continue  # left out of the call, as by default
        if not isinstance(value, (int, float, np.ndarray, np.generic)):
            inputs[name] = given(name, value)
            continue
        if np.ndim(value):
            found = size if _same(value, size.value) else None
        else:
            alike = [n for n in known if _fits(n, name) and n.value == value]
            alike.sort(key=lambda n: (n.name != name, not n.name.startswith(place)))
            found = alike[0] if alike else None
        if found is None:
            exact = exact and QUANTITIES[name].unit == "1"
            found = given(name, value if np.ndim(value) else float(value))
        inputs[name] = Node(
            name, found.value, found.function, found.inputs, found.exponents, found.labels, found.note
        )
    return worked("communication_times", entry.function, size.labels, **inputs), exact


def _fits(node: Node, parameter: str) -> bool:
    return assembly.meaning(node.name).unit == QUANTITIES[parameter].unit


def _known(case: Case, on: Fabric, size: Node) -> list[Node]:
    """Every number a formula of communication may be called with, as what the inputs make of it."""
    setting = case.setting
    powers = fabric_powers(case)
    g = float(setting.accelerators_per_node)
    links = {
        name: given(name, float(getattr(on, name)), _where(case, name), **powers[name]) for name in LEVELS
    }
    inner, outer = links["intra_link_bandwidth"], links["inter_link_bandwidth"]
    share = given(
        "inter_link_bandwidth", outer.value / g, f"{outer.note}, shared by {g:g}", **dict(outer.exponents)
    )
    counts = [
        given("accelerators_per_node", g),
        given("nodes", float(setting.nodes)),
        given("world_size", float(setting.world_size)),
        given("servers", float(setting.servers or HOST_UPLINKS)),
        given("workers", float(HOST_UPLINKS)),
    ]
    if setting.servers:
        shards = float(imbalance(setting))
        counts.append(given("shard_imbalance", shards, f"{setting.server_shards} shards"))
    return [*links.values(), inner, outer, share, *counts, size]


def _where(case: Case, name: str) -> str:
    setting = case.setting
    if name in ("inter_link_bandwidth", "server_bandwidth"):
        side = setting if name.startswith("inter") or not setting.servers else at_servers(setting)
        adapters = f"{side.nics} x {side.inter_link.id}"
        binding, _ = bottleneck(side, case.constants) if crosses_nodes(setting) else ("link", 1)
        return adapters if binding == "link" else f"{adapters}, {limit_words(side, binding)} binding"
    if name.startswith("inter"):
        return setting.inter_link.id
    if setting.strategy == "parameter-server-local":
        return setting.host_link.id
    return setting.intra_link.id


def fabric_powers(case: Case) -> dict[str, dict[str, float]]:
    """Return each number of the fabric's powers in the inputs of the links.

    Nearly every one is a product of specs, or the least of several such products: a power is 0 or 1, told by
    a small change of the input and rounded.
    """
    powers: dict[str, dict[str, float]] = {name: {} for name in LEVELS}
    met: set[str] = set()
    for which, _ in inputs_of(case):
        if "link" not in which.name and which.name not in OF_THE_FABRIC:
            continue
        low, here, high = (
            fabric_of(each.setting, each.constants)
            for each in (which.scaled(case, 1 - STEP), case, which.scaled(case, 1 + STEP))
        )
        for name in LEVELS:
            before, now, after = (float(getattr(at, name)) for at in (low, here, high))
            if before > 0 and before != now:
                below = math.log(now / before) / -math.log1p(-STEP)
                power = math.log(after / before) / (math.log1p(STEP) - math.log1p(-STEP))
                if abs(power - below) > KINK:
                    power = 0.0 if name in met else below  # two arms meet: the first of them
                    met.add(name)
                whole = round(power)
                powers[name][which.name] = float(whole) if abs(power - whole) < KINK else power
    return powers
