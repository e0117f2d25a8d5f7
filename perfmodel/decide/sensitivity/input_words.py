"""Inputs of the model in words for planners."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

from perfmodel.core.records.options import declared
from perfmodel.core.units import many, show
from perfmodel.model.options.conditions import Conditions
from perfmodel.model.options.scenario import Scenario

WORDS = {
    "traffic_inefficiency": "time in memory-bound kernels",
    "product_inefficiency": "time in matrix-product kernels",
    "elements_per_sample": "activations per sample",
    "flops_per_sample": "arithmetic per sample",
    "element_bytes": "bytes of each number",
    "peak_flops": "peak of matrix products",
    "vector_peak_flops": "peak of element-wise work",
    "kernel_floor": "launch of a kernel on the GPU",
    "product_set_up": "start of a matrix-product kernel",
    "dispatch_time": "launch of a kernel by the host",
    "iteration_overhead": "overhead of an iteration",
    "tdp": "rated power",
    "jitter": "spread of a worker's times",
    "measured_loss_time": "loss measured on your own runs",
    "contention": "slowdown by hidden messages",
    "inter_link_bandwidth": "bandwidth between machines",
    "inter_link_hop_latency": "latency between machines",
    "intra_link_bandwidth": "bandwidth inside a machine",
    "intra_link_hop_latency": "latency inside a machine",
    "host_link_bandwidth": "bandwidth to the host",
    "host_link_hop_latency": "latency to the host",
    "node_network_bandwidth": "network limit of a machine",
    "tcp_ceiling": "limit of the kernel's TCP",
    "server_fraction": "share of TCP's limit that servers reach",
}
"""Words for inputs whose names say little; those of a kernel's time name what a better kernel lowers."""


def words_of(name: str) -> str:
    """Return the label of an input's field, or else its name in words.

    >>> words_of("local_batch_size"), words_of("inter_link_bandwidth"), words_of("compute_units")
    ('Batch per GPU (weak scaling)', 'bandwidth between machines', 'compute units')
    """
    for options in (declared(Scenario), declared(Conditions)):
        for option in options.values():
            if option.name == name.replace("_", "-"):
                return option.label.partition(" [")[0]
    return WORDS.get(name, name.replace("_", " "))


def short_label(name: str) -> str:
    """Return the label of an input within a line: no remark in brackets, small where it is no abbreviation.

    >>> short_label("local_batch_size"), short_label("nics"), short_label("tcp_ceiling")
    ('batch per GPU', 'network adapters per machine', "limit of the kernel's TCP")
    """
    label = words_of(name).partition(" (")[0]
    return label if label[1:2].isupper() else f"{label[:1].lower()}{label[1:]}"


def value_words(value: float, unit: str) -> str:
    """Return the value of an input with its unit; a large plain number in three digits.

    >>> value_words(2.274e8, "1"), value_words(12.5e9, "B/s")
    ('227 M', '12.5 GB/s')
    """
    return many(value) if unit == "1" and value >= 1000 else show(value, unit)


OF_CHOICES = {"all messages by one algorithm of the library": "fastest algorithm for each message"}
"""Names of choices on pages, by their names in answers."""


def limit_words(arm: Mapping[str, Any]) -> str:
    """Return which arm sets a time or a rate, and which arms have no effect, in words.

    Parameters
    ----------
    arm : of ``maxima`` of ``perfmodel sensitivity --json``

    >>> limit_words({"of": "rate of a ring", "kind": "min", "unit": "B/s", "active": "between nodes",
    ...     "arms": {"inside a node": 5e9, "between nodes": 1e9}, "words": "between nodes binds"})
    'rate of a ring: set by links between nodes, 1 GB/s; what is faster has no effect: links inside a node'
    """
    active, of = arm["active"], OF_CHOICES.get(arm["of"], arm["of"])
    if not arm["words"].startswith(active):
        return f"{of}: {arm['words'].removeprefix('fastest: ')}"
    value = arm["arms"][active]
    equal = [name for name, each in arm["arms"].items() if each is not None and math.isclose(each, value)]
    others = [_links(name) for name in arm["arms"] if name not in equal]
    words = f"{of}: set by {' and by '.join(map(_links, equal))}, {show(value, arm['unit'])}"
    words += " each" if len(equal) > 1 else ""
    return f"{words}; what is faster has no effect: {', '.join(others)}" if others else words


def _links(name: str) -> str:
    """Return the name of an arm in words: of links, or unchanged."""
    return f"links {name}" if name.startswith(("inside a", "between ")) else name
