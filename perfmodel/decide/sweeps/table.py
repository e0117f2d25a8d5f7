"""A sweep as a table: in chunks of bounded memory, whole, or as a CSV or Parquet file."""

from __future__ import annotations

import itertools
import json
from collections.abc import Iterable, Iterator, Sequence
from copy import copy
from typing import TYPE_CHECKING

import numpy as np

from perfmodel.core.candidates import tries
from perfmodel.core.choices import ONE_PROCESS
from perfmodel.core.errors import needed, refusal, unknown_name
from perfmodel.core.files.tables import Record, Table
from perfmodel.core.records.arguments import COUNT, NAMES, TEXT, expect
from perfmodel.core.updates import KINDS
from perfmodel.decide.sweeps.axes import Axes, axes, check_anchor_of_copies
from perfmodel.decide.sweeps.columns import ALWAYS, WHERE_NAMED, Columns, answer_columns
from perfmodel.decide.sweeps.parts import Parts, nothing_to_predict
from perfmodel.decide.sweeps.shared import shares_out
from perfmodel.hardware.catalogue.store import Catalogue
from perfmodel.hardware.placement import adapters_used
from perfmodel.model.fitted.calibration import Calibration, calibrated, constants_of
from perfmodel.model.options.scenario import AnyScenario, Scenario, field_of, laid_over, options_of
from perfmodel.model.setting.crossed import Crossed
from perfmodel.model.setting.link_caveats import cap_note
from perfmodel.model.step.terms import only_of

if TYPE_CHECKING:
    import pandas
    import pyarrow

    from perfmodel.decide.sweeps.data_set import DataSet
    from perfmodel.decide.sweeps.running import Progress

MOST_IN_JSON = 100_000


def sweep(
    scenario: AnyScenario | None = None,
    *,
    catalogue: Catalogue | None = None,
    constants: Calibration | None = None,
    columns: Sequence[str] | None = None,
    **options: object,
) -> Sweep:
    """Cross options and predict every scenario.

    Nothing is computed until the result is read: by ``chunks``, ``table``, ``to_csv`` or ``to_parquet``.

    Parameters
    ----------
    scenario : base options, which ``options`` override
    options : fields of ``Scenario``, or ``gpus``: each a value or a list, tuple, range or array of values
    catalogue, constants : as for ``predict``
    columns : of the table; by default the options given and every result except ``startup_time`` and
        ``epoch_start_time``

    Raises
    ------
    InputError : an unknown option, name or column, or a value of the wrong type
    """
    expect(NAMES.or_none, columns=columns)
    if isinstance(scenario, Scenario):
        scenario = scenario.model_dump(exclude_unset=True)
    scenarios = Crossed(**laid_over({} if scenario is None else options_of(scenario), options))
    return Sweep(scenarios, Catalogue.of(catalogue), constants_of(constants), columns)


