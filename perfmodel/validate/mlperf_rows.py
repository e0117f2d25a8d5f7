"""Read MLPerf Training submissions from a CSV file."""

from __future__ import annotations

import csv
import math
from functools import cache
from pathlib import Path
from typing import NamedTuple

from perfmodel.errors import InputError
from perfmodel.resources import folder

ROUNDS = ("v0.5", "v0.6", "v0.7", "v1.0", "v1.1")
"""In the order they were held."""


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


def _number(row: dict[str, str], column: str, where: str, largest: float = 1e12) -> float:
    try:
        value = float(row[column])
    except ValueError:
        value = math.nan
    if not 0 < value <= largest:
        raise InputError(f"{where}, column {column}: {row[column][:60]!r}; expected a positive number")
    return value


def _submission(row: dict[str, str], where: str) -> Submission:
    def number(column: str) -> float:
        return _number(row, column, where)

    def optional(column: str) -> float | None:
        return number(column) if row[column] else None

    if row["round"] not in ROUNDS:
        raise InputError(f"{where}, column round: {row['round'][:60]!r}; expected one of {', '.join(ROUNDS)}")
    nics = optional("nics_per_node")
    return Submission(
        run_id=row["run_id"],
        round=row["round"],
        year=int(number("year")),
        submitter=row["submitter"],
        system=row["system"],
        framework=row["framework"],
        benchmark=row["workload"],
        accelerator=row["accelerator"],
        intra_link=row["intra_link"],
        inter_link=row["inter_link"],
        nics=None if nics is None else int(nics),
        nodes=int(number("nodes")),
        accelerators_per_node=int(number("accelerators_per_node")),
        world_size=int(number("world_size")),
        global_batch_size=int(number("global_batch_size")),
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
        with path.open(newline="", encoding="utf-8") as file:
            reader = csv.DictReader(file, restval="")
            return [_submission(row, f"{path}: line {reader.line_num}") for row in reader]
    except KeyError as error:
        raise InputError(f"{path}: line 1: no column {error.args[0]}") from None
    except (OSError, UnicodeDecodeError, csv.Error) as error:
        raise InputError(f"{path}: cannot be read: {getattr(error, 'strerror', None) or error}") from None


@cache
def shipped_submissions() -> tuple[Submission, ...]:
    """The ResNet-50 and BERT submissions that come with the package, on any accelerator, read once."""
    return tuple(read_submissions(folder("validation") / "measured" / "mlperf.csv"))
