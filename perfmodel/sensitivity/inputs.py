"""Every input of a prediction, as a number that can be scaled by any factor."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import NamedTuple

from perfmodel.sensitivity import changes
from perfmodel.sensitivity.case import Case
from perfmodel.sharing import has_layouts
from perfmodel.specs.accelerator import USUAL_POWER
from perfmodel.step.communication import by_library
from perfmodel.step.layer_rates import REFERENCE_PER_WATT


class Input(NamedTuple):
    """One input."""

    name: str
    unit: str
    meaning: str
    value: Callable[[Case], float | None]
    """What it is in a case; None where the case has none."""
    scaled: Callable[[Case, float], Case]
    """The case with this input multiplied by a factor."""
    dimension: dict[str, int]
    """Exponents of the base units s, B, FLOP and J; empty for a pure number."""
    inner: bool = False
    """A constant of the model, which only dimensional analysis asks for."""


_WORD = {
    "intra_link": "inside a node",
    "inter_link": "between nodes",
    "host_link": "to host memory",
    "socket_link": "between the processors of a node",
    "server_link": "of a parameter server",
}


def _of_links() -> list[Input]:
    result = []
    for place, where in _WORD.items():
        for what, unit, words, dimension in (
            ("bandwidth", "B/s", f"of the link {where}, one direction", {"B": 1, "s": -1}),
            ("hop_latency", "s", f"start-up time of a message {where}", {"s": 1}),
            ("flow_bandwidth", "B/s", f"what one connection {where} may carry", {"B": 1, "s": -1}),
        ):
            result.append(
                Input(
                    f"{place}_{what}",
                    unit,
                    words,
                    partial(changes.of_link, place=place, what=what),
                    partial(changes.scaled_link, place=place, what=what),
                    dimension,
                )
            )
    return result


def _latency(name: str, meaning: str, several: bool = False) -> Input:
    """A latency of the library's collectives; ``several``: one that several nodes alone have."""

    def value(case: Case) -> float | None:
        acts = by_library(case.setting) and not (several and case.setting.domains == 1)
        return getattr(case.constants, name) if acts else None

    return Input(name, "s", meaning, value, partial(changes.constant, name=name), {"s": 1}, inner=True)


