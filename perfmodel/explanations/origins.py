"""Where the inputs of a derivation come from, what its results are called, and what its arrays are of."""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable, Mapping
from functools import cache
from typing import Any

import numpy as np

from perfmodel.collectives.all_reduce import IN_NETWORK
from perfmodel.economics import COMMUNICATING, IDLE
from perfmodel.explanations.node import Node
from perfmodel.explanations.recorder import Call
from perfmodel.explanations.shared_origins import input_notes, shared_notes
from perfmodel.profile import MEASURES, read_profile
from perfmodel.resolve import ONE_PROCESS
from perfmodel.sensitivity.case import Case
from perfmodel.step.communication import by_library
from perfmodel.step.evaluate import Outcome, Step
from perfmodel.step.messages import MERGED
from perfmodel.step.parts import best_way, communicates
from perfmodel.step.terms import ONE_PROCESS_TERMS
from perfmodel.vocabulary import QUANTITIES

_RETURNS = re.compile(r"^Returns\n-+\n(\w+)", re.M)

FITTED = (
    "inefficiency",
    "half_work",
    "half_depth",
    "half_columns",
    "kernel_floor",
    "product_set_up",
    "dispatch_time",
    "iteration_overhead",
    "hiding_cost",
    "update_kernels",
)
"""Parameters that hold what was learned from measured runs."""
OF_THE_NETWORK = (
    "flops_per_sample",
    "activations",
    "weights",
    "product_depth",
    "product_columns",
    "kernels",
    "product_kernels",
    "parameters",
    "replicated",
    "sample_bytes",
    "table_parameters",
    "table_share",
    "largest_table",
    "looked_up",
    "tables",
)
OF_THE_SCENARIO = (
    "local_batch_size",
    "accumulation_steps",
    "world_size",
    "holders",
    "nodes",
    "accelerators_per_node",
    "servers",
    "group_size",
    "columns",
    "rows",
    "loader_workers",
)


class Origins:
    """The inputs of one case."""

    def __init__(self, case: Case, step: Step | Outcome, notes: Mapping[str, str] | None = None) -> None:
        """Take what was predicted, its evaluation, and what else is known of parameters."""
        if isinstance(step, Step):
            self._notes = _of_money(case) | _notes(case, step) | dict(notes or {})
            self._of_things = _of_profile(case) | _of_links(case) | _of_fabric(case, step)
        else:
            self._notes = _of_money(case) | shared_notes(case.setting) | dict(notes or {})
            self._of_things = _of_links(case)
        layers = [layer.name for layer in case.setting.workload.layers]
        self._layers = tuple(layers)
        self._passes = tuple(
            [f"{name}, forward" for name in layers] + [f"{name}, backward" for name in layers]
        )
        self._leaves: dict[tuple[str, int], Node] = {}

    def node(self, name: str, value: Any) -> Node:
        """Return an input as a quantity that is not worked out."""
        key = (name, id(value))
        if key not in self._leaves:
            note = self._of_things.get(id(value)) or self._notes.get(name, "")
            self._leaves[key] = Node(name, value, note=note, labels=self._labels(value))
        return self._leaves[key]

    def knows(self, node: Node) -> bool:
        """Return whether the origin of an input is known."""
        is_number = isinstance(node.value, (float, np.ndarray, np.generic))
        return not callable(node.value) and (bool(node.note) or not is_number)

    def result_of(self, function: Callable[..., Any]) -> str:
        """Return what the docstring of a formula calls its result.

        >>> from perfmodel.equations.compute import flops_utilization
        >>> Origins.result_of(None, flops_utilization)
        'mfu'
        """
        return _result_of(function)

    def labels(self, call: Call, result: Any) -> tuple[str, ...]:
        """Return what each element of a result belongs to: a layer, a pass or a message; none of a number."""
        if np.ndim(result) == 0:
            return ()
        like = (each for each in call.arguments.values() if np.shape(each) == np.shape(result))
        known = (
            self._leaves[key].labels for each in like if (key := ("message_bytes", id(each))) in self._leaves
        )
        return next(known, ()) or self._labels(result)

    def _labels(self, value: Any) -> tuple[str, ...]:
        if not isinstance(value, np.ndarray) or value.ndim != 1:
            return ()
        count = len(value)
        if count == len(self._passes):
            return self._passes
        if count == len(self._layers):
            return self._layers
        return tuple(f"message {k + 1} of {count}" for k in range(count))


@cache
def _result_of(function: Callable[..., Any]) -> str:
    match = _RETURNS.search(inspect.getdoc(function) or "")
    name = match[1] if match else "value"
    return name if name in QUANTITIES else "value"


def _said(value: float | None) -> str:
    return "assumed" if value is None else "as given"


def _of_grid(case: Case) -> str:
    if case.conditions.carbon_intensity is not None or case.price is None:
        return "as given"
    return f"the grid of {case.price.region}, mean of a year"


