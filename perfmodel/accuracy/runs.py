"""Read measured training runs from a CSV file, and check every cell that is used."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple, TypeVar, get_args

from perfmodel.accuracy.held_out import learned_part
from perfmodel.accuracy.measured_table import (
    NOT_STATED,
    UNSTATED_TRUST,
    Line,
    measured_lines,
    number,
    one_of,
    whole,
)
from perfmodel.anchor import RANGES
from perfmodel.errors import InputError
from perfmodel.specs.names import NONE
from perfmodel.specs.scenario import (
    LARGEST_WORLD_SIZE,
    SYNONYMS,
    Input,
    Overlap,
    PrecisionOfCopies,
    StrategyOfCopies,
)

LARGEST_BATCH = 1_000_000_000
"""Largest batch [samples]; recommenders take millions."""
TRUSTS = ("A", "B", "C", "D")
TRUSTED = ("A", "B")
"""Rows that are learned from, and judged."""

_T = TypeVar("_T")


class Run(NamedTuple):
    """One measured configuration; text that was not stated is empty, a number None, a count of machines 0."""

    run_id: str
    source: str
    locator: str
    framework: str
    workload: str
    sequence_length: int | None
    accelerator: str
    node: str
    intra_link: str
    inter_link: str
    nics: int | None
    nodes: int
    accelerators_per_node: int
    world_size: int
    precision: str
    local_batch_size: int | None
    accumulation_steps: int
    strategy: str
    servers: int | None
    overlap: str
    input: str
    samples_per_second: float | None
    """Of all accelerators together."""
    iteration_time: float | None
    """One optimizer step [s]."""
    trust: str
    """A best to D worst."""
    global_batch_size: int | None = None
    """Samples of one optimizer step, as stated; what is predicted follows from the local batch."""
    year: int | None = None
    """Of the measurement, and so of its software."""
    note: str = ""
    options: str = ""
    """Of its scenario as JSON, where a user's own table states them; otherwise they follow from the rest."""


_count = whole(LARGEST_WORLD_SIZE)


def _between(quantity: str) -> Callable[[str], float]:
    low, high = RANGES[quantity]
    return number(low, high, f"a positive number, from {low:g} to {high:g} in SI units")


def _words(field: str, literal: Any, *more: str) -> Callable[[str], str]:
    """One of the words of a scenario's field, or of more, as people spell it."""
    return one_of((*more, *get_args(literal)), SYNONYMS.get(field, NONE))


def _or(blank: Any, check: Callable[[str], _T]) -> Callable[[str], Any]:
    """What a cell holds, or ``blank`` where nothing was stated."""
    return lambda cell: check(cell) if cell else blank


COLUMNS: dict[str, tuple[str, Callable[[str], Any]]] = {
    "run_id": ("run_id", str),
    "source": ("source", _or(NOT_STATED, str)),
    "locator": ("locator", str),
    "framework": ("framework", str),
    "workload": ("workload", str),
    "seq_len": ("sequence_length", _or(None, _count)),
    "accelerator": ("accelerator", str),
    "node": ("node", str),
    "intra_link": ("intra_link", str),
    "inter_link": ("inter_link", str),
    "nics_per_node": ("nics", _or(None, _count)),
    "nodes": ("nodes", _or(0, _count)),
    "accelerators_per_node": ("accelerators_per_node", _or(0, _count)),
    "world_size": ("world_size", _or(0, _count)),
    "precision": ("precision", _or("", _words("precision", PrecisionOfCopies))),
    "local_batch_size": ("local_batch_size", _or(None, whole(LARGEST_BATCH))),
    "accumulation_steps": ("accumulation_steps", _or(1, _count)),
    "strategy": ("strategy", _or("", _words("strategy", StrategyOfCopies, "single"))),
    "servers": ("servers", _or(None, _count)),
    "overlap": ("overlap", _or("unknown", _words("overlap", Overlap, "unknown"))),
    "input": ("input", _or("", _words("input", Input))),
    "samples_per_second": ("samples_per_second", _or(None, _between("samples_per_second"))),
    "iteration_time": ("iteration_time", _or(None, _between("iteration_time"))),
    "trust": ("trust", _or(UNSTATED_TRUST, one_of(TRUSTS))),
}
"""Column of the file -> field of a ``Run``, and what its cells may hold; any may be blank."""


OPTIONAL: dict[str, tuple[str, Callable[[str], Any]]] = {
    "global_batch_size": ("global_batch_size", _or(None, whole(LARGEST_BATCH))),
    "year": ("year", _or(None, _count)),
    "note": ("note", str),
}
"""Columns a file may leave out."""


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
    for line in measured_lines(Path(path), tuple(COLUMNS), before):
        run = run_of(line)
        if run.run_id in lines:
            raise InputError(f"{line.where}: run_id {run.run_id!r} is also on line {lines[run.run_id]}")
        lines[run.run_id] = line.place
        runs.append(run)
    if not runs:
        raise InputError(f"{path}: no runs below the header line")
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
    fields: dict[str, Any] = {
        field: line.checked(column, line.text(column), check)
        for column, (field, check) in (COLUMNS | OPTIONAL).items()
    }
    run = _counted(Run(**fields))
    run = run._replace(run_id=line.id("run_id"))
    if 0 not in (run.nodes, run.accelerators_per_node) and (
        run.world_size != run.nodes * run.accelerators_per_node
    ):
        raise InputError(
            f"{where}, column world_size: {run.world_size}; expected {run.nodes} nodes x "
            f"{run.accelerators_per_node} accelerators = {run.nodes * run.accelerators_per_node}"
        )
    if run.strategy == "single" and run.world_size > 1:
        raise InputError(f"{where}, column strategy: 'single' on {run.world_size} accelerators")
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
