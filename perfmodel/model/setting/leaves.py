"""The input numbers of a prediction, each with name and source: from specs, fits and options.

``with_leaves`` replaces any of them: by traced numbers, for explanations and derivatives, or by other plain
numbers.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any, NamedTuple

from perfmodel.core.records.record import Record
from perfmodel.core.tracing.tracing import TRACE
from perfmodel.hardware.provenance import Provenance
from perfmodel.hardware.storage import storages
from perfmodel.model.collectives import model as collectives
from perfmodel.model.fitted.calibration import LATENCIES, Calibration, facts
from perfmodel.model.fitted.efficiency import OF_TRANSFORMERS as SHARED
from perfmodel.model.fitted.ledger_scales import TRANSFORMERS
from perfmodel.model.input.feed import CACHE
from perfmodel.model.options.layout import DEGREES, NESTED, ULYSSES, Layout
from perfmodel.model.setting.network_leaves import OF_SCENARIO, Change, widths_of, with_parts
from perfmodel.model.setting.profile import Measure
from perfmodel.model.setting.resolve import Setting
from perfmodel.model.setting.routing import USUAL as ROUTING
from perfmodel.model.setting.sharing import has_layouts
from perfmodel.model.transformers import parameters as transformers
from perfmodel.workloads.workload import Workload

Reaches = Callable[[str], bool]
"""Whether a change affects numbers whose names have this prefix; others are skipped."""

SPECS = (
    "accelerator",
    "node",
    "intra_link",
    "inter_link",
    "host_link",
    "socket_link",
    "server_node",
    "server_link",
)
COUNTS = (
    "nics",
    "connections",
    "world_size",
    "nodes",
    "accelerators_per_node",
    "servers",
    "local_batch_size",
    "global_batch_size",
    "accumulation_steps",
    "loader_workers",
)
"""Whole numbers of a ``Setting``."""
WHOLE_NUMBERS_OF_SPECS = ("compute_units", "matrix_units", "fp32_lanes")
COLUMNS = (
    "forward_flops",
    "backward_flops",
    "forward_elements",
    "backward_elements",
    "saved_elements",
    "parameters",
    "forward_kernels",
    "backward_kernels",
    "gemm_depth",
    "gemm_columns",
)
"""Counts of every layer that a step is computed from."""
OPTIONS = {"oversubscription": 1.0, "lora": None, **ROUTING}
"""Numbers read from the scenario itself -> their values without effect."""
OF_TERMS = "terms."
"""Prefix of the names of numbers that a term of the iteration defines itself."""
WHILE_TRACING = (
    "jitter.",
    "anchor",
    "usual_power",
    "reference_flops",
    "collectives.",
    "transformers.",
    OF_TERMS,
)
"""Prefixes of the names of numbers read from a text, a module or a fit rather than from a setting and its
constants: they change only while numbers are traced."""
OF_PROFILE = "your profile"
OF_NETWORK = "the layer table"
OF_SOFTWARE = "what is known of the software"
FITTED = "fitted to measured runs"
OF_COLLECTIVES = "fitted to measured collectives"
OF_TRANSFORMERS = "fitted to measured steps"


def everything(_: str) -> bool:
    """Return True: the change affects every number."""
    return True


class Leaves(NamedTuple):
    """A setting and its constants after a change of their numbers."""

    setting: Setting
    constants: Calibration
    learned: Mapping[str, Any]
    """Learned parameters by model, for ``perfmodel.core.tracing.tracing.Trace.learned``."""


def with_leaves(
    setting: Setting, constants: Calibration, change: Change, reaches: Reaches = everything
) -> Leaves:
    """Return a setting and its constants with every number replaced by the result of ``change``.

    A number that is used in two places, as that of a link inside and between nodes, is changed once.

    Parameters
    ----------
    setting, constants : whose numbers are replaced
    change, reaches : the replacement, and which names it affects; by default all
    """
    trace = TRACE.get()
    if trace is not None:
        trace.change = change
    specs: dict[str, Any] = {}
    changed: dict[str, Any] = {}
    for field in SPECS:
        spec = getattr(setting, field)
        if spec is not None:
            is_changed = spec.id not in specs and reaches(f"{spec.id}.")
            specs[spec.id] = _record(spec, spec.id, change) if is_changed else specs.get(spec.id, spec)
            changed[field] = specs[spec.id]
    peaks: dict[Any, Any] = {**setting.accelerator.peak_flops}
    if setting.peak_format in peaks and peaks[setting.peak_format].value == setting.peak_flops:
        changed["peak_flops"] = changed["accelerator"].peak_flops[setting.peak_format].value
    else:
        changed["peak_flops"] = change(setting.peak_flops, "peak_flops", OF_SCENARIO)
    changed["format"] = _bytes(setting.format, f"format.{setting.precision}", change)
    changed["states"] = _bytes(setting.states, f"optimizer.{setting.optimizer}", change)
    for field in COUNTS:
        if value := getattr(setting, field):
            changed[field] = change(value, field, OF_SCENARIO)
    if setting.decode_rate is not None:
        changed["decode_rate"] = change(setting.decode_rate, "decode_rate", OF_SCENARIO)
    if setting.profile is not None:
        changed["profile"] = _record(setting.profile, "profile", change)
    if setting.feed is not None:
        changed["feed"] = _feed(setting, changed["node"], change)
    options = {
        name: value for name, none in OPTIONS.items() if (value := getattr(setting.scenario, name)) != none
    }
    changed["scenario"] = with_parts(
        setting.scenario, {name: change(value, name, OF_SCENARIO) for name, value in options.items()}
    )
    known = constants
    constants, learned = _constants(constants, change, reaches)
    if setting.layout is None:
        if reaches(f"{setting.workload.id}."):
            changed["workload"] = _workload(setting.workload, change)
        if has_layouts(setting.workload) and _reaches_transformers(reaches):
            named = _transformer_parameters(constants.transformers, change, known)
            constants = constants._replace(transformers=named)
    else:
        changed["layout"] = _layout(setting.layout, changed, change)
        network = setting.workload
        parts = {**widths_of(network, change), **_data(network, change)}
        if any(part is not getattr(network, name) for name, part in parts.items()):
            changed["workload"] = replace(network, **parts)
        changed["framework"] = _software(setting, change)
        learned[TRANSFORMERS] = _parameters(change, reaches, known)
    return Leaves(setting._replace(**changed), constants, learned)


def _record(thing: Any, name: str, change: Change) -> Any:
    """Return a spec or profile, or a part of one, with every number that has a provenance changed."""
    if isinstance(thing, Provenance):
        stated: Any = thing
        is_named = stated.source not in (None, stated.basis)
        source = f"{stated.basis} ({stated.source})" if is_named else stated.basis
        if hasattr(stated, "by_group_size"):
            rates = {n: change(rate, f"{name}.{n}", source) for n, rate in stated.by_group_size.items()}
            return with_parts(stated, {"by_group_size": rates})
        return with_parts(stated, {"value": change(stated.value, name, source)})
    if isinstance(thing, Measure):
        return with_parts(thing, {"value": change(thing.value, name, OF_PROFILE)})
    parts: dict[str, Any] = {}
    for field, value in thing.items() if isinstance(thing, dict) else vars(thing).items():
        if isinstance(value, (Record, dict)) and field != "sources":
            parts[field] = _record(value, f"{name}.{field}", change)
        elif value is not None and field in WHOLE_NUMBERS_OF_SPECS:
            parts[field] = change(value, f"{name}.{field}", "datasheet")
    return with_parts(thing, parts)


def _bytes(table: Any, name: str, change: Change) -> Any:
    """Return a table of bytes, of a number format or optimizer, with changed numbers."""
    parts = table._asdict().items()
    return with_parts(
        table, {part: change(value, f"{name}.{part}", OF_SCENARIO) for part, value in parts if value}
    )


def _feed(setting: Setting, node: Any, change: Change) -> Any:
    """Return the setting's feed with changed numbers of storage, cache and decoder."""
    feed, known, rates = setting.feed, storages(), {}
    assert feed is not None
    for field, id in (("storage_bandwidth", setting.storage), ("cache_bandwidth", CACHE)):
        rates[field] = _record(known.bandwidth[id], f"storage.{id}.bandwidth", change).value
    if math.isfinite(feed.storage_requests):
        requests = known.requests[setting.storage]
        rates["storage_requests"] = _record(requests, f"storage.{setting.storage}.requests", change).value
    if feed.host_memory_bytes:
        rates["host_memory_bytes"] = node.host_memory_bytes.value
    if feed.decoder is not None:
        rates["decoder"] = _record(feed.decoder, f"decoder.{setting.scenario.decoder}", change)
    return with_parts(feed, rates)


