"""The campaigns of transformers under any parallelism: time of a step, and memory of a rank."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cache
from typing import Any, NamedTuple

from perfmodel.core.command_line import command_line
from perfmodel.core.errors import InputError
from perfmodel.core.units import per_cent
from perfmodel.evidence.accuracy.campaign import Campaign, Command, Details, Outcome, run_command
from perfmodel.evidence.accuracy.measured_table import Line
from perfmodel.evidence.accuracy.readings import Reading, cells_of, read_facts
from perfmodel.evidence.accuracy.scenarios import Refused
from perfmodel.evidence.accuracy.transformers.transformer_compare import compare_transformers
from perfmodel.evidence.accuracy.transformers.transformer_details import details_of, with_details
from perfmodel.evidence.accuracy.transformers.transformer_networks import origin_of
from perfmodel.evidence.accuracy.transformers.transformer_rows import (
    COLUMNS,
    TransformerRun,
    case_of_row,
    drops_tokens,
    transformer_run_of,
)
from perfmodel.evidence.accuracy.transformers.transformer_rules import is_fine_tuning, packed_share
from perfmodel.evidence.accuracy.transformers.transformer_software import software_named
from perfmodel.hardware.catalogue.store import Catalogue
from perfmodel.hardware.formats import OPERANDS
from perfmodel.model.options.layout import FULL, RECOMPUTE, SHARDING
from perfmodel.model.options.scenario import Scenario
from perfmodel.model.prediction import predict
from perfmodel.model.prediction.result import Prediction
from perfmodel.model.transformers.architecture import dimensions_of
from perfmodel.model.transformers.job import Case, bare_job, job_of
from perfmodel.model.transformers.memory import memory_of
from perfmodel.model.transformers.parameters import fitted
from perfmodel.model.transformers.software import LAUNCHES, PACES
from perfmodel.model.transformers.step import step_of
from perfmodel.workloads import understood
from perfmodel.workloads import workload as workload_named


def _network(case: Case) -> str:
    """Return the dimensions of a case's network in words."""
    model = case.model
    experts = f", {model.experts:g} experts of which {model.top_k:g} work" if model.experts else ""
    heads = f"{model.heads:g} heads, {model.kv_heads:g} of keys"
    layers = f"{model.layers:g} layers of width {model.hidden:g}"
    return f"{layers}, {heads}, feed-forward {model.feed_forward:g}{experts}"


def _kernels(case: Case) -> str:
    """Return what is assumed of the kernels of a case's software in words."""
    software = case.stack
    words = [f"pace {PACES[software.pace]}", f"launches {LAUNCHES[software.launch]}"]
    words += ["fused"] if software.fused else []
    attention = "attention keeps no scores" if software.flash else "attention keeps its scores"
    precision = [f"products of {8 * software.operand_bytes:g} bits"] if software.narrow else []
    adapters = [f"adapters of rank {software.adapter_rank:g}"] if software.adapts else []
    return ", ".join((*words, attention, *precision, *adapters))


def _recomputation(case: Case) -> str:
    """Return the recomputation of a case in words."""
    layout = case.layout
    share = f" of {per_cent(layout.recomputed_layers, 0)} of layers" if layout.recompute == FULL else ""
    return RECOMPUTE[int(layout.recompute)] + share


WORDS: dict[str, Callable[[Case], str]] = {
    "network": _network,
    "kernels": _kernels,
    "sharding": lambda case: SHARDING[int(case.layout.sharding)],
    "recomputation": _recomputation,
}
"""Facts of ``readings.csv`` that are not attributes of a case, and how each is computed from one."""
TIMES = {
    "iteration_time": "as stated",
    "tokens_per_second": "tokens of a step over the rate",
    "model_tflops_per_accelerator": "the model's FLOP of a step over the rate",
    "mfu": "the model's FLOP of a step over that share of the bf16 peak",
    "hardware_tflops_per_accelerator": "FLOP of a step, 4/3 for recomputation, over the rate",
}
"""Columns from which the time of a step follows, and how; the first that is not blank counts."""


