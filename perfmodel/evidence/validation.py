"""Measured rows with their predictions, and how far off those are: what ``validate`` answers."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial, reduce
from operator import getitem
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Generic, Literal, Protocol, Self, TypeVar

from perfmodel.core.errors import refusal
from perfmodel.core.files.tables import Record, Report, Table, aligned
from perfmodel.core.files.templating import percent
from perfmodel.evidence.accuracy.campaign import ENDS, Mode, Outcome
from perfmodel.evidence.accuracy.collectives.collective_compare import Row as CollectiveRow
from perfmodel.evidence.accuracy.collectives.collective_compare import (
    compare_collectives,
    shipped_out_of_sample,
    summarise,
)
from perfmodel.evidence.accuracy.collectives.collective_rows import read_measurements, shipped_measurements
from perfmodel.evidence.accuracy.mlperf.mlperf import (
    ITERATION_TIME,
    compare_mlperf,
    held_out_rows,
    summarise_mlperf,
)
from perfmodel.evidence.accuracy.mlperf.mlperf import KEYS as MLPERF_KEYS
from perfmodel.evidence.accuracy.mlperf.mlperf import Row as Submitted
from perfmodel.evidence.accuracy.mlperf.mlperf_rows import read_submissions, shipped_submissions
from perfmodel.evidence.accuracy.report.error_statistics import Errors, compare_own, summary
from perfmodel.evidence.accuracy.training_compare import Row, compare
from perfmodel.evidence.accuracy.training_rows import shipped_runs
from perfmodel.evidence.accuracy.transformers.transformer_compare import Row as TransformerRow
from perfmodel.evidence.accuracy.transformers.transformer_compare import (
    compare_transformers,
    compared,
    summarise_transformers,
)
from perfmodel.evidence.accuracy.transformers.transformer_compare import (
    shipped_out_of_sample as transformers_out_of_sample,
)
from perfmodel.evidence.accuracy.transformers.transformer_rows import (
    read_transformer_runs,
    shipped_transformer_runs,
)
from perfmodel.evidence.fitting.own_table import read_measured_runs
from perfmodel.hardware.catalogue.store import Catalogue

if TYPE_CHECKING:
    from perfmodel.evidence.accuracy.training_compare import Constants

Kind = Literal["training", "transformers", "collectives", "mlperf", "claims", "diagnose"]


class _Measured(Protocol):
    """A measured row with what the model says of it."""

    def to_dict(self) -> dict[str, Any]: ...


AnyRow = TypeVar("AnyRow", bound=_Measured, covariant=True)


class JsonRow(Outcome):
    """A row of an answer's JSON, which does not have all that was measured."""

    run: Report
    """The row, its columns also as attributes."""

    def to_dict(self) -> dict[str, Any]:
        """Return the row."""
        return dict(self.run)


_ENDS = {name: name for name in (*ENDS, "reason")}


