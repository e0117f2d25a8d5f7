"""A sweep as a table: in chunks of bounded memory, whole, or as a CSV or Parquet file."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np

from perfmodel.arguments import NAMES, expect
from perfmodel.calibration import Calibration, calibrated, constants_of
from perfmodel.errors import InputError, needed, unknown_name
from perfmodel.resolve import ONE_PROCESS
from perfmodel.specs.scenario import AnyScenario, Scenario, by_field, field_of, laid_over, options_of
from perfmodel.specs.store import Catalogue
from perfmodel.specs.updates import KINDS
from perfmodel.step.terms import ONE_PROCESS_TERMS, SHARED_TERMS, TERMS
from perfmodel.sweeps.axes import Axes, axes, check_anchor_of_copies
from perfmodel.sweeps.groups import Block, Groups
from perfmodel.sweeps.shared import shares_out
from perfmodel.tables import Record, Table

if TYPE_CHECKING:
    import pandas
    import pyarrow
    from numpy.typing import NDArray

Columns: TypeAlias = dict[str, "NDArray[Any]"]
"""A table as one array for each column, all of a length."""

ALWAYS = (
    "workload",
    "accelerator",
    "node",
    "world_size",
    "strategy",
    "precision",
    "local_batch_size",
    "global_batch_size",
)
"""Options that are always columns."""
MOST_IN_JSON = 100_000
WHOLE = ("world_size", "nodes", "local_batch_size", "global_batch_size", "accumulation_steps")
ANSWERS = (
    "nodes",
    "scaling",
    "iteration_time",
    "low_80",
    "high_80",
    "low_95",
    "high_95",
    "clipped_at",
    "samples_per_second",
    "tokens_per_second",
    "speedup",
    "scaling_efficiency",
    "baseline_time",
    "communication_time",
    "communication_overhead",
    "epoch_time",
    "mfu",
    "memory_bytes",
    "memory_capacity",
    "fits",
    "largest_local_batch_size",
)
"""Every answer of ``predict`` that is a number, by the same name, but for the terms."""
WHERE_NAMED = ("startup_time", "epoch_start_time")
"""Answers that are columns only where somebody names them, as they are no part of an iteration."""
UPDATES = ("updates_per_second", "gradients_per_update", "mean_staleness", "fresh_fraction")
"""Those of strategies that do not update all in step."""


def answer_columns(shared: bool = False, updates: bool = False, one_process: bool = False) -> tuple[str, ...]:
    """Return the names of all answers: those of the terms follow the iteration time they sum to.

    Parameters
    ----------
    shared : whether a transformer is shared out in some scenarios, which has terms of its own
    updates : whether some strategies do not update all in step
    one_process : whether one process drives all accelerators in some scenarios
    """
    first = ANSWERS.index("iteration_time") + 1
    tables = TERMS, SHARED_TERMS if shared else (), ONE_PROCESS_TERMS if one_process else ()
    terms = dict.fromkeys(name for table in tables for name in table)
    return (*ANSWERS[:first], *terms, *ANSWERS[first:], *(UPDATES if updates else ()))


def sweep(
    scenario: AnyScenario | None = None,
    *,
    catalogue: Catalogue | None = None,
    constants: Calibration | None = None,
    columns: Sequence[str] | None = None,
    **options: object,
) -> Sweep:
    """Cross options and predict every scenario.

    Nothing is computed until the answer is read: by ``chunks``, ``table``, ``to_csv`` or ``to_parquet``.

    Parameters
    ----------
    scenario : what the options are laid over, or a mapping of its own
    options : fields of ``Scenario``, or ``gpus``: each a value or a list, tuple, range or array of values
    catalogue, constants : as for ``predict``
    columns : of the table; by default the options given and every answer but ``startup_time`` and
        ``epoch_start_time``

    Raises
    ------
    InputError : an unknown option, name or column, or a value of the wrong kind

    Examples
    --------
    Two networks on 1 to 64 accelerators, over two links: 2 x 7 x 2 scenarios.

    >>> found = sweep(
    ...     workload=["resnet50", "vgg16"],
    ...     gpus=[1, 2, 4, 8, 16, 32, 64],
    ...     inter_link=["ethernet-25g-tcp", "ib-edr-100g"],
    ... )
    >>> len(found)
    28
    >>> table = found.table()
    >>> bool((table["iteration_time"] > 0).all())
    True
    """
    expect(NAMES.or_none, columns=columns)
    if isinstance(scenario, Scenario):
        scenario = scenario.model_dump(exclude_unset=True)
    table = laid_over({} if scenario is None else options_of(scenario), options)
    return Sweep(table, Catalogue.of(catalogue), constants_of(constants), columns)


class Sweep(Table):
    """Scenarios that are crossed, and their answers when they are asked for."""

    def __init__(
        self,
        options: dict[str, Any],
        catalogue: Catalogue,
        constants: Calibration,
        columns: Sequence[str] | None = None,
    ) -> None:
        result: tuple[Axes, tuple[str, ...]] = axes(options, catalogue)
        self._axes, self.notes = result
        """What names that fit several things were taken to be."""
        (path,), profile = self._axes["calibration"], self._axes["profile"][0]
        self._catalogue, self._constants = catalogue, calibrated(path, profile) if path else constants
        asked = dict.fromkeys(
            (*ALWAYS, *(name for name in Scenario.model_fields if name in by_field(options)))
        )
        shared = shares_out(self._axes, catalogue)
        for anchor in () if shared else self._axes["anchor"]:
            check_anchor_of_copies(anchor)
        strategies = self._axes["strategy"]
        own = answer_columns(shared, not KINDS.keys().isdisjoint(strategies), ONE_PROCESS in strategies)
        self.columns = tuple(map(field_of, columns)) if columns else (*asked, *own)
        """Of the table, in order."""
        known = (*Scenario.model_fields, *own, *ONE_PROCESS_TERMS, *WHERE_NAMED)
        for name in self.columns:
            if name not in known:
                raise unknown_name("column", name, known)
        self.refused: dict[str, int] = {}
        """Scenarios that ``predict`` refuses, by what it says of them; complete once the table was read."""

    def __len__(self) -> int:
        """Scenarios crossed, those included that are refused."""
        count = 1
        for values in self._axes.values():
            count *= len(values)
        return count

    def chunks(self) -> Iterator[Columns]:
        """Yield the table in parts of some thousand scenarios; memory does not grow with their number.

        Raises
        ------
        InputError : ``predict`` refuses every one of the scenarios
        """
        groups = Groups(self._axes, self._catalogue, self._constants)
        self.refused = groups.refused
        none = True
        for block in groups.blocks():
            none = False
            yield _flat(block, self.columns)
        if none:
            raise InputError(f"none of {len(self):,} scenarios can be predicted: {next(iter(self.refused))}")

    def table(self) -> Columns:
        """Return the whole table, one array for each column."""
        parts = list(self.chunks())
        return {name: np.concatenate([part[name] for part in parts]) for name in self.columns}

    def rows(self) -> Iterator[Record]:
        """Yield each scenario as a row, None where a number is not known; memory does not grow."""
        for chunk in self.chunks():
            for row in zip(*(chunk[name].tolist() for name in self.columns), strict=True):
                yield {name: None if x != x else x for name, x in zip(self.columns, row, strict=True)}

    def records(self) -> list[Record]:
        """Return every row; ``table`` takes less memory."""
        return list(self.rows())

    def to_json(self) -> str:
        """Return what ``perfmodel sweep --json`` prints.

        Raises
        ------
        InputError : more scenarios than anybody reads as JSON
        """
        if len(self) > MOST_IN_JSON:
            raise InputError(
                f"{len(self):,} scenarios are too many for --json; --csv and --output take any number"
            )
        return json.dumps({"rows": self.records(), **self.summary()})

    def summary(self) -> dict[str, int | dict[str, int] | list[str]]:
        """Return what the JSON says of the sweep as a whole: counts of scenarios and refusals, and notes."""
        return {"scenarios": len(self), "refused": self.refused, "notes": list(self.notes)}

    def to_pandas(self) -> pandas.DataFrame:
        """Return the whole table as a pandas table.

        Raises
        ------
        MissingPackage : pandas is not installed
        """
        needed("pandas", "pandas", "a pandas table")
        import pandas

        return pandas.DataFrame(self.table())

    def to_arrow(self) -> pyarrow.Table:
        """Return the whole table as an Arrow table, as ``to_parquet`` writes it.

        Raises
        ------
        MissingPackage : pyarrow is not installed
        """
        needed("pyarrow", "parquet", "an Arrow table")
        from perfmodel.sweeps.files import arrow_table

        return arrow_table(self.columns, self.table())

    def __repr__(self) -> str:
        varied = [f"{len(values)} x {name}" for name, values in self._axes.items() if len(values) > 1]
        return f"<Sweep: {len(self):,} scenarios ({', '.join(varied) or 'one'}), {len(self.columns)} columns>"

    def to_csv(self, path: str) -> int:
        """Write a CSV file, ``-`` for standard output, and return how many rows it has."""
        from perfmodel.sweeps.files import write_csv

        return write_csv(path, self.columns, self.chunks())

    def to_parquet(self, path: str) -> int:
        """Write a Parquet file and return how many rows it has; needs ``perfmodel[parquet]``."""
        from perfmodel.sweeps.files import write_parquet

        return write_parquet(path, self.columns, self.chunks())


def _flat(block: Block, columns: tuple[str, ...]) -> Columns:
    """Answer a block and give every column one value for each scenario."""
    report = block()
    shape = report["iteration_time"].shape
    report = dict.fromkeys(ONE_PROCESS_TERMS, 0.0) | report  # which another strategy has nothing of
    return {name: _column(name, report.get(name), shape) for name in columns}


def _column(name: str, values: Any, shape: tuple[int, ...]) -> NDArray[Any]:
    size = shape[0] * shape[1]
    if name in WHERE_NAMED:
        values = values()
    if isinstance(values, np.ndarray):
        column = values if values.shape == shape else np.broadcast_to(values, shape)
        column = column.reshape(size)
        return column.astype(np.int64) if name in WHOLE else column
    if isinstance(values, (int, float)) and not isinstance(values, bool):
        return np.full(size, values)
    if values is None and name in answer_columns(shared=True, updates=True, one_process=True):
        return np.full(size, np.nan)
    texts = np.empty(size, dtype=object)
    texts.fill(values)
    return texts
