"""The derivation of a whole prediction: every exposed term worked out from specs and fitted numbers."""

from __future__ import annotations

import math
from typing import Any, NamedTuple

from perfmodel.anchor import parse_anchor
from perfmodel.equations import jitter as jitter_equations
from perfmodel.equations.compute import launch_overhead
from perfmodel.equations.distribution import Distribution
from perfmodel.equations.input_pipeline import exposed_input_time, input_rate
from perfmodel.equations.layer_pass import paced_layer_times
from perfmodel.equations.single_process import replica_time
from perfmodel.explain import assembly
from perfmodel.explain.exchange import Exchange, exchange
from perfmodel.explain.node import Node, given, worked
from perfmodel.explain.one_accelerator import Alone, one_accelerator
from perfmodel.explain.recorder import recorded
from perfmodel.prediction.assemble import terms_at
from perfmodel.prediction.computation import one_host_time
from perfmodel.prediction.fabric import bulk_bandwidth
from perfmodel.prediction.feeding import SAMPLE_ELEMENT_BYTES, decode_rate
from perfmodel.prediction.straggling import push_share
from perfmodel.prediction.terms import anchor_factor, communicates, computation_of, scaled
from perfmodel.sensitivity.case import Case
from perfmodel.sensitivity.changes import jitter as scaled_jitter
from perfmodel.sensitivity.changes import scaled_link
from perfmodel.specs.storage import storage

STEP = 1e-4


class Derivation(NamedTuple):
    """A prediction, worked out."""

    iteration_time: Node
    terms: dict[str, Node]
    """By name; those that are zero are given as such."""
    is_exact: bool
    """Whether every step down to the inputs is one of the formulas or rules."""


def derivation(case: Case) -> Derivation:
    """Return how the iteration time of a case is worked out.

    Parameters
    ----------
    case : a setting and constants; where a profile takes the place of the model, its terms are given
    """
    if case.setting.scenario.profile is not None:
        return _given(case)
    setting, constants = case.setting, case.constants
    alone = one_accelerator(setting, constants)
    factor = _anchor(case, alone)
    parts = {"effect": alone.effect, "anchor_factor": factor}
    terms = {
        name: worked(name, assembly.computing, accumulation_steps=alone.steps, busy_sum=busy, **parts)
        for name, busy in (("forward_time", alone.forward_sum), ("backward_time", alone.backward_sum))
    }
    launches, once = _launches(alone, factor)
    terms["update_time"] = worked("update_time", assembly.updating, update_time=alone.update, **parts)
    passes = worked(
        "pass_time",
        assembly.passing,
        forward_time=terms["forward_time"],
        backward_time=terms["backward_time"],
        launches=launches,
        accumulation_steps=alone.steps,
    )
    busy = worked(
        "busy_time", assembly.busy_alone, pass_time=passes, update_time=terms["update_time"], once=once
    )
    terms["launch_overhead_time"] = worked(
        "launch_overhead_time",
        assembly.launch_overhead_time,
        accumulation_steps=alone.steps,
        launches=launches,
        once=once,
        one_host_time=_one_host(case, alone, busy),
    )
    labels = alone.busy_backward.labels
    paced = worked(
        "backward_paced",
        paced_layer_times,
        labels,
        layer_device_times=worked(
            "layer_device_times",
            assembly.layer_on_accelerator,
            labels,
            busy_times=alone.busy_backward,
            kernels=alone.layer_kernels,
            kernel_floor=alone.kernel_floor,
        ),
        layer_host_times=worked(
            "layer_host_times",
            assembly.layer_on_host,
            labels,
            kernels=alone.layer_kernels,
            dispatch_time=alone.dispatch_time,
        ),
        device_time=alone.device,
        host_time=alone.host,
    )
    backward = worked("backward_times", assembly.backward_by_layer, labels, backward_paced=paced, **parts)
    work = computation_of(setting, setting.local_batch_size, constants, setting.accumulation_steps)
    work = scaled(work, anchor_factor(setting, work, constants))
    zero = given("communication_time", 0.0, "nothing travels")
    sent = Exchange(zero, zero, True)
    if communicates(setting):
        sent = exchange(case, work, backward)
    terms["exposed_communication_time"] = sent.exposed_communication_time
    terms["straggler_time"] = _straggler(case, busy, sent.exposed_communication_time)
    rest = worked("busy_time", assembly.rest_of_the_iteration, anchor_factor=factor, **terms)
    terms["input_time"] = _input(case, setting.accelerators_per_node, rest, factor)
    whole = worked("iteration_time", assembly.iteration_time, **terms)
    return Derivation(whole, {name: terms[name] for name in terms_at(setting, constants)}, sent.is_exact)