@dataclass(frozen=True, repr=False)
class Validation(Table, Generic[AnyRow]):
    """Measured rows of one kind, each with its prediction, and how far off those are."""

    rows: tuple[AnyRow, ...]
    summary: Mapping[str, object]
    """All statistics, as ``perfmodel validate --json`` prints them."""
    skipped: tuple[str, ...] = ()
    """Why lines of a file are no rows, one for each; JSON only counts them."""

    kind: ClassVar[Kind]
    whole: ClassVar[tuple[str, ...]] = ("all",)
    """Where the summary has the statistics of all rows that count."""
    columns: ClassVar[Mapping[str, str]]
    """Of JSON, by what an outcome calls them."""

    @property
    def mode(self) -> Mode:
        """Whether rows are predicted from specs or from an anchor."""
        mode: Mode = self._table.get("mode", "specs")
        return mode

    @property
    def errors(self) -> Errors:
        """Of the rows that count: of training, trust A and B, with no anchor or one that is not in doubt."""
        return _errors(self._whole)

    @property
    def naive(self) -> Errors | None:
        """Of the naive answer to the same rows."""
        naive = self._whole.get("baseline")
        return None if naive is None else _errors(naive)

    @property
    def coverage_80(self) -> float | None:
        """Share of the measured times inside their 80 % intervals; None where that is not counted."""
        share: float | None = self._whole.get("coverage_80")
        return share

    @property
    def groups(self) -> dict[str, dict[str, Errors]]:
        """By source, accelerator and the like."""
        return {by: {name: _errors(each) for name, each in of.items()} for by, of in self._groups.items()}

    @property
    def reasons(self) -> tuple[str, ...]:
        """Why rows could not be predicted, one for each."""
        known = (getattr(row, "reason", None) for row in self.rows)
        return (*self.skipped, *(reason for reason in known if reason))

    @property
    def refused(self) -> dict[str, int]:
        """How many rows could not be predicted, by the kind of reason."""
        return dict(self._table.get("refused_by_reason", {}))

    @property
    def _table(self) -> Any:
        return self.summary

    @property
    def _whole(self) -> Any:
        """The statistics of all rows that count."""
        return reduce(getitem, self.whole, self._table)

    @property
    def _groups(self) -> Any:
        """The statistics by group."""
        return self._table["by"]

    def records(self) -> list[Record]:
        """Return the rows as dictionaries, as in the JSON."""
        return [row.to_dict() for row in self.rows]

    def to_json(self) -> str:
        """Return what ``perfmodel validate --json`` prints: ``rows`` and ``summary``."""
        return json.dumps({"rows": self.records(), "summary": self.summary}, allow_nan=False)

    @classmethod
    def of_json(cls, table: Mapping[str, Any]) -> Self:
        """Return the answer that JSON has; of what was measured, rows know what is in it."""
        return cls(tuple(map(cls._row, table["rows"])), table["summary"])

    @classmethod
    def _row(cls, row: Mapping[str, Any]) -> Any:
        return JsonRow(run=Report(row), **{name: row[column] for name, column in cls.columns.items()})

    def __repr__(self) -> str:
        how = {"specs": "from specs alone", "anchored": "anchored"}.get(self.mode, "anchored on one machine")
        if self.kind == "collectives":
            how = "by the fit to measured collectives"
        title = f"Validation: {len(self.rows)} rows of {self.kind}, {len(self.reasons)} refused, {how}"
        lines = {"model": self.errors} | ({"naive": self.naive} if self.naive else {})
        rows = [
            (name, str(each.n), *map(percent, (each.median_absolute_error, each.bias, each.within_20)))
            for name, each in lines.items()
        ]
        return aligned(title, ("", "n", "median error", "bias", "within 20 %"), rows)


def _errors(table: Mapping[str, Any]) -> Errors:
    return Errors(*(table[name] for name in Errors._fields))


class TrainingValidation(Validation[Row]):
    """Runs of data-parallel training."""

    kind = "training"
    whole = ()
    columns: ClassVar[Mapping[str, str]] = {
        "measured": "measured_iteration_time",
        "predicted": "predicted_iteration_time",
        **_ENDS,
        "mode": "mode",
        "anchor": "anchor",
    }


class TransformerValidation(Validation[TransformerRow]):
    """Runs of transformers under any parallelism."""

    kind = "transformers"
    columns = TrainingValidation.columns


class CollectiveValidation(Validation[CollectiveRow]):
    """Collectives, each of one message."""

    kind = "collectives"
    columns: ClassVar[Mapping[str, str]] = {
        "measured": "measured_time",
        "predicted": "predicted_time",
        **_ENDS,
    }

    @property
    def _groups(self) -> Any:
        sizes = self._table["sizes"]
        groups = {"size": {size: of["all"] for size, of in sizes.items()}}
        for size, of in sizes.items():
            groups |= {f"{by}, {size}": of[by] for by in of.keys() - {"all"}}
        return groups