INPUTS: tuple[Input, ...] = (
    Input(
        "peak_flops",
        "FLOP/s",
        "dense peak of the precision",
        lambda c: c.setting.peak_flops,
        changes.peak,
        {"FLOP": 1, "s": -1},
    ),
    Input(
        "vector_peak_flops",
        "FLOP/s",
        "fp32 peak, of work that matrix units cannot do",
        lambda c: (
            c.setting.accelerator.peak_flops["fp32"].value if changes.has_own_vector_peak(c.setting) else None
        ),
        changes.vector_peak,
        {"FLOP": 1, "s": -1},
    ),
    Input(
        "memory_bandwidth",
        "B/s",
        "of one accelerator's own memory",
        lambda c: c.setting.accelerator.memory_bandwidth.value,
        lambda c, f: changes.scaled_accelerator(c, f, "memory_bandwidth"),
        {"B": 1, "s": -1},
    ),
    Input(
        "compute_units",
        "1",
        "that share a product; small ones fill few",
        lambda c: c.setting.accelerator.compute_units,
        changes.compute_units,
        {},
    ),
    Input(
        "tdp",
        "W",
        "power that feeds the matrix units",
        lambda c: c.setting.accelerator.tdp.value if c.setting.accelerator.tdp else None,
        changes.power,
        {"J": 1, "s": -1},
    ),
    *_of_links(),
    Input(
        "node_network_bandwidth",
        "B/s",
        "what the whole machine may send",
        partial(changes.of_node, field="network_bandwidth"),
        partial(changes.scaled_node, field="network_bandwidth"),
        {"B": 1, "s": -1},
    ),
    Input(
        "cross_socket_bandwidth",
        "B/s",
        "between the processors of a node",
        partial(changes.of_node, field="cross_socket_bandwidth"),
        partial(changes.scaled_node, field="cross_socket_bandwidth"),
        {"B": 1, "s": -1},
    ),
    Input(
        "oversubscription",
        "1",
        "of the racks' uplinks",
        changes.of_oversubscription,
        changes.oversubscription,
        {},
    ),
    Input(
        "local_batch_size",
        "samples",
        "samples per accelerator and micro-batch",
        lambda c: None if c.setting.scenario.anchor else c.setting.local_batch_size,
        changes.batch,
        {},
    ),
    Input(
        "flops_per_sample",
        "FLOP",
        "of the network, forward and backward",
        lambda c: changes.of_network(c)["flops"],
        lambda c, f: changes.scaled_layers(c, f, "forward_flops", "backward_flops"),
        {"FLOP": 1},
    ),
    Input(
        "elements_per_sample",
        "1",
        "activations read and written",
        lambda c: changes.of_network(c)["elements"],
        lambda c, f: changes.scaled_layers(c, f, "forward_elements", "backward_elements", "saved_elements"),
        {},
    ),
    Input(
        "parameters",
        "1",
        "trainable parameters",
        lambda c: c.setting.workload.parameters,
        lambda c, f: changes.scaled_layers(c, f, "tensors"),
        {},
    ),
    Input(
        "element_bytes",
        "B",
        "of every number kept, moved or sent",
        lambda c: c.setting.format.activation_bytes,
        changes.element_bytes,
        {"B": 1},
    ),
    Input(
        "kernel_floor",
        "s",
        "launch overhead of a kernel on the accelerator",
        lambda c: changes.of_efficiency(c, "kernel_floor"),
        lambda c, f: changes.efficiency(c, f, "kernel_floor"),
        {"s": 1},
    ),
    Input(
        "dispatch_time",
        "s",
        "host time to launch a kernel: a slower host",
        lambda c: changes.of_efficiency(c, "dispatch_time"),
        lambda c, f: changes.efficiency(c, f, "dispatch_time"),
        {"s": 1},
    ),
    Input(
        "iteration_overhead",
        "s",
        "of every iteration, whatever it does",
        lambda c: changes.of_efficiency(c, "iteration_overhead"),
        lambda c, f: changes.efficiency(c, f, "iteration_overhead"),
        {"s": 1},
    ),
    Input(
        "product_inefficiency",
        "1",
        "time of products over what their peak says",
        lambda c: 1.0,
        lambda c, f: changes.efficiency(c, f, "slowdown"),
        {},
    ),
    Input(
        "traffic_inefficiency",
        "1",
        "time of memory traffic over what the bandwidth says",
        lambda c: 1.0,
        lambda c, f: changes.efficiency(c, f, "traffic"),
        {},
    ),
    Input(
        "half_work",
        "FLOP",
        "work of a unit at which half its rate is reached",
        lambda c: float(c.constants.efficiency.half[0].mean()),
        changes.half_work,
        {"FLOP": 1},
        inner=True,
    ),
    Input(
        "usual_power",
        "W",
        "taken where a spec does not say",
        lambda c: None if c.setting.accelerator.tdp else USUAL_POWER,
        changes.power,
        {"J": 1, "s": -1},
        inner=True,
    ),
    Input(
        "reference_flops_per_joule",
        "FLOP/J",
        "from which the effect of power is counted",
        lambda _: REFERENCE_PER_WATT,
        changes.power,  # it stands beside tdp alone, as a product
        {"FLOP": 1, "J": -1},
        inner=True,
    ),
    _latency("launch_time", "of a library's collective, before its first hop"),
    _latency("library_hop_latency", "of its hop inside a node"),
    _latency("host_latency", "what the host adds to its hop between nodes", several=True),
    _latency("crowd_latency", "of it, for each of several nodes", several=True),
    Input(
        "tcp_ceiling",
        "B/s",
        "of one adapter through the kernel's TCP",
        changes.ceiling,
        lambda c, f: changes.constant(c, f, "tcp_ceiling"),
        {"B": 1, "s": -1},
    ),
    Input(
        "server_fraction",
        "1",
        "of the kernel's TCP, reached by parameter servers",
        changes.server_share,
        lambda c, f: changes.constant(c, f, "server_fraction"),
        {},
    ),
    Input(
        "server_ceiling",
        "B/s",
        "that one parameter server adds up, each way",
        lambda c: c.constants.server_ceiling if c.setting.strategy == "parameter-server" else None,
        lambda c, f: changes.constant(c, f, "server_ceiling"),
        {"B": 1, "s": -1},
    ),
    Input(
        "staged_fraction",
        "1",
        "of a link's rate, left on the way through host memory",
        changes.staged,
        lambda c, f: changes.constant(c, f, "staged_fraction"),
        {},
    ),
    Input(
        "contention",
        "1",
        "computation lost for each second of messages hidden",
        changes.contention,
        lambda c, f: changes.constant(c, f, "contention"),
        {},
    ),
    Input(
        "replica_dispatches",
        "1",
        "host work to copy a network to a replica",
        changes.replica,
        lambda c, f: changes.constant(c, f, "replica_dispatches"),
        {},
    ),
    Input(
        "jitter",
        "1",
        "spread of one worker's time over its mean",
        changes.of_jitter,
        changes.jitter,
        {},
    ),
    Input(
        "loader_workers",
        "1",
        "decoding workers of a host",
        lambda c: changes.fed(c, c.setting.loader_workers),
        changes.loaders,
        {},
    ),
    Input(
        "decode_rate",
        "samples/s",
        "of one loader worker: host speed",
        changes.decoded,
        changes.decoding,
        {"s": -1},
    ),
    Input(
        "storage_bandwidth",
        "B/s",
        "of the storage one host reads from",
        lambda c: changes.fed(c, c.setting.feed.storage_bandwidth if c.setting.feed else None),
        changes.storage,
        {"B": 1, "s": -1},
    ),
    Input(
        "stored_bytes",
        "B",
        "one sample as it is stored",
        lambda c: changes.fed(c, c.setting.workload.stored_bytes),
        changes.stored,
        {"B": 1},
    ),
    Input(
        "sample_bytes",
        "B",
        "one sample as it is copied to the accelerator",
        changes.of_copied,
        changes.copied,
        {"B": 1},
    ),
    Input(
        "measured_iteration_time",
        "s",
        "the anchor",
        partial(changes.of_anchor, quantity="iteration_time"),
        changes.anchor,
        {"s": 1},
    ),
    Input(
        "measured_samples_per_second",
        "1/s",
        "the anchor",
        partial(changes.of_anchor, quantity="samples_per_second"),
        changes.anchor,
        {"s": -1},
    ),
    Input(
        "measured_tokens_per_second",
        "1/s",
        "the anchor",
        partial(changes.of_anchor, quantity="tokens_per_second"),
        changes.anchor,
        {"s": -1},
    ),
    Input(
        "price",
        "$/h",
        "of one node",
        lambda c: c.price.usd_per_hour if c.price else None,
        changes.scaled_price,
        {},
    ),
)
"""Every input that can be scaled by any factor."""


OF_LAYERS = ("vector_peak_flops", "flops_per_sample", "elements_per_sample")
"""What layers are timed by, but not those of a transformer, which its widths decide."""


def inputs_of(case: Case, inner: bool = False) -> list[tuple[Input, float]]:
    """Return the inputs a case has, with their values; with ``inner`` the model's own constants too."""
    table = INPUTS
    if case.setting.layout is not None:
        from perfmodel.sensitivity.shared_inputs import SHARED_INPUTS as table
    elif has_layouts(case.setting.workload):
        table = tuple(each for each in INPUTS if each.name not in OF_LAYERS)
    result = [(each, each.value(case)) for each in table if inner or not each.inner]
    return [(each, float(value)) for each, value in result if value is not None]