def _given(case: Case) -> Derivation:
    found = terms_at(case.setting, case.constants)
    terms = {name: given(name, time, "by the profile and the model") for name, time in found.items()}
    return Derivation(worked("iteration_time", assembly.iteration_time, **terms), terms, False)


def _launches(alone: Alone, factor: Node) -> tuple[Node, Node]:
    parts = {"stretch": alone.stretch, "effect": alone.effect, "anchor_factor": factor}
    launches = worked(
        "launches",
        assembly.launches,
        busy_sum=alone.busy_sum,
        kernels=alone.kernels,
        kernel_floor=alone.kernel_floor,
        **parts,
    )
    once = worked(
        "once",
        assembly.once_an_iteration,
        iteration_overhead=alone.overhead,
        update_time=alone.update,
        **parts,
    )
    return launches, once


def _anchor(case: Case, alone: Alone) -> Node:
    """Measured over predicted time of one accelerator, or 1."""
    setting = case.setting
    if setting.scenario.anchor is None:
        return given("anchor_factor", 1.0, "nothing was measured")
    found = parse_anchor(setting.scenario.anchor)
    samples = setting.local_batch_size * setting.accumulation_steps
    by_time = found.quantity == "iteration_time"
    powers: dict[str, Any] = (
        {"measured_iteration_time": 1} if by_time else {"measured_samples_per_second": -1}
    )
    measured = given("measured_time", found.iteration_time(samples), "the anchor", **powers)
    one = given("anchor_factor", 1.0, "before the measurement")
    launches, once = _launches(alone, one)
    parts = {"accumulation_steps": alone.steps, "effect": alone.effect, "anchor_factor": one}
    passes = worked(
        "pass_time",
        assembly.passing,
        forward_time=worked("forward_time", assembly.computing, busy_sum=alone.forward_sum, **parts),
        backward_time=worked("backward_time", assembly.computing, busy_sum=alone.backward_sum, **parts),
        launches=launches,
        accumulation_steps=alone.steps,
    )
    update = worked(
        "update_time", assembly.updating, update_time=alone.update, effect=alone.effect, anchor_factor=one
    )
    busy = worked("busy_time", assembly.busy_alone, pass_time=passes, update_time=update, once=once)
    waits = _input(case, 1, busy, one)
    before = worked(
        "alone_time", assembly.alone, pass_time=passes, update_time=update, once=once, input_time=waits
    )
    return worked("anchor_factor", assembly.anchoring, measured_time=measured, alone_time=before)


def _one_host(case: Case, alone: Alone, busy: Node) -> Node:
    """What one process loses by serving its accelerators one after another."""
    setting, constants = case.setting, case.constants
    if setting.strategy != "data-parallel-single-process" or setting.world_size == 1:
        return given("one_host_time", 0.0, "each accelerator has a process of its own")
    work = computation_of(setting, setting.local_batch_size, constants, setting.accumulation_steps)
    work = scaled(work, anchor_factor(setting, work, constants))
    with recorded() as calls:
        one_host_time(setting, work, constants)
    call = next(each for each in calls if each.depth == 0)
    dispatch = alone.dispatch_time
    if call.name == "single_process.replica_time":
        each = worked(
            "dispatch_time",
            assembly.replica_dispatch_time,
            replica_dispatches=given(
                "replica_dispatches", constants.replica_dispatches, "fitted", replica_dispatches=1
            ),
            dispatch_time=dispatch,
        )
        return worked(
            "launch_overhead_time",
            replica_time,
            workers=given("workers", float(setting.world_size)),
            replicated=given("replicated", float(call.arguments["replicated"]), "the layer table"),
            dispatch_time=each,
        )
    return worked(
        "launch_overhead_time",
        launch_overhead,
        operation_time=worked(
            "busy_time", assembly.for_each_step, busy_time=busy, accumulation_steps=alone.steps
        ),
        kernels=given("kernels", float(call.arguments["kernels"]), "of all replicas"),
        kernel_floor=dispatch,
    )