def _layout(layout: Layout, counts: Mapping[str, Any], change: Change) -> Layout:
    """Return a layout with changed degrees, and with the micro-batches of the changed setting."""
    names = (*DEGREES, "expert_tensor_parallel", "data_parallel")
    degrees = {name: change(getattr(layout, name), name, OF_SCENARIO) for name in names}
    passes = {
        "micro_batch_size": counts["local_batch_size"],
        "accumulation_steps": counts["accumulation_steps"],
    }
    exchanges = {}
    if layout.shard_group:
        exchanges["shard_group"] = change(layout.shard_group, "shard_group", OF_SCENARIO)
    if layout.context_method == NESTED:
        exchanges["context_inner"] = change(layout.context_inner, "context_inner", OF_SCENARIO)
    if layout.context_method == ULYSSES:
        exchanges["context_inner"] = degrees["context_parallel"]
    if layout.token_copies > 1:
        exchanges["token_copies"] = degrees["expert_parallel"]
    changed: Layout = with_parts(layout, degrees | passes | exchanges)
    return changed


def _software(setting: Setting, change: Change) -> Any:
    """Return the setting's software with a changed size of gradients."""
    facts = setting.framework
    travels: Any = change(facts.gradient_bytes, f"{setting.software}.gradient_bytes", OF_SOFTWARE)
    return with_parts(facts, {"gradient_bytes": travels})


