"""How each input of a case is read and scaled: specs, network or constants with one number changed."""

from __future__ import annotations

import copy
import math
import re
from dataclasses import replace
from typing import Any

from perfmodel.anchor import parse_anchor
from perfmodel.resolve import Setting
from perfmodel.sensitivity.case import Case, scaled_quantity, scaled_spec
from perfmodel.sharing import has_layouts
from perfmodel.specs.accelerator import USUAL_POWER
from perfmodel.specs.link import Link
from perfmodel.specs.provenance import Quantity
from perfmodel.specs.workload import Workload
from perfmodel.step.communication import by_library
from perfmodel.step.fabric import crosses_network, crosses_sockets
from perfmodel.step.input_wait import SAMPLE_ELEMENT_BYTES
from perfmodel.step.one_process import shares_batch

_SPREAD = re.compile(r"\b(cv|std)=([0-9.eE+-]+)")


def with_accelerator(case: Case, spec: Any) -> Case:
    """Return the case with another accelerator."""
    return case._replace(setting=case.setting._replace(accelerator=spec))


def scaled_accelerator(case: Case, factor: float, *fields: str) -> Case:
    """Return the case with some quantities of its accelerator multiplied."""
    return with_accelerator(case, scaled_spec(case.setting.accelerator, factor, *fields))


def has_own_vector_peak(setting: Setting) -> bool:
    """Return whether work that matrix units cannot do has a peak of its own."""
    return setting.peak_format not in ("fp32", "fp16-vector") and "fp32" in setting.accelerator.peak_flops


def peak(case: Case, factor: float) -> Case:
    """The peak that serves the precision; where that is the one of ordinary units, theirs with it."""
    setting = case.setting
    if has_layouts(setting.workload):  # whose products are timed by measured ones
        return every_peak(case, factor)
    if not has_own_vector_peak(setting):
        case = vector_peak(case, factor)
    return case._replace(setting=case.setting._replace(peak_flops=setting.peak_flops * factor))


def every_peak(case: Case, factor: float) -> Case:
    """Multiply all peaks, and the products that were measured beside them."""
    setting, chip = case.setting, case.setting.accelerator
    scaled = {
        field: {name: scaled_quantity(each, factor) for name, each in getattr(chip, field).items()}
        for field in ("peak_flops", "achieved_flops")
    }
    case = with_accelerator(case, chip.model_copy(update=scaled))
    return case._replace(setting=case.setting._replace(peak_flops=setting.peak_flops * factor))


def vector_peak(case: Case, factor: float) -> Case:
    """Multiply the fp32 peak."""
    accelerator = case.setting.accelerator
    if "fp32" not in accelerator.peak_flops:
        return case
    scaled = {"fp32": scaled_quantity(accelerator.peak_flops["fp32"], factor)}
    return with_accelerator(
        case, accelerator.model_copy(update={"peak_flops": accelerator.peak_flops | scaled})
    )


def power(case: Case, factor: float) -> Case:
    """Multiply the rated power, or what is taken for it."""
    accelerator = case.setting.accelerator
    if accelerator.tdp is not None:
        return scaled_accelerator(case, factor, "tdp")
    usual = Quantity.model_construct(value=USUAL_POWER * factor, basis="assumed", source=None)
    return with_accelerator(case, accelerator.model_copy(update={"tdp": usual}))


def compute_units(case: Case, factor: float) -> Case:
    """Multiply the units that share a product."""
    accelerator = case.setting.accelerator
    units: Any = accelerator.compute_units * factor
    return with_accelerator(case, accelerator.model_copy(update={"compute_units": units}))


def with_workload(case: Case, workload: Workload) -> Case:
    """Return the case with another network."""
    return case._replace(setting=case.setting._replace(workload=workload))


def scaled_layers(case: Case, factor: float, *fields: str) -> Case:
    """The same network with some counts of every layer multiplied."""
    workload = case.setting.workload
    layers = tuple(
        layer._replace(**{name: multiplied(getattr(layer, name), factor) for name in fields})
        for layer in workload.layers
    )
    tables = workload.tables
    if tables is not None and "tensors" in fields:
        tables = tables._replace(parameters=tables.parameters * factor)
    if tables is not None and "forward_elements" in fields:
        tables = tables._replace(looked_up=tables.looked_up * factor)
    return with_workload(case, replace(workload, layers=layers, tables=tables))


def multiplied(value: Any, factor: float) -> Any:
    """Return a number, or each of several, multiplied."""
    return tuple(v * factor for v in value) if isinstance(value, tuple) else value * factor


def element_bytes(case: Case, factor: float) -> Case:
    """Multiply what every number takes: in memory, on its way, in the optimizer's state."""
    setting = case.setting
    form: Any = setting.format._replace(**{k: v * factor for k, v in setting.format._asdict().items()})
    states: Any = setting.states._replace(**{k: v * factor for k, v in setting.states._asdict().items()})
    return case._replace(setting=setting._replace(format=form, states=states))


