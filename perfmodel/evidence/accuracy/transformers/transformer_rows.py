"""Read measured runs of transformers from a CSV file; a row that cannot be predicted states the reason."""

from __future__ import annotations

import math
from functools import cache
from pathlib import Path
from typing import NamedTuple

from perfmodel.evidence.accuracy.ledger.held_out import learned_part
from perfmodel.evidence.accuracy.measured_table import Line, measured_lines
from perfmodel.evidence.accuracy.scenarios import Refused, named
from perfmodel.evidence.accuracy.transformers import transformer_rules as rules
from perfmodel.evidence.accuracy.transformers.transformer_details import with_details
from perfmodel.evidence.accuracy.transformers.transformer_networks import (
    architecture_of,
    measured_time,
    stated_samples,
    states_batch,
    usual_length,
)
from perfmodel.evidence.accuracy.transformers.transformer_software import software_named, software_of_row
from perfmodel.hardware.accelerator import Accelerator
from perfmodel.hardware.catalogue.store import Catalogue
from perfmodel.hardware.formats import OPERANDS
from perfmodel.hardware.link import Link
from perfmodel.hardware.node import Node
from perfmodel.hardware.releases import release
from perfmodel.hardware.software import Release
from perfmodel.model.options.layout import CONTEXT_METHODS, RECOMPUTE, SHARDING, ULYSSES, Layout
from perfmodel.model.setting.routing import usual_expert_tensor
from perfmodel.model.transformers.architecture import dimensions_of
from perfmodel.model.transformers.job import Case
from perfmodel.model.transformers.machine import Chip, Fabric, chip_of
from perfmodel.model.transformers.software import Options, software_of
from perfmodel.workloads.architecture import Architecture

COLUMNS = ("run_id", "source", "year", "framework", "workload", "accelerator", "world_size", "precision")
EARLIEST_LIBRARY = 2017
"""Earliest year of a collective library; older runs are predicted with that of this year."""
PRECISIONS = {"fp16": "fp16", "bf16": "bf16"} | {name: name for name in OPERANDS}
"""Precision of a row -> precision that the model has rates for."""
UNTUNED = ("flagperf", "hpe-hpc-ai-envs", "bigscience-13b-v100", "baskerville-ddp")
"""Sources whose runs were set up by users, not by the developers of the stack, the network or the machine."""
SELECTIVE_SOURCES = ("vtrain-single",)
"""Sources whose rows are read as recomputing attention alone, although they state full recomputation: their
layers take less time than all products with a second forward pass at the best measured rate.  ``as_stated``
turns this off."""
PADDED = ("dgxc-v25.01", "dgxc-v25.02")
"""Sources whose mixtures of experts pad every expert's tokens to the mean and drop what exceeds it: DGX Cloud
Benchmarking 25.01, grok1/grok1_314b.yaml (read 2026-11-27)."""
GRAPHS_FROM = 2025
"""Megatron-Core's recipes for racks of 72 capture steps as CUDA graphs (assumed)."""


class TransformerRun(NamedTuple):
    """One measured run of a transformer, and the case that predicts it."""

    run_id: str
    source: str
    workload: str
    accelerator: str
    precision: str
    year: int
    series: str
    """Common label of the rows of one source that differ in the layout alone."""
    time: float
    """Measured time of one step [s]; not a number if the row does not state it."""
    case: Case | None
    reason: str | None
    """Why the run cannot be predicted; None if it can."""
    trust: str
    states_layout: bool
    """Whether the row states tensor and pipeline parallelism, and the micro-batch."""
    states_memory: bool
    """Whether the row states recomputation and sharding."""
    framework: str = ""
    states_batch: bool = True
    """Whether the row states the samples of a step, or its time; if not, rates are compared, at the usual
    batch."""
    nearest_stack: str = ""
    """Known stack that replaces the run's unknown software; empty if the software is known."""

    @property
    def tokens(self) -> float:
        """Tokens of one step; the run must have a case."""
        assert self.case is not None
        return float(self.case.layout.global_batch_size) * self.case.sequence_length

    @property
    def kind(self) -> str:
        """Class of the run's error: experts, or dense with or without a stated layout; "" without a case."""
        if self.case is None:
            return ""
        if self.case.model.experts:
            return "experts"
        known = self.states_layout and not self.case.model.is_encoder_decoder
        return "dense, stated layout" if known else "dense, unstated layout"


