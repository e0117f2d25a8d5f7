"""Read MLPerf Training submissions from a CSV file."""

from __future__ import annotations

from functools import cache
from pathlib import Path
from typing import NamedTuple

from perfmodel.accuracy.held_out import learned_part
from perfmodel.accuracy.measured_table import Line, measured_lines, number, one_of, records, whole
from perfmodel.accuracy.scenarios import Refused
from perfmodel.errors import InputError
from perfmodel.resources import folder
from perfmodel.specs.names import word_of

YEARS = {row["round"]: int(row["year"]) for row in records(folder("validation") / "mlperf_rounds.csv")}
"""Of each round, in the order they were held."""
ROUNDS = tuple(YEARS)
BENCHMARKS = ("resnet50", "bert")
LARGEST_BATCH = 10_000_000
LARGEST_COUNT = 1_000_000
"""Accelerators of a job."""
LARGEST_FIGURE = 1e12
"""Largest number of seconds or samples; more is a wrong unit."""


DECISIVE = ("round", "accelerator", "global_batch_size", "time_to_train")
"""Columns without which a row says nothing; so it is with ``world_size``, which others may tell."""
COLUMNS = (*DECISIVE, "run_id", "workload", "world_size", "nodes", "accelerators_per_node", "year")
TEXTS = ("submitter", "system", "framework", "intra_link", "inter_link", "note")


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
    def source(self) -> str:
        """Who measured it."""
        return self.submitter

    @property
    def local_batch_size(self) -> int:
        """Samples of one accelerator and iteration, to the nearest whole number."""
        return max(round(self.global_batch_size / self.world_size), 1)


_figure = number(high=LARGEST_FIGURE)
_count = whole(LARGEST_COUNT)


def submission_of(line: Line) -> Submission:
    """Return the submission of a row.

    Raises
    ------
    Refused : a benchmark the model does not know, or too little stated
    InputError : a cell that does not fit
    """
    row = line.cells
    benchmark = word_of(row["workload"], BENCHMARKS)
    if benchmark not in BENCHMARKS:
        raise Refused("unknown benchmark", row["workload"]) if row["workload"] else Refused("no workload")
    for column in DECISIVE:
        if not row[column]:
            raise Refused(f"no {column.replace('_', ' ')}")
    held = line.checked("round", row["round"], one_of(ROUNDS))
    world_size, nodes, per_node = _counts(line)

    return Submission(
        run_id=row["run_id"] or f"line {line.place}",
        round=held,
        year=line.read("year", _count) or YEARS[held],
        benchmark=benchmark,
        accelerator=row["accelerator"],
        nics=line.read("nics_per_node", _count),
        nodes=nodes,
        accelerators_per_node=per_node,
        world_size=world_size,
        global_batch_size=line.checked("global_batch_size", row["global_batch_size"], whole(LARGEST_BATCH)),
        time_to_train=line.checked("time_to_train", row["time_to_train"], _figure),
        samples_per_second=line.read("samples_per_second", _figure),
        samples_to_target=line.read("samples_to_target", _figure),
        **{column: row.get(column, "") for column in TEXTS},
    )


def _counts(line: Line) -> tuple[int, int, int]:
    """Accelerators of the job, machines, accelerators in each; two of the three tell the third.

    Raises
    ------
    Refused : fewer than two are stated
    """
    names = ("world_size", "nodes", "accelerators_per_node")
    world_size, nodes, per_node = (line.read(name, _count) or 0 for name in names)
    if world_size == 1:
        nodes, per_node = nodes or 1, per_node or 1
    if (world_size, nodes, per_node).count(0) > 1:
        raise Refused("no " + " and ".join(n.replace("_", " ") for n in names if not line.text(n)))
    world_size = world_size or nodes * per_node
    nodes, per_node = nodes or max(world_size // per_node, 1), per_node or max(world_size // nodes, 1)
    if world_size != nodes * per_node:
        stated = line.text("world_size")
        raise InputError(f"{line.where}, column world_size: {stated}; expected nodes x accelerators_per_node")
    return world_size, nodes, per_node


class Submissions(NamedTuple):
    """What a file holds."""

    known: list[Submission]
    skipped: list[str]
    """The reason of each row that was passed over."""


def read_submissions(path: Path, before: str | None = None) -> Submissions:
    """Return the submissions of a CSV file with the columns of ``validation/measured/mlperf.csv``.

    Rows of other benchmarks, and rows that leave open what decides the time, are counted and passed over.

    Parameters
    ----------
    before : submission to stop at; None, the file is read to its end

    Raises
    ------
    InputError : a file that cannot be read, a missing column, a cell that does not fit
    """
    known: list[Submission] = []
    skipped: list[str] = []
    for line in measured_lines(path, COLUMNS, before):
        try:
            known.append(submission_of(line))
        except Refused as error:
            skipped.append(str(error))
    if not known and not skipped:
        raise InputError(f"{path}: no submissions below the header line")
    return Submissions(known, skipped)


@cache
def shipped_submissions() -> tuple[Submission, ...]:
    """The ResNet-50 and BERT submissions that come with the package and are not held out, read once."""
    return tuple(read_submissions(*learned_part("mlperf.csv")).known)