class MlperfValidation(Validation[Submitted]):
    """Times to train of submissions to MLPerf Training."""

    kind = "mlperf"
    whole = ("all", "all")
    columns: ClassVar[Mapping[str, str]] = {
        "measured": "measured_time_to_train",
        "predicted": "time_to_train",
        "naive": "naive_time_to_train",
        "mode": "mode",
        "reason": "reason",
    }

    @property
    def _groups(self) -> Any:
        return {by: self._table[by] for by in (*MLPERF_KEYS, ITERATION_TIME)}


def training(
    data: str | None, modes: Sequence[Mode], catalogue: Catalogue, out_of_sample: bool = False, jobs: int = 1
) -> list[TrainingValidation]:
    """Predict runs of data-parallel training in each of some modes.

    Parameters
    ----------
    data : file of a user's own runs; None, those that come along
    out_of_sample : whether each source is predicted by a fit to all the others, once for all modes
    jobs : processes that fit
    """
    runs = shipped_runs() if data is None else read_measured_runs(data, catalogue)
    if not runs:
        raise refusal("validate.no_run")
    constants: Constants = lambda run: None  # noqa: E731
    if out_of_sample:
        from perfmodel.evidence.fitting.out_of_sample import shipped, with_shipped_runs

        whole = data is None and not catalogue.has_own
        constants = (shipped(jobs) if whole else with_shipped_runs(runs, catalogue, jobs)).of
    every = [compare(runs, mode, catalogue, constants) for mode in modes]
    return [TrainingValidation(tuple(rows), summary(rows)) for rows in every]


@dataclass(frozen=True, repr=False)
class ReportedTraining(TrainingValidation):
    """Runs predicted in one mode, with the answers from specs and anchored that the report shows."""

    by_mode: tuple[TrainingValidation, ...] = ()


def reported(data: str | None, mode: Mode, catalogue: Catalogue, jobs: int = 1) -> ReportedTraining:
    """Predict runs out of sample in both modes of the report; parameters as of ``training``."""
    specs, anchored = training(data, ("specs", "anchored"), catalogue, True, jobs)
    answer = specs if mode == "specs" else anchored
    return ReportedTraining(answer.rows, answer.summary, by_mode=(specs, anchored))


def transformers(
    data: str | None, mode: Mode, catalogue: Catalogue, out_of_sample: bool = False
) -> TransformerValidation:
    """Predict runs of transformers; parameters as of ``training``."""
    if data is None and out_of_sample:
        rows, result = {each.summary["mode"]: each for each in transformers_out_of_sample()}[mode]
    elif data is None:
        ((rows, result),) = compared(shipped_transformer_runs, (mode,))
    elif out_of_sample:
        own = read_transformer_runs(Path(data), catalogue)
        rows = compare_own(
            own, shipped_transformer_runs(), lambda every: compare_transformers(every, (mode,), True)[0]
        )
        result = {"mode": mode, **summarise_transformers(rows)}
    else:
        read = partial(read_transformer_runs, Path(data), catalogue)
        ((rows, result),) = compared(read, (mode,))
    if not rows:
        raise refusal("validate.no_run")
    return TransformerValidation(tuple(rows), result)


def collectives(data: str | None, catalogue: Catalogue, out_of_sample: bool = False) -> CollectiveValidation:
    """Predict collectives; parameters as of ``training``."""
    if data is None:
        rows = shipped_out_of_sample() if out_of_sample else compare_collectives(shipped_measurements())
    else:
        own = read_measurements(Path(data), catalogue)
        if out_of_sample:
            rows = compare_own(own, shipped_measurements(), lambda every: compare_collectives(every, True))
        else:
            rows = compare_collectives(own)
    return CollectiveValidation(tuple(rows), summarise(rows))


def mlperf(data: str | None, mode: Mode, catalogue: Catalogue) -> MlperfValidation:
    """Predict times to train, held-out rounds from the others; parameters as of ``training``."""
    known, skipped = (shipped_submissions(), []) if data is None else read_submissions(Path(data))
    rows = compare_mlperf(mode, known, catalogue)
    if data is None:
        rows += held_out_rows(mode, catalogue)
    return MlperfValidation(tuple(rows), {"mode": mode, **summarise_mlperf(rows, skipped)}, tuple(skipped))
