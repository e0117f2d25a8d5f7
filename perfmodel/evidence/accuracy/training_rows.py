"""Read measured training runs from a CSV file, and check every cell that is used."""

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
"""Largest batch [samples]; recommenders take millions."""
TRUSTS = ("A", "B", "C", "D")
TRUSTED = ("A", "B")
"""Rows that are learned from, and judged."""


class Run(NamedTuple):
    """One measured configuration; what was not stated is as the defaults say."""

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
    """Of all accelerators together."""
    iteration_time: float | None = None
    """One optimizer step [s]."""
    trust: str = UNSTATED_TRUST
    """A best to D worst."""
    global_batch_size: int | None = None
    """Samples of one optimizer step, as stated; what is predicted follows from the local batch."""
    year: int | None = None
    """Of the measurement, and so of its software."""
    note: str = ""
    options: str = ""
    """Of its scenario as JSON, where a user's own table states them; otherwise they follow from the rest."""


def _between(quantity: str) -> Callable[[str], float]:
    low, high = RANGES[quantity]
    return number(low, high, f"a positive number, from {low:g} to {high:g} in SI units")


def _words(field: str, literal: Any, *more: str) -> Callable[[str], str]:
    """One of the words of a scenario's field, or of more, as people spell it."""
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
"""Field of a ``Run`` -> what its cells may hold, where not any text; any may be blank."""
CALLED = {"sequence_length": "seq_len", "nics": "nics_per_node"}
"""Field -> its column, where that is called otherwise."""
COLUMNS = tuple(CALLED.get(field, field) for field in Run._fields[: Run._fields.index("trust") + 1])
"""Columns of the file; those of the later fields may be left out."""


def read_runs(path: Path | str, before: str | None = None) -> list[Run]:
    """Return the runs of a CSV file in the schema of ``validation/README.md``.

    Parameters
    ----------
    before : run to stop at; None, the file is read to its end

    Raises
    ------
    InputError : a file that cannot be read, a missing column, a cell that does not fit (line and column
        are named), counts that contradict each other, one ``run_id`` twice
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
    """The published training runs that come with the package and are not held out, read once."""
    return tuple(read_runs(*learned_part("training_runs.csv")))


def run_of(line: Line) -> Run:
    """Return the run of a row.

    Raises
    ------
    InputError : a cell that does not fit its column, counts that contradict each other
    """
    where = line.where
    columns = {field: CALLED.get(field, field) for field in Run._fields[:-1]}
    fields: dict[str, Any] = {
        field: line.read(column, CHECKS.get(field, str))
        for field, column in columns.items()
        if line.text(column)
    }
    run = _counted(Run(**fields))
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


def _counted(run: Run) -> Run:
    """The run with the one of its three counts that follows from the other two."""
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