def _parameters(change: Change, reaches: Reaches, constants: Calibration) -> Any:
    """Return the fit of transformers with changed parameters."""
    known = transformers.shipped()
    if not _reaches_transformers(reaches):
        return known
    return with_parts(known, {"parameters": _transformer_parameters(known.parameters, change, constants)})


def _reaches_transformers(reaches: Reaches) -> bool:
    """Return whether a change affects any learned number of transformers."""
    return any(map(reaches, ("transformers.", "efficiency.", "constants.")))


def _transformer_parameters(
    parameters: Mapping[str, float], change: Change, constants: Calibration
) -> dict[str, Any]:
    """Return the parameters of transformers changed, each under the name of its source."""

    def changed(name: str, value: float) -> Any:
        if name.partition("/")[0] in SHARED:
            return change(value, f"efficiency.{name}", FITTED)
        if name in transformers.OF_ALL_NETWORKS:
            return change(value, f"constants.{name}", _source_of(name, value, constants))
        return change(value, f"transformers.{name}", OF_TRANSFORMERS)

    return {name: changed(name, value) for name, value in parameters.items()}


def _data(workload: Workload, change: Change) -> dict[str, Any]:
    """Return the changed numbers of a network's samples, by field of ``Workload``."""
    return {
        field: change(value, f"{workload.id}.{field}", OF_NETWORK)
        for field in ("input_elements", "stored_bytes", "dataset_samples")
        if (value := getattr(workload, field))
    }


def _workload(workload: Workload, change: Change) -> Workload:
    """Return a workload with changed counts of layers, tensors, tables and samples."""
    known = {field: workload.column(field) for field in COLUMNS}
    columns = {field: change(value, f"{workload.id}.{field}", OF_NETWORK) for field, value in known.items()}
    tensors = change(workload.tensor_elements, f"{workload.id}.tensors", OF_NETWORK)
    others = _data(workload, change)
    if has_layouts(workload):
        others |= widths_of(workload, change)
    if workload.tables is not None:
        tables = workload.tables._asdict().items()
        others["tables"] = with_parts(
            workload.tables,
            {field: change(each, f"{workload.id}.tables.{field}", OF_NETWORK) for field, each in tables},
        )
    is_same = with_parts(known, columns) is known and tensors is workload.tensor_elements
    if is_same and all(value is getattr(workload, name) for name, value in others.items()):
        return workload
    return workload.with_counts(columns, tensors, others)


def _constants(
    constants: Calibration, change: Change, reaches: Reaches
) -> tuple[Calibration, dict[str, Any]]:
    """Return the constants changed, and the changed parameters of collectives."""
    changed: dict[str, Any] = {}
    if reaches("efficiency."):
        changed["efficiency"] = constants.efficiency.with_numbers(
            lambda value, name: change(value, f"efficiency.{name}", FITTED)
        )
    known = collectives.shipped()
    if not any(map(reaches, ("collectives.", "constants.", "link_fraction."))):
        return with_parts(constants, changed), {collectives.COLLECTIVES: known}
    parameters = {
        name: change(value, f"collectives.{name}", OF_COLLECTIVES) for name, value in known.parameters.items()
    }
    for field, name in LATENCIES.items():
        value = getattr(constants, field)
        changed[field] = (
            parameters[name]
            if value == known.parameters[name]
            else change(value, f"constants.{field}", FITTED)
        )
    for field in constants._fields:
        value = getattr(constants, field)
        if field not in changed and isinstance(value, float):
            changed[field] = change(value, f"constants.{field}", _source_of(field, value, constants))
    changed["link_fraction"] = {
        kind: change(value, f"link_fraction.{kind}", _source_of(f"link_fraction.{kind}", value, constants))
        for kind, value in constants.link_fraction.items()
    }
    return with_parts(constants, changed), {
        collectives.COLLECTIVES: with_parts(known, {"parameters": parameters})
    }


def _source_of(name: str, value: float, constants: Calibration) -> str:
    """Return the source of a constant: its prior's, or the fit if measured runs moved it."""
    entry = facts().get(name)
    if name in constants.assumed:
        return "assumed"
    if entry is None or entry["value"] != value:
        return FITTED
    return f"{entry['basis']} ({entry['source']})" if "source" in entry else str(entry["basis"])