def readings_of_case(line: Line, case: Case) -> list[Reading]:
    """Return for each fact of a case what the row states, the value, and why that was assumed."""
    framework = line.cells["framework"]
    software = software_named(framework)
    assert software is not None
    why = f"nobody described it; nearest: {software.nearest}" if software.nearest else ""
    year = line.cells["year"]
    result = [Reading("software", framework, f"{software.stack} of {year}", why)]
    origin = origin_of(line)
    result += [
        each._replace(why=origin) if each.what == "network" else each
        for each in read_facts("transformers", line, case, WORDS, "not used")
        if (each.stated, each.read_as) != ("1", "not used")
    ]
    if drops_tokens(line):
        words = "as many of each; others are dropped"
        result.append(Reading("tokens of experts", "", words, "its recipe says so"))
    share = packed_share(line, case.sequence_length)
    if share < 1:
        why = "its source packs short samples or documents into sequences"
        result.append(Reading("scores of attention", "", f"{per_cent(share)} of all", why))
    elif is_fine_tuning(line):
        result.append(Reading("scores of attention", "", "of whole sequences", "no packing is known"))
    return result


def _of_details(line: Line, id_column: str) -> list[Reading]:
    """Return what a row's source says of it outside its table."""
    return [
        Reading(f"also: {each.column.replace('_', ' ')}", each.where, each.value or "none")
        for each in details_of(line, id_column)
    ]


def _details(line: Line, run: TransformerRun, outcome: Outcome, catalogue: Catalogue) -> Details:
    """Return how a row was read, the terms of its step, and the command that predicts it."""
    if run.case is None:
        return Details()
    also, line = _of_details(line, "run_id"), with_details(line, "run_id")
    readings = readings_of_case(line, run.case) + also
    if (column := next((name for name in TIMES if line.cells.get(name)), None)) is not None:
        stated = f"{column} {line.cells[column]}"
        usual = "" if run.states_batch else "; the batch is assumed, so rates are compared"
        readings.append(Reading("measured time", stated, f"{run.time:.4g} s", TIMES[column] + usual))
    step = step_of(job_of(run.case), fitted().parameters)
    terms = {name: float(time) for name, time in step._asdict().items() if float(time)}
    command = _command_of(line, run.case, catalogue, lambda answer: answer.iteration_time)
    return Details(readings, terms, command)


def _scenario(line: Line, case: Case, catalogue: Catalogue) -> Scenario | None:
    """Return the scenario nearest to a case, None if no shipped network has that name and shape."""
    name, layout, software = line.cells["workload"].partition(" (")[0], case.layout, case.stack
    known = software_named(line.cells["framework"])
    try:
        network = workload_named(understood(name).id, case.sequence_length)
        node = line.cells.get("node")
        machine = catalogue.node(node).id if node else None
    except InputError:
        return None
    if network.architecture is None or known is None or layout.data_parallel % 1:
        return None
    same = dimensions_of(network.architecture, case.sequence_length)
    if (same.layers, same.hidden, same.experts) != (case.model.layers, case.model.hidden, case.model.experts):
        return None
    stated = line.cells.get("precision")
    precision = stated if stated in ("fp16", *OPERANDS) else "fp8" if software.narrow else "bf16"
    several = case.nodes > 1
    options: dict[str, Any] = {
        "workload": network.id,
        "sequence_length": case.sequence_length,
        "framework": f"{known.stack}@{line.cells['year']}",
        "accelerator": case.fabric.accelerator.id,
        "node": machine,
        "world_size": int(layout.world_size),
        "inter_link": case.fabric.inter_link.id if several and line.cells.get("inter_link") else None,
        "precision": precision,
        **{name: value for name, value in layout.words().items() if name not in NOT_OPTIONS},
        "global_batch_size": int(layout.global_batch_size),
        "micro_batch_size": None if layout.micro_batch_size % 1 else int(layout.micro_batch_size),
        "lora": int(software.adapter_rank) if software.adapts else None,
        "capacity_factor": 1.0 if drops_tokens(line) else None,
    }
    if not case.model.experts:
        del options["expert_tensor_parallel"]
    return Scenario.model_construct(**{key: value for key, value in options.items() if value is not None})


NOT_OPTIONS = (
    "data_parallel",
    "accumulation_steps",
    "recomputed_layers",
    "micro_batch_size",
    "token_copies",
    "embedding_slots",
)
"""Words of a layout that are not passed as options: they follow from others, or are set with the batch."""


def _command_of(
    line: Line, case: Case, catalogue: Catalogue, answer: Callable[[Prediction], float]
) -> Command | None:
    """Return the command line that comes nearest to a case, with its answer; None if no scenario does.

    Parameters
    ----------
    line : the row
    case : the case that it was read as
    catalogue : hardware
    answer : the value of a prediction that the campaign measures
    """
    if (scenario := _scenario(line, case, catalogue)) is None:
        return None
    command = command_line("predict", scenario.model_dump(exclude_unset=True))
    return run_command(command, lambda: answer(predict(scenario, catalogue)))