def _straggler(case: Case, busy: Node, exposed: Node) -> Node:
    setting = case.setting
    law = _law(case)
    if law is None or setting.world_size == 1:
        return given("straggler_time", 0.0, "one worker" if law else "no jitter")
    ratio = jitter_equations.straggler_factor(law, float(setting.world_size))
    waits = given(
        "straggler_factor",
        ratio,
        f"mean of the largest of {setting.world_size}, {law.name}: an order statistic",
        jitter=_power_of_jitter(case),
    )
    if setting.strategy != "parameter-server":
        return worked("straggler_time", assembly.waiting, busy_time=busy, straggler_factor=waits)
    workers = setting.nodes if setting.scenario.local_aggregation else setting.world_size
    return worked(
        "straggler_time",
        assembly.waiting_in_a_queue,
        busy_time=busy,
        straggler_factor=waits,
        push_share=given("push_share", push_share(setting), "of the exchange, in which workers push"),
        exposed_communication_time=exposed,
        workers=given("workers", float(workers)),
    )


def _law(case: Case) -> Distribution | None:
    text = case.setting.scenario.jitter
    if text is None:
        spread = case.constants.jitter
        return Distribution("lognormal", (1.0, spread)) if spread else None
    if text == "none":
        return None
    from perfmodel.equations.distributions import parse_distribution

    return parse_distribution(text)


def _power_of_jitter(case: Case) -> float:
    """Elasticity of the slowest worker's time to the spread: a quadrature has no closed form to derive."""
    n = float(case.setting.world_size)
    laws = [_law(scaled_jitter(case, factor)) for factor in (1 - STEP, 1 + STEP)]
    low, high = (jitter_equations.straggler_factor(law, n) if law else 1.0 for law in laws)
    return math.log(high / low) / (math.log1p(STEP) - math.log1p(-STEP))


def _input(case: Case, accelerators: int, busy: Node, factor: Node) -> Node:
    """Waiting for samples, behind the rest of the iteration."""
    setting, constants = case.setting, case.constants
    if setting.scenario.input == "synthetic":
        return given("input_time", 0.0, "synthetic samples")
    workload = setting.workload
    decoded = "measured" if setting.scenario.decode_rate is None else "as asked"
    stored = workload.dataset if setting.scenario.sample_bytes is None else "as asked"
    rate = worked(
        "input_rate",
        input_rate,
        loader_workers=given("loader_workers", float(setting.loader_workers), loader_workers=1),
        decode_rate=given("decode_rate", decode_rate(setting, constants), decoded, decode_rate=1),
        storage_bandwidth=given(
            "storage_bandwidth", storage(setting.storage), setting.storage, storage_bandwidth=1
        ),
        stored_bytes=given("stored_bytes", workload.stored_bytes, stored, stored_bytes=1),
    )
    samples = float(setting.local_batch_size * setting.accumulation_steps)
    link = setting.host_link
    waits = worked(
        "input_time",
        exposed_input_time,
        accelerators_per_node=given("accelerators_per_node", float(accelerators), "which share a host"),
        local_batch_size=given("local_batch_size", samples, "of all micro-batches", local_batch_size=1),
        input_rate=rate,
        sample_bytes=given(
            "sample_bytes", workload.input_elements * SAMPLE_ELEMENT_BYTES, "the network", sample_bytes=1
        ),
        host_bandwidth=given(
            "host_bandwidth", bulk_bandwidth(link, constants), link.id, **_host_powers(case)
        ),
        busy_time=busy,
    )
    return worked("input_time", assembly.waiting_for_input, input_time=waits, anchor_factor=factor)


def _host_powers(case: Case) -> dict[str, Any]:
    """The host's link may be the one inside the node too."""
    shared = case.setting.host_link.id == case.setting.intra_link.id and case.setting.world_size > 1
    name = "intra_link" if shared and case.setting.strategy != "parameter-server-local" else "host_link"
    link = case.setting.host_link
    more = scaled_link(case, 1 + STEP, "host_link", "bandwidth").setting.host_link
    binding = bulk_bandwidth(more, case.constants) > bulk_bandwidth(link, case.constants)
    return {f"{name}_bandwidth": float(binding)}