def batch(case: Case, factor: float) -> Case:
    """Multiply the samples of each accelerator."""
    setting = case.setting
    larger: dict[str, Any] = {
        "local_batch_size": setting.local_batch_size * factor,
        "global_batch_size": setting.global_batch_size * factor,
    }
    return case._replace(setting=setting._replace(**larger))


def constant(case: Case, factor: float, name: str) -> Case:
    """Multiply a constant that stands alone."""
    changed: dict[str, Any] = {name: getattr(case.constants, name) * factor}
    return case._replace(constants=case.constants._replace(**changed))


def efficiency(case: Case, factor: float, name: str) -> Case:
    """Multiply a learned number of one accelerator."""
    learned = copy.copy(case.constants.efficiency)
    setattr(learned, name, getattr(learned, name) * factor)
    return case._replace(constants=case.constants._replace(efficiency=learned))


def half_work(case: Case, factor: float) -> Case:
    """Multiply the work at which half a unit's rate is reached."""
    learned = copy.copy(case.constants.efficiency)
    learned.half = learned.half.copy()
    learned.half[0] *= factor
    return case._replace(constants=case.constants._replace(efficiency=learned))


def of_efficiency(case: Case, name: str) -> float:
    """Return a learned number of one accelerator."""
    return float(getattr(case.constants.efficiency, name))


LINKS = ("intra_link", "inter_link", "host_link", "socket_link", "server_link")


def used_links(case: Case) -> dict[str, Link]:
    """Return the links whose numbers can matter, by place; one of two places that share a link."""
    setting = case.setting
    result: dict[str, Link] = {}
    if setting.world_size > 1 and setting.strategy != "parameter-server-local":
        result["intra_link"] = setting.intra_link
    if crosses_network(setting):
        result["inter_link"] = setting.inter_link
    fed = setting.scenario.input == "real" or setting.strategy == "parameter-server-local"
    by_host = fed or setting.intra_link.kind in ("pcie", "nvlink")
    if by_host and setting.host_link.id not in [link.id for link in result.values()]:
        result["host_link"] = setting.host_link
    if setting.world_size > 1 and setting.socket_link is not None and crosses_sockets(setting):
        result["socket_link"] = setting.socket_link
    if setting.strategy == "parameter-server" and setting.server_link.id not in [
        link.id for link in result.values()
    ]:
        result["server_link"] = setting.server_link
    return result


def scaled_link(case: Case, factor: float, place: str, what: str) -> Case:
    """Every place that holds the same link changes with it."""
    link: Link = getattr(case.setting, place)
    if what == "hop_latency":
        changed = scaled_spec(link, factor, "hop_latency", "bulk_hop_latency")
    elif what == "flow_bandwidth":
        changed = scaled_spec(link, factor, "flow_bandwidth")
    else:
        changed = scaled_spec(link, factor, "bandwidth")
        if link.ring_bandwidth is not None:
            rates = {n: rate * factor for n, rate in link.ring_bandwidth.by_group_size.items()}
            measured = link.ring_bandwidth.model_copy(update={"by_group_size": rates})
            changed = changed.model_copy(update={"ring_bandwidth": measured})
    held = {name: getattr(case.setting, name) for name in LINKS}
    same: dict[str, Any] = {name: changed for name, each in held.items() if each and each.id == link.id}
    return case._replace(setting=case.setting._replace(**same))


def of_link(case: Case, place: str, what: str) -> float | None:
    """Return a number of a link that matters, as bulk transfers see it."""
    link = used_links(case).get(place)
    if link is None:
        return None
    bulk = None if by_library(case.setting) else getattr(link, "bulk_" + what, None)
    quantity = bulk or getattr(link, what)
    return quantity.value if quantity else None


def scaled_node(case: Case, factor: float, field: str) -> Case:
    """Multiply a quantity of the machine, and of the parameter servers' machine."""
    setting = case.setting
    node, server = (scaled_spec(each, factor, field) for each in (setting.node, setting.server_node))
    return case._replace(setting=setting._replace(node=node, server_node=server))


def of_node(case: Case, field: str) -> float | None:
    """Return a quantity of the machine where several accelerators use it."""
    quantity = getattr(case.setting.node, field) or getattr(case.setting.server_node, field)
    return quantity.value if quantity is not None and case.setting.world_size > 1 else None


def with_scenario(case: Case, **changes: Any) -> Case:
    """Return the case with other options, which are read only when it is answered."""
    asked = case.setting.scenario.model_copy(update=changes)
    return case._replace(setting=case.setting._replace(scenario=asked))


def jitter(case: Case, factor: float) -> Case:
    """Multiply the spread of a worker's time: the given one, or the learned one."""
    given = case.setting.scenario.jitter
    if given is None:
        return constant(case, factor, "jitter")
    spread = _SPREAD.sub(lambda match: f"{match[1]}={float(match[2]) * factor!r}", given)
    return with_scenario(case, jitter=spread)


def of_jitter(case: Case) -> float | None:
    """Return that spread; None where a law is given by other parameters."""
    if case.setting.world_size == 1:
        return None
    given = case.setting.scenario.jitter
    if given is None:
        return case.constants.jitter or None
    match = _SPREAD.search(given)
    return float(match[2]) if match else None


