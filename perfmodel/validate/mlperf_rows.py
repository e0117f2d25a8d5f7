"""Read MLPerf Training submissions from a CSV file."""

from __future__ import annotations

import csv
import math
from functools import cache
from pathlib import Path
from typing import NamedTuple

from perfmodel.errors import InputError
from perfmodel.reading import read_table
from perfmodel.resources import folder

ROUNDS = ("v0.5", "v0.6", "v0.7", "v1.0", "v1.1")
"""In the order they were held."""
BENCHMARKS = ("resnet50", "bert")
LARGEST_BATCH = 10_000_000
LARGEST_COUNT = 1_000_000
"""Accelerators of a job."""
LARGEST_FIGURE = 1e12
"""Seconds or samples; beyond it, a slip of the unit."""


class Submission(NamedTuple):
    """One system's result in one benchmark; text that was not stated is empty, a number None."""

    run_id: str
    round: str
    year: int
    submitter: str
    system: str
    framework: str
    benchmark: str
    """``resnet50`` (v1.5) or ``bert`` (large)."""
    accelerator: str
    intra_link: str
    inter_link: str
    nics: int | None
    nodes: int
    accelerators_per_node: int
    world_size: int
    global_batch_size: int
    time_to_train: float
    """[s] from the start of the run to the target."""
    samples_per_second: float | None
    """Of all accelerators together; ``note`` says whether evaluations count."""
    samples_to_target: float | None
    """Samples trained on until the target was met: the median of the successful runs."""
    note: str

    @property
    def local_batch_size(self) -> int:
        """Samples of one accelerator and iteration, to the nearest whole number."""
        return max(round(self.global_batch_size / self.world_size), 1)


def _number(row: dict[str, str], column: str, where: str) -> float:
    try:
        value = float(row[column])
    except ValueError:
        value = math.nan
    if not 0 < value <= LARGEST_FIGURE:
        raise InputError(f"{where}, column {column}: {row[column][:60]!r}; expected a positive number")
    return value


def _whole(row: dict[str, str], column: str, where: str, largest: int = LARGEST_COUNT) -> int:
    cell = row[column]
    if not (cell.isascii() and cell.isdigit() and 1 <= int(cell[:12]) <= largest):
        raise InputError(
            f"{where}, column {column}: {cell[:60]!r}; expected a whole number from 1 to {largest}"
        )
    return int(cell)


def _one_of(row: dict[str, str], column: str, where: str, words: tuple[str, ...]) -> str:
    if row[column] not in words:
        raise InputError(
            f"{where}, column {column}: {row[column][:60]!r}; expected one of {', '.join(words)}"
        )
    return row[column]


def _submission(row: dict[str, str], where: str) -> Submission:
    def number(column: str) -> float:
        return _number(row, column, where)

    def count(column: str) -> int:
        return _whole(row, column, where)

    def optional(column: str) -> float | None:
        return number(column) if row[column] else None

    if count("world_size") != count("nodes") * count("accelerators_per_node"):
        raise InputError(
            f"{where}, column world_size: {row['world_size']}; expected nodes x accelerators_per_node"
        )
    return Submission(
        run_id=row["run_id"],
        round=_one_of(row, "round", where, ROUNDS),
        year=count("year"),
        submitter=row["submitter"],
        system=row["system"],
        framework=row["framework"],
        benchmark=_one_of(row, "workload", where, BENCHMARKS),
        accelerator=row["accelerator"],
        intra_link=row["intra_link"],
        inter_link=row["inter_link"],
        nics=count("nics_per_node") if row["nics_per_node"] else None,
        nodes=count("nodes"),
        accelerators_per_node=count("accelerators_per_node"),
        world_size=count("world_size"),
        global_batch_size=_whole(row, "global_batch_size", where, LARGEST_BATCH),
        time_to_train=number("time_to_train"),
        samples_per_second=optional("samples_per_second"),
        samples_to_target=optional("samples_to_target"),
        note=row["note"],
    )


def read_submissions(path: Path) -> list[Submission]:
    """Return the submissions of a CSV file with the columns of ``validation/measured/mlperf.csv``.

    Raises
    ------
    InputError : a file that cannot be read, a missing column, a cell that does not fit
    """
    try:
        with read_table(path) as file:
            reader = csv.DictReader(file, restval="")
            found = [_submission(row, f"{path}: line {reader.line_num}") for row in reader]
    except KeyError as error:
        raise InputError(f"{path}: line 1: no column {error.args[0]}") from None
    except csv.Error as error:
        raise InputError(f"{path}: cannot be read: {error}") from None
    if not found:
        raise InputError(f"{path}: no submissions below the header line")
    return found


@cache
def shipped_submissions() -> tuple[Submission, ...]:
    """The ResNet-50 and BERT submissions that come with the package, on any accelerator, read once."""
    return tuple(read_submissions(folder("validation") / "measured" / "mlperf.csv"))