def nearest_scenario(line: Line, run: TransformerRun, catalogue: Catalogue) -> Scenario | None:
    """Return the scenario nearest to a run, None if no shipped network has its name and shape."""
    return None if run.case is None else _scenario(line, run.case, catalogue)


CAMPAIGN = Campaign[TransformerRun](
    kind="transformers",
    table="transformer_runs.csv",
    id_column="run_id",
    columns=COLUMNS,
    measures="iteration time",
    unit="s",
    is_learned_from=True,
    read=transformer_run_of,
    predict=lambda runs, catalogue: compare_transformers(runs)[0],
    details=_details,
)


class MeasuredMemory(NamedTuple):
    """Measured peak memory of a run on its fullest accelerator, and the case that predicts it."""

    case: Case | None
    peak: float | None
    """Peak [B]; None if the source only says whether the run fitted."""
    of_tensors: bool
    """Whether the peak is of tensors alone, without driver, libraries and the allocator's gaps."""
    reason: str | None = None
    """Reason why there is no case."""

    @property
    def counted(self) -> str:
        """Property of ``Memory`` with what the peak includes."""
        return "tensors" if self.of_tensors else "total"


OF_TENSORS = ("allocated", "active")
"""Words in ``peak_kind`` of peaks that include tensors alone."""
MEMORY_COLUMNS = ("memory_id", *COLUMNS[1:], "outcome", "peak_memory_bytes", "peak_kind")


@cache
def _runs() -> dict[tuple[str, str], dict[str, str]]:
    """Return the cells that are not blank of the shipped runs, by source and id."""
    return {(line.cells["source"], line.cells["run_id"]): line.published for line in CAMPAIGN.lines()}


def _with_run(line: Line) -> Line:
    """Return a row of memory with its details, whose blank cells are filled in from the run of that id."""
    run = _runs().get((line.cells["source"], line.cells["memory_id"]), {})
    whole = line._replace(cells={**line.cells, **run, **line.published})
    return with_details(whole, "memory_id")


def _memory_of_line(line: Line, catalogue: Catalogue) -> MeasuredMemory:
    """Return the measured memory of a row."""
    row = _with_run(line)
    peak = row.number("peak_memory_bytes")
    of_tensors = any(word in row.text("peak_kind") for word in OF_TENSORS)
    try:
        return MeasuredMemory(case_of_row(row, catalogue), peak, of_tensors)
    except Refused as error:
        return MeasuredMemory(None, peak, of_tensors, str(error))


def memory_outcomes(measured: Sequence[MeasuredMemory], catalogue: Catalogue) -> list[Outcome]:
    """Return measured and predicted memory of the fullest rank [B], or why there is no prediction."""
    return [
        Outcome(each.peak, reason=each.reason)
        if each.case is None
        else Outcome(each.peak, float(getattr(memory_of(bare_job(each.case)), each.counted)))
        for each in measured
    ]


def _memory_details(line: Line, measured: MeasuredMemory, outcome: Outcome, catalogue: Catalogue) -> Details:
    """Return how a row of memory was read, the parts of its prediction, and the command that predicts it."""
    case = measured.case
    if case is None:
        return Details()
    counted = "bytes of tensors" if measured.of_tensors else "all bytes that a rank needs"
    capacity = f"{case.chip.memory_bytes:.0f}"
    readings = [
        *readings_of_case(_with_run(line), case),
        *_of_details(line, "memory_id"),
        Reading("memory of an accelerator", cells_of(line, ("device_memory_bytes",)), capacity, "its spec"),
        Reading("what was measured", cells_of(line, ("outcome", "peak_kind")), counted),
    ]
    rows = memory_of(bare_job(case))._asdict()
    if measured.of_tensors:
        del rows["reserved"], rows["allocator"]
    terms = {name: float(size) for name, size in rows.items() if float(size)}
    return Details(
        readings, terms, _command_of(line, case, catalogue, lambda answer: float(answer.memory.bytes))
    )


MEMORY = Campaign[MeasuredMemory](
    kind="memory",
    table="transformer_memory.csv",
    id_column="memory_id",
    columns=MEMORY_COLUMNS,
    measures="memory of the fullest accelerator",
    unit="B",
    is_learned_from=False,
    read=_memory_of_line,
    predict=memory_outcomes,
    details=_memory_details,
)
