"""Read the job from its traces: accelerator, number of ranks, precision, batch size and network."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from perfmodel.core.errors import refusal
from perfmodel.evidence.traces.device_trace import DeviceTrace
from perfmodel.evidence.traces.products import alike, contradiction, likeliest
from perfmodel.hardware.catalogue.store import Catalogue
from perfmodel.model.options.scenario import Scenario
from perfmodel.workloads.catalogue import network
from perfmodel.workloads.workload import Workload

_FORM = re.compile(r"sxm\d*|pcie|nvl")
_MEMORY = re.compile(r"(\d+)gb")
_FILLERS = frozenset(
    {"nvidia", "tesla", "geforce", "amd", "instinct", "quadro", "graphics", "generation", "grace", "hopper"}
)
_TOKEN = re.compile(r"[a-z0-9]+")
_EXTRAS = re.compile(r"\(.*?\)|\d+ ?gb")
"""Matches the parts of accelerators' names that are not the model: remarks and the memory."""
LEAST_ALIKE = 2 / 3
"""Least share of the traced convolutions that the given network must have [1]; first layers are often
changed."""
NOT_IN_TRACE = ("workload", "precision", "local_batch_size")
"""Options of a job that a trace may not state."""


def job_of(
    traces: Sequence[DeviceTrace], scenario: Scenario, catalogue: Catalogue
) -> tuple[Scenario, list[str]]:
    """Return a scenario whose open options are filled in from traces, and messages about that.

    Raises
    ------
    InputError : the scenario names another accelerator, precision or batch size than the traces, or neither
        names a known accelerator
    """
    report: list[str] = []
    if not traces:
        return scenario, report
    filled: dict[str, Any] = {}
    ranks = max((trace.world_size or 0 for trace in traces), default=0)
    if ranks and scenario.world_size != ranks:
        if "world_size" in scenario.model_fields_set:
            report.append(f"--gpus {scenario.world_size}: the trace is of {ranks}, which holds")
        filled["world_size"] = ranks
    accelerator = scenario.accelerator
    if accelerator is None and scenario.node is not None:
        accelerator = catalogue.node(scenario.node).accelerator
    if accelerator is not None:
        accelerator = catalogue.accelerator(accelerator).id
    named = next((trace for trace in traces if trace.accelerator), None)
    family = accelerators_called(named.accelerator, named.memory, catalogue) if named else []
    if named is None:
        if accelerator is None:
            raise refusal("trace.no_accelerator").under(traces[0].file)
    elif not family:
        if accelerator is None:
            raise refusal("trace.unknown_accelerator", accelerator=named.accelerator).under(named.file)
        report.append(f"the trace calls its GPU {named.accelerator!r}: taken as {accelerator}")
    elif accelerator is None:
        filled["accelerator"] = family[0]
        report.append(f"--accelerator {family[0]}: the trace calls it {named.accelerator!r}")
    elif accelerator not in family:
        raise refusal(
            "trace.other_accelerator", accelerator=named.accelerator, asked=accelerator, family=family[0]
        ).under(named.file)
    elif accelerator != family[0]:
        report.append(
            f"the trace calls its GPU {named.accelerator!r}, which looks like {family[0]}, not {accelerator}"
        )
    for name, value in run_as(traces, scenario).items():
        filled[name] = value
        report.append(f"--{name.replace('_', '-')} {value}: that of the trace's products")
    given = {name: getattr(scenario, name) for name in scenario.model_fields_set}
    return Scenario.model_construct(**given | filled), report