class Sweep(Table):
    """Crossed scenarios, which are predicted when the table is read."""

    def __init__(
        self,
        scenarios: Crossed,
        catalogue: Catalogue,
        constants: Calibration,
        columns: Sequence[str] | None = None,
    ) -> None:
        self._axes, self.notes = axes(scenarios, catalogue)
        """How ambiguous names were understood, and limits of machines."""
        self.notes += _caps(self._axes, catalogue)
        tries(len(self))
        (path,), profile = self._axes["calibration"], self._axes["profile"][0]
        self.notes += _measured_jobs(path, catalogue)
        scenario_columns = dict.fromkeys((*ALWAYS, *scenarios.options()))
        shared = shares_out(self._axes, catalogue)
        for anchor in () if shared else self._axes["anchor"]:
            check_anchor_of_copies(anchor)
        strategies = self._axes["strategy"]
        answers = answer_columns(shared, not KINDS.keys().isdisjoint(strategies), ONE_PROCESS in strategies)
        self.columns = tuple(map(field_of, columns)) if columns else (*scenario_columns, *answers)
        """Columns of the table, in order."""
        known = (*Scenario.model_fields, *answers, *only_of("one process"), *WHERE_NAMED)
        for name in self.columns:
            if name not in known:
                raise unknown_name("column", name, known)
        learned = calibrated(path, profile, catalogue) if path else constants
        self.parts = Parts(self._axes, catalogue, learned, self.columns)
        """The parts that processes evaluate."""
        self.refused: dict[str, int] = {}
        """Number of refused scenarios by reason; complete once the table was read."""

    def with_columns(self, columns: Iterable[str]) -> Sweep:
        """Return the same scenarios with other columns of their table; nothing is computed."""
        other = copy(self)
        other.columns = tuple(columns)
        other.parts = Parts(self._axes, self.parts.catalogue, self.parts.constants, other.columns)
        return other

    def __len__(self) -> int:
        """Return the number of crossed scenarios, including refused ones."""
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
        refused: dict[str, int] = {}
        self.refused = refused
        none, parts = True, copy(self.parts)  # another iteration may run at the same time
        for number in range(len(parts)):
            for chunk in parts.chunks(number, refused):
                none = False
                yield chunk
        if none:
            raise nothing_to_predict(len(self), refused)

    def table(self) -> Columns:
        """Return the whole table, one array for each column."""
        parts = list(self.chunks())
        return {name: np.concatenate([part[name] for part in parts]) for name in self.columns}

    def rows(self) -> Iterator[Record]:
        """Yield each scenario as a row, None for an unknown number; memory does not grow."""
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
        InputError : more scenarios than JSON is suited for
        """
        if len(self) > MOST_IN_JSON:
            raise refusal("sweep.too_many", count=len(self))
        return json.dumps({"rows": self.records(), **self.summary()})

    def summary(self) -> dict[str, int | dict[str, int] | list[str]]:
        """Return the number of scenarios, the refusals by reason, and the notes."""
        return {"scenarios": len(self), "refused": self.refused, "notes": list(self.notes)}

    def to_pandas(self) -> pandas.DataFrame:
        """Return the whole table as a pandas data frame.

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
        return self.as_arrow(self.table())

    def as_arrow(self, chunk: Columns) -> pyarrow.Table:
        """Return a part of the table, or all of it, as an Arrow table; every part has the same types."""
        from perfmodel.decide.sweeps.files import arrow_table, column_types

        return arrow_table(column_types(self._axes, self.columns), chunk)

    def __repr__(self) -> str:
        varied = [f"{len(values)} x {name}" for name, values in self._axes.items() if len(values) > 1]
        return f"<Sweep: {len(self):,} scenarios ({', '.join(varied) or 'one'}), {len(self.columns)} columns>"

    def to_csv(self, path: str, jobs: int = 1) -> int:
        """Write a CSV file, ``-`` for standard output, and return how many rows it has.

        Parameters
        ----------
        path : of the file
        jobs : processes; the file is the same however many
        """
        from perfmodel.decide.sweeps.files import write_csv

        expect(COUNT, jobs=jobs)
        if jobs > 1 and len(self.parts) > 1:
            return self._joined(path, ".csv", jobs)
        return write_csv(path, self.columns, self.chunks())

    def to_parquet(self, path: str, jobs: int = 1) -> int:
        """Write a Parquet file and return how many rows it has; needs ``perfmodel[parquet]``.

        Parameters
        ----------
        path : of the file
        jobs : processes; the rows are the same however many
        """
        from perfmodel.decide.sweeps.files import write_parquet

        expect(COUNT, jobs=jobs)
        if jobs > 1 and len(self.parts) > 1:
            return self._joined(path, ".parquet", jobs)
        return write_parquet(path, self._axes, self.columns, self.chunks())

    def _joined(self, path: str, suffix: str, jobs: int) -> int:
        """Write one file by several processes; return the number of rows."""
        from perfmodel.decide.sweeps.joined import write_joined

        rows, self.refused = write_joined(self.parts, path, suffix, jobs)
        return rows

    def to_dataset(
        self,
        folder: str,
        jobs: int | None = None,
        dask: str | None = None,
        progress: Progress | None = None,
    ) -> DataSet:
        """Write a folder of Parquet files with a manifest; complete parts of an earlier run are kept.

        Memory does not grow with the number of scenarios.  A script needs no ``__main__`` guard.

        Parameters
        ----------
        folder : created if it does not exist; readers of data sets read it as a whole
        jobs : processes on this machine; all cores by default
        dask : address of the scheduler of a Dask cluster, whose workers share the folder
        progress : called with each part's summary and its number of scenarios

        Raises
        ------
        InputError : the folder holds another sweep or cannot be written; every scenario is refused; no such
            cluster
        MissingPackage : pyarrow, or distributed for a cluster, is not installed
        """
        from perfmodel.decide.sweeps.data_set import write_data_set
        from perfmodel.decide.sweeps.running import silent

        expect(COUNT.or_none, jobs=jobs)
        expect(TEXT.or_none, dask=dask)
        answer = write_data_set(self.parts, str(folder), jobs, dask, progress or silent)
        self.refused = answer.refused
        return answer


def _caps(axes: Axes, catalogue: Catalogue) -> tuple[str, ...]:
    """Return notes on machines that send less than the adapters they are swept with."""
    notes: dict[str, None] = {}
    if True not in axes["network_cap"]:
        return ()
    across = ("node", "inter_link", "nics", "accelerators_per_node")
    for name, link, nics, held in itertools.product(*(axes[each] for each in across)):
        if name is None:
            continue
        node = catalogue.node(name)
        between = link or node.inter_link
        if between is None or max(axes["world_size"]) <= node.accelerators:
            continue
        note = cap_note(node, catalogue.link(between), nics or adapters_used(node, held))
        notes |= {note: None} if note else {}
    return tuple(notes)


def _measured_jobs(path: str | None, catalogue: Catalogue) -> tuple[str, ...]:
    """Return a note where ``predict`` uses measured runs of the same job, which a sweep does not."""
    own = None if path is None else calibrated(path, None, catalogue).own
    if own is None or not own.jobs:
        return ()
    return (f"{path}: predict starts jobs that were measured themselves from their own time, a sweep none",)
