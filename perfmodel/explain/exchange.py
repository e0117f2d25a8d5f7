"""The derivation of communication: what a message takes, when it is ready, what is left after overlap."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from perfmodel.equations.overlap import contended_time, exposed_communication_time
from perfmodel.explain import assembly
from perfmodel.explain.node import Node, given, worked
from perfmodel.explain.recorder import Call, recorded
from perfmodel.formula import FORMULAS
from perfmodel.prediction.communication import HOST_UPLINKS, communication, message_times
from perfmodel.prediction.computation import Computation
from perfmodel.prediction.fabric import Fabric
from perfmodel.prediction.messages import messages
from perfmodel.prediction.terms import fabric_of
from perfmodel.sensitivity.case import Case
from perfmodel.sensitivity.inputs import inputs_of
from perfmodel.vocabulary import QUANTITIES

STEP = 1e-4


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
    setting = case.setting
    on = fabric_of(setting, case.constants)
    if setting.overlap == "priority":
        alone_time, exposed_time = (float(t) for t in communication(setting, work, on, on))
        note = "a queue of partitions, see the formula priority.priority_iteration_time"
        alone = given("communication_time", alone_time, note)
        exposed = given("exposed_communication_time", exposed_time, note)
        return _contended(case, alone, exposed, False)

    def times_of(sizes: Any) -> Any:
        return message_times(setting, sizes, on)

    sent = messages(setting, work, times_of)
    count = len(sent.message_bytes)
    labels = tuple(f"message {k + 1} of {count}" for k in range(count))
    size = given(
        "message_bytes", sent.message_bytes, _merged(setting.overlap), labels, parameters=1, element_bytes=1
    )
    times, exact = _message_times(case, on, size, times_of)
    ready, found = _ready(sent.ready_times, backward_times, labels)
    exposed = worked(
        "exposed_communication_time",
        exposed_communication_time,
        ready_times=ready,
        communication_times=times,
        backward_time=worked("backward_time", assembly.sum_of, values=backward_times),
    )
    alone = worked("communication_time", assembly.sum_of, values=times)
    return _contended(case, alone, exposed, exact and found)


def _merged(overlap: str) -> str:
    return {
        "none": "all gradients at once, after the backward pass",
        "bucketed": "gradients, in the buckets of formula overlap.ddp_buckets",
        "fused": "gradients, fused by formula fusion.fused_messages",
        "optimal": "gradients, merged by formula merging.optimal_buckets",
    }.get(overlap, "gradients, one tensor each")


def _contended(case: Case, alone: Node, exposed: Node, exact: bool) -> Exchange:
    if case.setting.strategy == "all-reduce":
        cost = given("hiding_cost", case.constants.contention, "fitted", contention=1)
        exposed = worked(
            "exposed_communication_time",
            contended_time,
            communication_time=alone,
            exposed_communication_time=exposed,
            hiding_cost=cost,
        )
    return Exchange(alone, exposed, exact)


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
        name: given(name, float(getattr(on, name)), _where(case, name), **powers[name])
        for name in Fabric._fields
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
    return [*links.values(), inner, outer, share, *counts, size]


def _where(case: Case, name: str) -> str:
    setting = case.setting
    if name.startswith("inter"):
        return f"{setting.nics} x {setting.inter_link.id}" if "bandwidth" in name else setting.inter_link.id
    if setting.strategy == "parameter-server-local":
        return setting.host_link.id
    return setting.intra_link.id


def fabric_powers(case: Case) -> dict[str, dict[str, float]]:
    """Return each number of the fabric's powers in the inputs of the links.

    Every one of them is a product of specs, or the least of several such products: a power is 0 or 1,
    told by a slightly smaller input and rounded.
    """
    powers: dict[str, dict[str, float]] = {name: {} for name in Fabric._fields}
    for which, _ in inputs_of(case):
        if set(which.dimension) - {"B", "s"} or not (
            "link" in which.name or "bandwidth" in which.name or "tcp" in which.name
        ):
            continue
        less = which.scaled(case, 1 - STEP)
        here, low = (fabric_of(each.setting, each.constants) for each in (case, less))
        for name in Fabric._fields:
            before, now = float(getattr(low, name)), float(getattr(here, name))
            if before > 0 and now != before:
                powers[name][which.name] = float(round(math.log(now / before) / -math.log1p(-STEP)))
    return powers