def anchor(case: Case, factor: float) -> Case:
    """Multiply what was measured."""
    anchor = parse_anchor(str(case.setting.scenario.anchor))
    return with_scenario(case, anchor=anchor._replace(value=anchor.value * factor).words())


def of_anchor(case: Case, quantity: str) -> float | None:
    """Return what was measured, if it was this quantity."""
    given = case.setting.scenario.anchor
    if given is None or ";" in given:  # each of several says a part
        return None
    anchor = parse_anchor(given)
    return anchor.value if anchor.quantity == quantity else None


def oversubscription(case: Case, factor: float) -> Case:
    """Multiply what the racks' ports could send over what their uplinks carry."""
    return with_scenario(case, oversubscription=case.setting.scenario.oversubscription * factor)


def of_oversubscription(case: Case) -> float | None:
    """Return that ratio where the job leaves a rack."""
    setting, asked = case.setting, case.setting.scenario
    leaves = asked.rack_nodes is not None and setting.nodes > asked.rack_nodes and crosses_network(setting)
    return asked.oversubscription if leaves and asked.oversubscription > 1 else None


def fed(case: Case, value: float | None) -> float | None:
    """Return a value where samples are read."""
    return value if case.setting.scenario.input == "real" and value else None


def decoded(case: Case) -> float | None:
    """Return what one worker decodes, where samples are read and must be decoded."""
    rate = case.setting.decode_rate
    rate = case.constants.decode_rate if rate is None else rate
    return fed(case, rate if math.isfinite(rate) else None)


def decoding(case: Case, factor: float) -> Case:
    """Multiply what one worker decodes: as it was asked for, or as it is calibrated."""
    rate = case.setting.decode_rate
    if rate is None:
        return constant(case, factor, "decode_rate")
    return case._replace(setting=case.setting._replace(decode_rate=rate * factor))


def stored(case: Case, factor: float) -> Case:
    """Multiply the bytes of a stored sample."""
    workload = case.setting.workload
    return with_workload(case, replace(workload, stored_bytes=workload.stored_bytes * factor))


def storage(case: Case, factor: float) -> Case:
    """Multiply what one host reads in a second."""
    feed = case.setting.feed
    assert feed is not None
    feed = feed._replace(storage_bandwidth=feed.storage_bandwidth * factor)
    return case._replace(setting=case.setting._replace(feed=feed))


def of_copied(case: Case) -> float | None:
    """Return the bytes of a sample that is copied, from the host or from the first accelerator to another."""
    setting = case.setting
    size = setting.workload.input_elements * SAMPLE_ELEMENT_BYTES
    return size if setting.world_size > 1 and shares_batch(setting) else fed(case, size)


def copied(case: Case, factor: float) -> Case:
    """Multiply the bytes of a sample that is copied."""
    workload = case.setting.workload
    return with_workload(case, replace(workload, input_elements=workload.input_elements * factor))


def loaders(case: Case, factor: float) -> Case:
    """Multiply the decoding workers."""
    more: dict[str, Any] = {"loader_workers": case.setting.loader_workers * factor}
    return case._replace(setting=case.setting._replace(**more))


def scaled_price(case: Case, factor: float) -> Case:
    """Multiply the price of a node, and of a parameter server's machine."""
    price, server_price = (
        each and each._replace(usd_per_hour=each.usd_per_hour * factor)
        for each in (case.price, case.server_price)
    )
    return case._replace(price=price, server_price=server_price)


def of_network(case: Case) -> dict[str, float]:
    """Return FLOP and elements of one sample, over all layers and both passes."""
    layers = case.setting.workload.layers
    return {
        "flops": sum(layer.forward_flops + layer.backward_flops for layer in layers),
        "elements": sum(layer.forward_elements + layer.backward_elements for layer in layers),
    }


def contention(case: Case) -> float | None:
    """Return the cost of hiding messages where it is paid."""
    is_used = case.setting.world_size > 1 and case.setting.strategy == "all-reduce"
    return case.constants.contention if is_used else None


def server_share(case: Case) -> float | None:
    """Return the share of the kernel's TCP that servers reach, where there are any on it."""
    over_tcp = case.setting.inter_link.passes_kernel
    return (
        case.constants.server_fraction if over_tcp and case.setting.strategy == "parameter-server" else None
    )


def staged(case: Case) -> float | None:
    """Return the share of a link that is left through host memory, where peers are shut off."""
    setting = case.setting
    is_used = setting.world_size > 1 and not setting.accelerator.peer_access
    return case.constants.staged_fraction if is_used and setting.intra_link.kind == "pcie" else None


def replica(case: Case) -> float | None:
    """Return the host's work for a replica where one process makes them."""
    setting = case.setting
    is_used = setting.strategy == "data-parallel-single-process" and setting.framework.python_replicas
    return case.constants.replica_dispatches if is_used and setting.world_size > 1 else None


def ceiling(case: Case) -> float | None:
    """Return the ceiling of the kernel's TCP where it is in the way."""
    over_tcp = any(link.passes_kernel for link in used_links(case).values())
    return case.constants.tcp_ceiling if over_tcp else None