def run_as(traces: Sequence[DeviceTrace], scenario: Scenario) -> dict[str, Any]:
    """Return precision and batch size from traces, by field, for those that the scenario leaves open.

    Raises
    ------
    InputError : the scenario contradicts the traces in precision, batch size or network
    """
    result: dict[str, Any] = {}
    given = scenario.model_fields_set
    if "workload" in given and any(trace.convolutions for trace in traces):
        check_network(traces, network(scenario.workload, scenario.sequence_length, scenario.image_tokens))
    for trace in traces:
        if trace.formats and "precision" in given:
            better = contradiction(scenario.precision or "", trace.formats)
            if better:
                formats = " and ".join(trace.formats)
                raise refusal(
                    "trace.precision", formats=formats, precision=scenario.precision, better=better
                ).under(Path(trace.file).name)
        elif likeliest(trace.formats):
            result["precision"] = likeliest(trace.formats)
        batch = _batch_of(scenario, trace.world_size)
        if trace.samples and batch is None:
            result["local_batch_size"] = trace.samples
        elif trace.samples and trace.samples != batch:
            raise refusal("trace.batch", samples=trace.samples, batch=batch).under(Path(trace.file).name)
    return result


def check_network(traces: Sequence[DeviceTrace], workload: Workload) -> None:
    """Check that a network has most of the convolutions that traces recorded.

    Raises
    ------
    InputError : it has less than ``LEAST_ALIKE`` of them
    """
    convolutions = [layer for layer in workload.layers if layer.operation.convolves]
    if not any(layer.tensors for layer in convolutions or workload.layers):
        return  # a table of layers may omit the numbers of weights
    # a linear layer with one row for each image is a gate on pooled images, often run as a convolution
    gates = [layer for layer in workload.layers if layer.kind == "linear" and layer.gemm_rows <= 1]
    own = {layer.tensors[0] for layer in (*convolutions, *gates) if convolutions and layer.tensors}
    for trace in traces:
        if trace.convolutions and alike(trace.convolutions, own) < LEAST_ALIKE:
            both = len(trace.convolutions & own)
            raise refusal(
                "trace.other_network", workload=workload.id, count=len(trace.convolutions), both=both
            ).under(Path(trace.file).name)


def _batch_of(scenario: Scenario, ranks: int | None) -> float | None:
    """Return the samples of one pass on one accelerator by a scenario, None if it does not state them."""
    if scenario.global_batch_size is None:
        return scenario.local_batch_size
    return scenario.global_batch_size / (ranks or scenario.world_size) / (scenario.accumulation_steps or 1)


def accelerators_called(name: str | None, memory: float | None, catalogue: Catalogue) -> list[str]:
    """Return the ids of the accelerators that a driver's name may mean, the likeliest first; none if unknown.

    Parameters
    ----------
    name : of the device, by its driver
    memory : that the driver reports [B], None if unknown
    catalogue : hardware

    Examples
    --------
    The name of a board may state neither its form nor its memory; the reported memory decides:

    >>> accelerators_called("NVIDIA A100-PG509-200", 42.3e9, Catalogue.built_in())[0]
    'a100-sxm4-40gb'
    >>> accelerators_called("NVIDIA GeForce RTX 2080 Ti", None, Catalogue.built_in())
    ['rtx-2080-ti']
    >>> accelerators_called("NVIDIA A100 80GB PCIe", None, Catalogue.built_in())[0]
    'a100-pcie-80gb'
    """
    if not name:
        return []
    words = set(_TOKEN.findall(name.lower()))
    names = {one.id: one.names[0].lower() for one in catalogue.named("accelerators") if one.names}
    models = {id: model for id, called in names.items() if (model := _model(called)) and model <= words}
    longest = max(map(len, models.values()), default=0)
    best = [id for id, model in models.items() if len(model) == longest]
    form = set(filter(_FORM.fullmatch, words))
    size = next((float(result[1]) for word in words if (result := _MEMORY.fullmatch(word))), None)
    if size is None and memory:
        size = memory / 2**30

    def unlike(id: str) -> tuple[bool, float, bool, str]:
        fitted = catalogue.accelerator(id).memory_bytes.value / 2**30
        own = set(filter(_FORM.fullmatch, _TOKEN.findall(names[id])))
        is_module = any(word.startswith("sxm") for word in own)
        return not form <= own, abs(fitted - size) if size else 0.0, not is_module, id

    return sorted(best, key=unlike)


def _model(name: str) -> set[str]:
    """Return the words of an accelerator's name that identify its model."""
    words = set(_TOKEN.findall(_EXTRAS.sub("", name)))
    return {word for word in words if not _FORM.fullmatch(word)} - _FILLERS