def read_transformer_runs(
    path: Path,
    catalogue: Catalogue,
    as_stated: bool = False,
    before: str | None = None,
) -> list[TransformerRun]:
    """Return the measured runs of a CSV file; rows that cannot be predicted stay in, with the reason.

    Parameters
    ----------
    path : of the file
    catalogue : hardware
    as_stated : whether rows of ``SELECTIVE_SOURCES`` are read as they state
    before : id of the run to stop before; None reads the file to its end

    Raises
    ------
    InputError : the file cannot be read, lacks a column, or has a cell that does not fit
    """
    return [transformer_run_of(line, catalogue, as_stated) for line in measured_lines(path, COLUMNS, before)]


@cache
def shipped_transformer_runs(as_stated: bool = False) -> tuple[TransformerRun, ...]:
    """Return the shipped runs that are not held out; read once."""
    path, before = learned_part("transformer_runs.csv")
    return tuple(read_transformer_runs(path, Catalogue.built_in(), as_stated, before))


def transformer_run_of(
    line: Line,
    catalogue: Catalogue,
    as_stated: bool = False,
) -> TransformerRun:
    """Return the run of a row; if it cannot be predicted, with the reason.

    Raises
    ------
    InputError : a cell does not fit its column
    """
    line = with_details(line, COLUMNS[0])
    case, reason, time = None, None, math.nan
    try:
        case = case_of_row(line, catalogue, as_stated)
        time = measured_time(line, case, catalogue)
    except Refused as error:
        case, reason = None, str(error)
    stated = all(line.text(name) for name in ("tensor_parallel", "pipeline_parallel", "micro_batch_size"))
    return TransformerRun(
        line.id("run_id"),
        line.source,
        line.text("workload"),
        line.text("accelerator"),
        line.text("precision"),
        line.whole("year") or 0,
        line.text("series"),
        time,
        case,
        reason,
        line.trust,
        stated,
        bool(line.text("recompute") and line.text("sharding")),
        line.text("framework"),
        states_batch(line),
        software.stack if (software := software_named(line.text("framework"))) and software.nearest else "",
    )


def case_of_row(
    row: Line,
    catalogue: Catalogue,
    as_stated: bool = False,
) -> Case:
    """Return the case by which a row is predicted; measured values are not used.

    Raises
    ------
    Refused : the row states too little, or a name that is unknown
    """
    precision = "fp8" if "float8" in row.text("options") else PRECISIONS.get(row.text("precision"), "")
    if not precision:
        raise Refused("unknown precision" if row.text("precision") else "no precision", row.text("precision"))
    world, year = row.whole("world_size"), row.whole("year")
    if not world or not year:
        raise Refused("no world_size" if year else "no year")
    facts = release(f"{software_of_row(row.text('framework')).stack}@{year}", catalogue)
    accelerator = catalogue.accelerator(named("accelerators", row.text("accelerator"), catalogue))
    chip, workload = chip_of(accelerator, precision), row.text("workload")
    architecture = architecture_of(row)
    length = row.whole("seq_len") or usual_length(workload, row.text("framework"))
    parameters = row.number("n_params") or float(architecture.parameters)
    layout = _layout(row, facts, chip, architecture, parameters, length, world)
    options = _options(row, precision, year, facts)
    model = dimensions_of(architecture, length)
    share = rules.packed_share(row, length)
    model = model._replace(attended=model.attended * share)
    software = software_of(facts, chip, model, layout, options)
    if row.text("source") == "korthikanti-2022":  # rows with full recomputation have no sequence parallelism
        software = software._replace(shares_sequence=row.text("recompute") == "selective")
    case = Case(model, layout, chip, software, _fabric(row, accelerator, catalogue, year), length)
    word = row.word("recompute", RECOMPUTE)
    if not as_stated and row.text("source") in SELECTIVE_SOURCES:
        word = "selective"
    filled = rules.stated_recomputation(layout, word) if word else rules.recomputation(case, facts)
    return case._replace(layout=filled)


def _options(row: Line, precision: str, year: int, facts: Release) -> Options:
    """Return the options of a row's software, from its columns ``options`` and ``workload``."""
    words, workload = row.text("options").split("+"), row.text("workload").lower()
    return Options(
        precision=precision,
        compiled="compiled" in words,
        transformer_engine="transformer-engine" in words,
        async_tensor="async-tp" in words,
        overlaps="no-overlap" not in words,
        adapter_rank=rules.ADAPTER_RANK if "lora" in workload else 0,
        drops_tokens=drops_tokens(row),
        graphs=facts.interleaves and year >= GRAPHS_FROM and row.text("accelerator").startswith("gb"),
        frozen_weights="nf4-double" if "qlora" in workload else "16-bit",
        host_update="offload" in words,
        fused_loss="fused-loss" in words,
        host_checkpoints="host-checkpoints" in words,
        shares_checkpoints="shared-checkpoints" in words,
        tuned=row.text("source") not in UNTUNED,
        **rules.of_ladder(row.text("locator")),
    )