def _of_money(case: Case) -> dict[str, str]:
    """Return the origins of parameters that only costs depend on."""
    asked, chip = case.conditions, case.setting.accelerator.id
    return {
        "busy_power": f"{chip}: tdp",
        "communicating_power": f"{COMMUNICATING:.0%} of it, assumed",
        "idle_power": f"{IDLE:.0%} of it, assumed",
        "host_power": _said(asked.host_power),
        "pue": _said(asked.pue),
        "service_life": _said(asked.service_years),
        "used_fraction": _said(asked.used_fraction),
        "purchase_price": "as given",
        "carbon_intensity": _of_grid(case),
        "electricity_price": "as given",
        "node_failure_interval": "as given",
        "checkpoint_time": "as given, or as it takes to write one",
        "checkpoint_bandwidth": "as given",
        "restart_time": _said(asked.restart_time),
        "goodput": "nothing is said of failures",
        "run_samples": "of the whole run",
        "samples_per_second": "the job's, from its iteration time",
        "wall_time": "one second, or an iteration",
        "accelerator_power": "its data sheet does not say",
    }


def _notes(case: Case, step: Step) -> dict[str, str]:
    """Where the value of a parameter comes from, where no formula made it."""
    setting = case.setting
    way = best_way(setting, step.work, step.fabric, case.constants) if communicates(setting) else setting
    overlap = {
        "none": "all gradients at once, after the backward pass",
        "bucketed": "gradients, in the buckets of formula buckets.ddp_buckets",
        "fused": "gradients, fused by formula fusion.fused_messages",
        MERGED: "gradients, merged by formula merging.optimal_buckets",
    }.get(way.overlap, "gradients, one tensor each")
    of_collectives = "fitted to measured collectives"
    notes = dict.fromkeys(FITTED, "fitted")
    notes["slowest_factor"] = f"mean of the largest of {setting.world_size} times: an order statistic"
    notes |= dict.fromkeys(OF_THE_NETWORK, "the layer table")
    notes |= dict.fromkeys(OF_THE_SCENARIO, "the scenario")
    group = "a node"
    if setting.domains != setting.nodes:
        group = "an NVLink domain"
        notes |= {"accelerators_per_node": f"of {group}", "nodes": "NVLink domains"}
    if setting.scenario.algorithm == IN_NETWORK and by_library(setting):
        notes["nodes"] = "sums in the network take as long as trees over two"
    if setting.updates is not None:
        notes |= _of_updates(setting.updates.variant, setting.world_size)
    if setting.compression is not None:
        notes |= _of_compression(str(setting.compression))
    notes |= {
        "effect": f"fitted: {setting.workload.id}{_of_own_runs(case)}",
        "own_factor": f"your own runs{_of_own_runs(case)}",
        "peak_flops": f"{setting.accelerator.id}, {setting.peak_format}",
        "memory_bandwidth": setting.accelerator.id,
        "achieved_memory_bandwidth": f"{setting.accelerator.id}, nominal",
        "compute_units": setting.accelerator.id
        if setting.accelerator.compute_units
        else "usual: its spec does not say",
        "element_bytes": setting.precision,
        "weight_bytes": setting.precision,
        "update_bytes_per_parameter": f"the optimizer, {setting.optimizer}"
        + (", and gradients cleared and added up" if setting.framework.adds_gradients else ""),
        "row_update_bytes": f"the optimizer, {setting.optimizer}, of single rows",
        "measured_time": "the anchor",
        "anchor_factor": "nothing was measured",
        "message_bytes": overlap,
        "tensor_bytes": "gradients, one tensor each",
        "layer_indices": "layers in forward order, from 0",
        "ready_times": "released by a clock",
        "workers": "the scenario",
        "push_share": "of the exchange, in which workers push",
        "share_bytes": "gradients of all parameters",
        "repeats": "there, or there and back",
        **dict.fromkeys(ONE_PROCESS_TERMS, "one accelerator, or no copies made in Python"),
        "partitions": "of 4 MB",
        "shard_imbalance": f"{setting.server_shards} shards" if setting.servers else "assumed",
        "incast_efficiency": "assumed",
        "launch_time": of_collectives,
        "hop_latency": of_collectives,
        "peer_latency": of_collectives,
        "trip_root": of_collectives,
        "exchange_fraction": of_collectives,
        "round_trip_time": "one node" if setting.domains == 1 else of_collectives,
        "host_latency": of_collectives,
        "crowd_latency": "one node" if setting.domains == 1 else of_collectives,
        "ramp_strength": of_collectives,
        "ramp_growth": of_collectives,
        "bend_ratio": of_collectives,
        "bandwidth_decay": of_collectives,
        "largest_part": of_collectives,
        "tree_part": "by trees alone, or by rings alone",
        "tree_fraction": "assumed",
        "sum_gain": of_collectives,
        "pair_loss": of_collectives,
        "achieved_fraction": "fitted to links of its kind",
        "kernel_fraction": "fitted",
        "server_fraction": "fitted; 1 where no kernel adds up",
        "staged_fraction": "fitted",
        "oversubscription_factor": "no uplink slows it",
        "oversubscription": "as asked",
        "ranks_per_rack": "as asked",
        "racks": f"{setting.nodes} nodes in racks of {setting.scenario.rack_nodes}",
        "adapters": f"of {group}",
        "connections": "between two machines",
        "usual_connections": "as the library opens them",
        "connections_exponent": "measured between two machines of V100s",
        "links": f"of {setting.intra_link.id}",
        "rings": f"that {setting.intra_link.id} closes",
        "payload_fraction": "of a packet of NVLink",
        "reduction_bandwidth": "the time to add is left out",
        "pipeline_blocks": "assumed",
        "cycle_time": "Horovod's default",
        "fusion_threshold_bytes": "Horovod's default",
        "time": "by the profile, or before the measurement",
        "straggler_time": "no jitter" if setting.scenario.jitter == "none" else "one worker",
        "coding_time": "nothing is compressed, or nothing travels",
        "exposed_communication_time": "nothing travels",
    }
    if setting.strategy == ONE_PROCESS:
        notes["exposed_communication_time"] = "all that travels has terms"
    if setting.strategy == "parameter-server-local":
        notes["servers"] = "ways to the host's memory: accelerators over those that share the busiest"
    return notes | input_notes(setting)


