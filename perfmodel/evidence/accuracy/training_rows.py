"""Read measured data-parallel training runs from a CSV file, and check every cell that is used."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple, get_args

from perfmodel.core.choices import (
    LARGEST_WORLD_SIZE,
    SYNONYMS,
    Input,
    Overlap,
    PrecisionOfCopies,
    StrategyOfCopies,
)
from perfmodel.core.errors import refusal
from perfmodel.core.records.names import NONE
from perfmodel.evidence.accuracy.ledger.held_out import learned_part
from perfmodel.evidence.accuracy.measured_table import (
    NOT_STATED,
    UNSTATED_TRUST,
    Line,
    measured_lines,
    number,
    one_of,
    whole,
)
from perfmodel.model.setting.anchor import RANGES

LARGEST_BATCH = 1_000_000_000
"""Largest batch size that a row may state [samples]; recommenders use millions."""
TRUSTS = ("A", "B", "C", "D")
"""Trust classes, the best first."""
TRUSTED = ("A", "B")
"""Trust classes of the rows that fits learn from and error statistics include."""


class Run(NamedTuple):
    """One measured training run: configuration and outcome; unstated fields keep their defaults."""

    run_id: str = ""
    source: str = NOT_STATED
    locator: str = ""
    framework: str = ""
    workload: str = ""
    sequence_length: int | None = None
    accelerator: str = ""
    node: str = ""
    intra_link: str = ""
    inter_link: str = ""
    nics: int | None = None
    nodes: int = 0
    accelerators_per_node: int = 0
    world_size: int = 0
    precision: str = ""
    local_batch_size: int | None = None
    accumulation_steps: int = 1
    strategy: str = ""
    servers: int | None = None
    overlap: str = "unknown"
    input: str = ""
    samples_per_second: float | None = None
    """Rate of all accelerators together."""
    iteration_time: float | None = None
    """Time of one optimizer step [s]."""
    trust: str = UNSTATED_TRUST
    """Trust class, from A (best) to D."""
    global_batch_size: int | None = None
    """Samples of one optimizer step, as stated; predictions use the local batch size."""
    year: int | None = None
    """Year of the measurement, and so of its software."""
    note: str = ""
    options: str = ""
    """Options of its scenario as JSON, if a user's own table states them; else they follow from the other
    fields."""


def _between(quantity: str) -> Callable[[str], float]:
    """Return a function that converts a cell to a number in the range of an anchor's quantity."""
    low, high = RANGES[quantity]
    return number(low, high, f"a positive number, from {low:g} to {high:g} in SI units")


def _words(field: str, literal: Any, *more: str) -> Callable[[str], str]:
    """Return a function that converts a cell to a word of a scenario's field, or one of ``more``."""
    return one_of((*more, *get_args(literal)), SYNONYMS.get(field, NONE))


COUNTS = ("world_size", "nodes", "accelerators_per_node")
CHECKS: dict[str, Callable[[str], Any]] = {
    **dict.fromkeys((*COUNTS, "sequence_length", "nics", "servers", "year"), whole(LARGEST_WORLD_SIZE)),
    **dict.fromkeys(("local_batch_size", "global_batch_size"), whole(LARGEST_BATCH)),
    "accumulation_steps": whole(LARGEST_WORLD_SIZE),
    "precision": _words("precision", PrecisionOfCopies),
    "strategy": _words("strategy", StrategyOfCopies, "single"),
    "overlap": _words("overlap", Overlap, "unknown"),
    "input": _words("input", Input),
    "samples_per_second": _between("samples_per_second"),
    "iteration_time": _between("iteration_time"),
    "trust": one_of(TRUSTS),
}
"""Field of a ``Run`` -> function that checks and converts its cells; other fields hold any text."""
COLUMN_NAMES = {"sequence_length": "seq_len", "nics": "nics_per_node"}
"""Field -> name of its column, where they differ."""
COLUMNS = tuple(COLUMN_NAMES.get(field, field) for field in Run._fields[: Run._fields.index("trust") + 1])
"""Columns that a file must have; those of the later fields are optional."""


def read_runs(path: Path | str, before: str | None = None) -> list[Run]:
    """Return the runs of a CSV file in the schema of ``validation/README.md``.

    Parameters
    ----------
    path : of the file
    before : id of the run to stop before; None reads the file to its end

    Raises
    ------
    InputError : the file cannot be read, lacks a column, has a cell that does not fit (the message names line
        and column), counts that contradict each other, a ``run_id`` twice, or no runs
    """
    runs: list[Run] = []
    lines: dict[str, int] = {}
    for line in measured_lines(Path(path), COLUMNS, before):
        run = run_of(line)
        if run.run_id in lines:
            raise refusal("table.run_twice", run_id=run.run_id, lines=lines[run.run_id]).under(line.where)
        lines[run.run_id] = line.place
        runs.append(run)
    if not runs:
        raise refusal("table.no_runs").under(path)
    return runs


@cache
def shipped_runs() -> tuple[Run, ...]:
    """Return the shipped training runs that are not held out; read once."""
    return tuple(read_runs(*learned_part("training_runs.csv")))


def run_of(line: Line) -> Run:
    """Return the run of a row.

    Raises
    ------
    InputError : a cell does not fit its column, or counts contradict each other
    """
    where = line.where
    columns = {field: COLUMN_NAMES.get(field, field) for field in Run._fields[:-1]}
    fields: dict[str, Any] = {
        field: line.read(column, CHECKS.get(field, str))
        for field, column in columns.items()
        if line.text(column)
    }
    run = _with_all_counts(Run(**fields))
    run = run._replace(run_id=line.id("run_id"))
    if 0 not in (run.nodes, run.accelerators_per_node) and (
        run.world_size != run.nodes * run.accelerators_per_node
    ):
        raise refusal(
            "table.world_size",
            where=where,
            world_size=run.world_size,
            nodes=run.nodes,
            accelerators_per_node=run.accelerators_per_node,
            product=run.nodes * run.accelerators_per_node,
        )
    if run.strategy == "single" and run.world_size > 1:
        raise refusal("table.strategy", where=where, world_size=run.world_size)
    return run if run.strategy else run._replace(strategy="single" if run.world_size == 1 else "all-reduce")


def _with_all_counts(run: Run) -> Run:
    """Return a run in which a missing one of nodes, accelerators per node and world size is computed."""
    nodes, per_node, world_size = run.nodes, run.accelerators_per_node, run.world_size
    if world_size == 0:
        return run._replace(world_size=nodes * per_node)
    if world_size == 1:
        return run._replace(nodes=nodes or 1, accelerators_per_node=per_node or 1)
    if nodes and not per_node and world_size % nodes == 0:
        return run._replace(accelerators_per_node=world_size // nodes)
    if per_node and not nodes and world_size % per_node == 0:
        return run._replace(nodes=world_size // per_node)
    return run