def drops_tokens(row: Line) -> bool:
    """Return whether every expert of a row takes as many tokens, and what exceeds them is dropped."""
    workload = row.text("workload").lower()
    padded = "padded-experts" in row.text("options").split("+")
    return padded or "tokendrop" in workload or (row.text("source") in PADDED and "moe" in workload)


def _layout(
    row: Line, facts: Release, chip: Chip, model: Architecture, parameters: float, length: int, world: int
) -> Layout:
    """Return the layout of a row, without recomputation; rules fill in what the row leaves open.

    Parameters
    ----------
    row : the row
    facts : its software
    chip : its accelerator
    model : its network
    parameters : of the network
    length : tokens of a sample
    world : number of accelerators
    """
    source = row.text("source")
    sharding = row.word("sharding", SHARDING)
    is_sharded = sharding == "zero3" or facts.checkpoints_operations or bool(chip.is_tpu)
    tensor, stages = row.whole("tensor_parallel"), row.whole("pipeline_parallel")
    replicas = row.number("data_parallel")
    samples = stated_samples(row, length)
    if not tensor or not stages:
        tensor, stages = rules.degrees(world, replicas, parameters, chip.memory_bytes, is_sharded)
        if "long-sequence" in source and samples:
            tensor, stages = rules.without_context(world, samples, length)
    context = row.whole("context_parallel") or 1
    expert = (row.whole("expert_parallel") or 1) if model.experts else 1
    copies = expert if facts.copies_tokens else 1
    replica = tensor * stages * context * copies
    if not replicas or replicas * replica != world:
        replicas = max(1.0, world / replica)
    steps, micro = row.number("accumulation_steps"), row.number("micro_batch_size")
    if not samples:
        samples = (micro or 0) * replicas * (steps or 1) or rules.step_samples(replicas, length, is_sharded)
    local = samples / replicas
    if not micro and steps:
        micro = local / steps
    if not micro:
        fine_tuning = rules.is_fine_tuning(row)
        micro = rules.micro_batch(facts, local, length, stages, is_sharded, fine_tuning)
    micro = min(micro, local)
    steps = steps if steps and abs(micro * steps / local - 1) < 0.02 else max(1.0, local / micro)
    virtual = row.whole("virtual_stages")
    if not virtual:
        interleaved = "interleaved" in row.text("options")
        virtual = rules.chunks(facts, source, model.layers, stages, interleaved)
    word = sharding or rules.sharding_of(facts, parameters, tensor, stages, chip.memory_bytes)
    parts = row.whole("expert_tensor_parallel") or usual_expert_tensor(facts.whole_experts, model, tensor)
    return Layout(
        tensor,
        stages,
        virtual,
        context,
        expert,
        parts if model.experts else 1,
        replicas,
        SHARDING.index(word),
        0,
        0.0,
        micro,
        steps,
        end_slots=int(facts.embedding_slots and stages > 1),
        context_method=(method := CONTEXT_METHODS.index(facts.context_method)),
        context_inner=context if method == ULYSSES else 1,
        token_copies=copies,
    )


def _fabric(row: Line, accelerator: Accelerator, catalogue: Catalogue, year: int) -> Fabric:
    """Return the links of a row: as stated, else those of the accelerator and its usual machine."""
    host = catalogue.link(accelerator.host_link)
    own = catalogue.link(accelerator.peer_link) if accelerator.peer_link else None
    link = own or host
    if row.text("intra_link"):
        link = catalogue.link(named("links", row.text("intra_link"), catalogue))
        if own is not None and own.bandwidth.value < link.bandwidth.value:
            link = own
    nodes, per_node = row.whole("nodes") or 1, row.whole("accelerators_per_node") or 8
    usual = catalogue.node(accelerator.usual_node) if accelerator.usual_node else None
    inter = _inter_link(row, usual, catalogue)
    own_nics = per_node if per_node >= 4 or nodes == 1 else 1
    if usual is not None and usual.nics and not row.text("inter_link"):
        own_nics = max(own_nics, usual.nics * per_node // usual.accelerators)
    nics = row.number("nics_per_node") or own_nics
    if row.text("inter_link") == "dcn":
        nics = per_node
    domain = max(float(per_node), link.domain.value if link.domain is not None else 0.0)
    library = max(EARLIEST_LIBRARY, year)
    return Fabric(accelerator, link, inter, float(per_node), domain, float(nics), host, library)


def _inter_link(row: Line, usual: Node | None, catalogue: Catalogue) -> Link:
    """Return the link between nodes: as stated, else that of the usual machine, if there is one."""
    if row.text("inter_link"):
        return catalogue.link(named("links", row.text("inter_link"), catalogue))
    return catalogue.link((usual and usual.inter_link) or rules.USUAL_INTER_LINK)