def _of_own_runs(case: Case) -> str:
    """What a calibration file of own runs moved, and by how much; empty without one."""
    own = case.constants.own
    if own is None:
        return ""
    from perfmodel.prediction.own_runs import moved

    factors = ", ".join(f"{name} x {factor:.4g}" for name, factor in moved(case.setting, own).items())
    return f"; {own.file}: {factors or 'nothing of this job'}"


def _of_updates(variant: str, workers: int) -> dict[str, str]:
    """Where numbers of asynchronous and partly synchronous strategies come from."""
    of_law = (
        f"{variant}: formula sgd_variants.straggler_variant, {workers} workers' times, communication apart"
    )
    return {
        "round_factor": of_law,
        "slowest_factor": of_law,
        "gradients_per_update": "the scenario",
        "gradient_bytes": "the layer table",
        "local_steps": "the scenario",
    }


def _of_compression(scheme: str) -> dict[str, str]:
    """Where numbers of compressed gradients come from."""
    coding = f"{scheme}: memory traffic and kernels, see perfmodel compression"
    return {
        "encode_time": coding,
        "decode_time": coding,
        "sent_fraction": f"{scheme}: formulas of equations.compression and quantization",
        "trip_fraction": "fitted to measured collectives",
    }


def _of_profile(case: Case) -> dict[int, str]:
    """What a profile measured, by the identity of its numbers."""
    path = case.setting.scenario.profile
    if path is None:
        return {}
    profile = read_profile(path)
    link = profile.link
    measures = [getattr(profile, name) for name in MEASURES]
    measures += [link.latency, link.bandwidth] if link is not None else []
    return {id(measure.value): "the profile" for measure in measures if measure is not None}


def _of_fabric(case: Case, step: Step) -> dict[int, str]:
    """Where latencies of the fabric come from, by their identity."""
    setting, on = case.setting, step.fabric
    inside = setting.host_link if setting.strategy == "parameter-server-local" else setting.intra_link
    return {id(on.intra_hop_latency): inside.id, id(on.inter_hop_latency): setting.inter_link.id}


def _of_links(case: Case) -> dict[int, str]:
    """Where numbers of links, machines and constants come from, by their identity."""
    setting = case.setting
    result: dict[int, str] = {}
    joined = (setting.host_link, setting.server_link, setting.inter_link, setting.intra_link)
    for link in (*filter(None, [setting.socket_link]), *joined):
        result[id(link.bandwidth.value)] = f"{link.id}, nominal"
        result[id(link.hop_latency.value)] = link.id
        for known in (link.achieved_fraction, link.flow_bandwidth):
            result[id(known and known.value)] = link.id
        for size, rate in link.ring_bandwidth_by_group_size.items():
            result[id(rate)] = f"{link.id}, measured on rings of {size}"
    for node in (setting.server_node, setting.node):
        for limit in (node.network_bandwidth, node.cross_socket_bandwidth):
            result[id(limit and limit.value)] = node.id
    constants = case.constants
    result[id(constants.tcp_ceiling)] = "fitted: what the kernel's TCP carries at most"
    result[id(constants.server_ceiling)] = "assumed: what one server adds up"
    result.pop(id(None), None)
    return result
