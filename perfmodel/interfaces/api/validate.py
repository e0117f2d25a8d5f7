"""``perfmodel.validate``: the model against measured runs."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from statistics import fmean
from typing import TYPE_CHECKING, Any, Generic, Literal, Protocol, TypeVar, overload

from perfmodel.core.errors import refusal, unknown_name
from perfmodel.core.files.tables import Record, Table, aligned
from perfmodel.core.records.arguments import COUNT, FILE, FLAG, expect
from perfmodel.decide.quote.published import PublishedClaim, published_claims
from perfmodel.evidence.accuracy.collectives.collective_compare import Row as CollectiveRow
from perfmodel.evidence.accuracy.collectives.collective_compare import (
    compare_collectives,
    shipped_out_of_sample,
    summarise,
)
from perfmodel.evidence.accuracy.collectives.collective_rows import read_measurements, shipped_measurements
from perfmodel.evidence.accuracy.mlperf.mlperf import KEYS as MLPERF_KEYS
from perfmodel.evidence.accuracy.mlperf.mlperf import Row as Submitted
from perfmodel.evidence.accuracy.mlperf.mlperf import compare_mlperf, summarise_mlperf
from perfmodel.evidence.accuracy.mlperf.mlperf_rows import read_submissions, shipped_submissions
from perfmodel.evidence.accuracy.report.error_statistics import (
    Errors,
    by_reason,
    compare_own,
    errors,
    summary,
)
from perfmodel.evidence.accuracy.training_compare import Mode, Row, compare
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

Kind = Literal["training", "transformers", "collectives", "mlperf", "claims"]
KINDS: tuple[Kind, ...] = ("training", "transformers", "collectives", "mlperf", "claims")
MODES: tuple[Mode, ...] = ("specs", "anchored", "anchored-machine")


class _Measured(Protocol):
    """A measured row with what the model says of it."""

    def to_dict(self) -> dict[str, Any]: ...


AnyRow = TypeVar("AnyRow", bound=_Measured, covariant=True)


@dataclass(frozen=True, repr=False)
class Validation(Table, Generic[AnyRow]):
    """Measured rows, each with its prediction, and how far off those are."""

    kind: Kind
    mode: Mode
    rows: tuple[AnyRow, ...]
    errors: Errors
    """Of the rows that count: of training those of trust A and B whose anchor, if any, is not in doubt."""
    naive: Errors | None
    """Of the naive answer to the same rows."""
    coverage_80: float | None
    """Share of the measured times inside their 80 % intervals; None where that is not counted."""
    groups: dict[str, dict[str, Errors]]
    """By source, accelerator and the like."""
    reasons: tuple[str, ...]
    """Why rows could not be predicted, one for each."""
    summary: Mapping[str, object]
    """All of that as ``perfmodel validate --json`` prints it."""

    @property
    def refused(self) -> dict[str, int]:
        """How many rows could not be predicted, by the kind of reason."""
        return by_reason(self.reasons)

    def records(self) -> list[Record]:
        """Return the rows."""
        return [row.to_dict() for row in self.rows]

    def to_json(self) -> str:
        """Return what ``perfmodel validate --json`` prints: ``rows`` and ``summary``."""
        return json.dumps({"rows": self.records(), "summary": self.summary}, allow_nan=False)

    def __repr__(self) -> str:
        how = {"specs": "from specs alone", "anchored": "anchored"}.get(self.mode, "anchored on one machine")
        if self.kind == "collectives":
            how = "by the fit to measured collectives"
        title = f"Validation: {len(self.rows)} rows of {self.kind}, {len(self.reasons)} refused, {how}"
        lines = {"model": self.errors} | ({"naive": self.naive} if self.naive else {})
        rows = [
            (name, str(each.n), *map(_percent, (each.median_absolute_error, each.bias, each.within_20)))
            for name, each in lines.items()
        ]
        return aligned(title, ("", "n", "median error", "bias", "within 20 %"), rows)


def _percent(share: float | None) -> str:
    return "-" if share is None else f"{share:.1%}"


@overload
def validate(
    kind: Literal["training"] = ...,
    *,
    mode: Mode = ...,
    data: str | Path | None = ...,
    out_of_sample: bool = ...,
    jobs: int = ...,
    catalogue: Catalogue | None = ...,
) -> Validation[Row]: ...
@overload
def validate(
    kind: Literal["collectives"],
    *,
    mode: Mode = ...,
    data: str | Path | None = ...,
    out_of_sample: bool = ...,
    jobs: int = ...,
    catalogue: Catalogue | None = ...,
) -> Validation[CollectiveRow]: ...
@overload
def validate(
    kind: Literal["transformers"],
    *,
    mode: Mode = ...,
    data: str | Path | None = ...,
    out_of_sample: bool = ...,
    jobs: int = ...,
    catalogue: Catalogue | None = ...,
) -> Validation[TransformerRow]: ...
@overload
def validate(
    kind: Literal["mlperf"],
    *,
    mode: Mode = ...,
    data: str | Path | None = ...,
    out_of_sample: bool = ...,
    jobs: int = ...,
    catalogue: Catalogue | None = ...,
) -> Validation[Submitted]: ...
@overload
def validate(
    kind: Literal["claims"],
    *,
    mode: Mode = ...,
    data: str | Path | None = ...,
    out_of_sample: bool = ...,
    jobs: int = ...,
    catalogue: Catalogue | None = ...,
) -> Validation[PublishedClaim]: ...
def validate(
    kind: Kind = "training",
    *,
    mode: Mode = "specs",
    data: str | Path | None = None,
    out_of_sample: bool = False,
    jobs: int = 1,
    catalogue: Catalogue | None = None,
) -> (
    Validation[Row]
    | Validation[TransformerRow]
    | Validation[CollectiveRow]
    | Validation[Submitted]
    | Validation[PublishedClaim]
):
    """Predict measured runs and set the two beside each other: signed errors, next to a naive answer's.

    Parameters
    ----------
    kind : what was measured: iterations of ``training`` by data parallelism, of ``transformers`` under any
        parallelism, ``collectives``, ``mlperf``, times to train, or ``claims``, what others published of
        scaling and of networks
    mode : predict from ``specs`` alone, or ``anchored``: on the measured time of one accelerator, of
        transformers on the nearest other run of the network and source; not of collectives nor of claims.
        Of training also ``anchored-machine``: runs on several machines, on the measured time of one
    data : CSV file of measured rows; by default those that come with the package; not of claims. Of
        training a row may also state options of a scenario, as ``calibrate`` reads them
    out_of_sample : predict each source by a fit to all the others, some seconds more; not of mlperf nor of
        claims, of which nothing is learned
    jobs : processes that fit out of sample, of training; the answer is the same however many
    catalogue : hardware to choose from; by default what comes with the package

    Raises
    ------
    InputError : an unknown kind or mode; a file that cannot be read

    Examples
    --------
    >>> found = validate("collectives")
    >>> found.errors.median_absolute_error < found.naive.median_absolute_error
    True
    """
    expect(FILE.or_none, data=data)
    expect(FLAG, out_of_sample=out_of_sample)
    expect(COUNT, jobs=jobs)
    if kind not in KINDS:
        raise unknown_name("kind", str(kind), KINDS)
    if mode not in MODES:
        raise unknown_name("mode", str(mode), MODES)
    if kind != "training" and mode == "anchored-machine":
        raise refusal("validate.anchored_machine", "mode", "kind", kind=kind)
    if kind in ("collectives", "claims") and mode == "anchored":
        raise refusal("validate.anchored", "mode", "kind", kind=kind)
    other: Literal["specs", "anchored"] = "specs" if mode == "specs" else "anchored"
    if kind == "claims" and data is not None:
        raise refusal("validate.claims_data", "kind", "data")
    if kind == "transformers":
        return _transformers(data, other, out_of_sample, Catalogue.of(catalogue))
    if kind == "collectives":
        return _collectives(data, out_of_sample, Catalogue.of(catalogue))
    if kind == "mlperf":
        return _mlperf(data, other, Catalogue.of(catalogue))
    if kind == "claims":
        return _claims(Catalogue.of(catalogue))
    runs = shipped_runs() if data is None else read_measured_runs(str(data), catalogue)
    constants: Constants = lambda run: None  # noqa: E731
    if out_of_sample:
        from perfmodel.evidence.fitting.out_of_sample import shipped, with_shipped_runs

        whole = data is None and catalogue is None
        constants = (shipped(jobs) if whole else with_shipped_runs(runs, catalogue, jobs)).of
    return of_training(compare(runs, mode, catalogue, constants))


def of_training(rows: Sequence[Row]) -> Validation[Row]:
    """Return the answer that predicted training runs make.

    Raises
    ------
    InputError : no row
    """
    if not rows:
        raise refusal("validate.no_run")
    result = summary(rows)
    return Validation(
        kind="training",
        mode=rows[0].mode,
        rows=tuple(rows),
        errors=_errors(result),
        naive=_errors(result["baseline"]),
        coverage_80=result["coverage_80"],
        groups={by: {name: _errors(each) for name, each in of.items()} for by, of in result["by"].items()},
        reasons=tuple(row.reason for row in rows if row.reason),
        summary=result,
    )


def _errors(table: Mapping[str, Any]) -> Errors:
    return Errors(*(table[name] for name in Errors._fields))


def _transformers(
    data: str | Path | None, mode: Literal["specs", "anchored"], out_of_sample: bool, catalogue: Catalogue
) -> Validation[TransformerRow]:
    if data is None and out_of_sample:
        rows, result = {each.summary["mode"]: each for each in transformers_out_of_sample()}[mode]
    elif data is None:
        ((rows, result),) = compared(shipped_transformer_runs, (mode,))
    elif out_of_sample:
        own = read_transformer_runs(Path(data), catalogue)
        rows = compare_own(
            own, shipped_transformer_runs(), lambda every: compare_transformers(every, (mode,), True)[0]
        )
        result = summarise_transformers(rows)
    else:
        read = partial(read_transformer_runs, Path(data), catalogue)
        ((rows, result),) = compared(read, (mode,))
    if not rows:
        raise refusal("validate.no_run")
    return Validation(
        kind="transformers",
        mode=mode,
        rows=tuple(rows),
        errors=_errors(result["all"]),
        naive=_errors(result["all"]["baseline"]),
        coverage_80=result["all"]["coverage_80"],
        groups={by: {name: _errors(each) for name, each in of.items()} for by, of in result["by"].items()},
        reasons=tuple(row.reason for row in rows if row.reason),
        summary=result,
    )


def _collectives(
    data: str | Path | None, out_of_sample: bool, catalogue: Catalogue
) -> Validation[CollectiveRow]:
    if data is None:
        rows = shipped_out_of_sample() if out_of_sample else compare_collectives(shipped_measurements())
    else:
        own = read_measurements(Path(data), catalogue)
        if out_of_sample:
            rows = compare_own(own, shipped_measurements(), lambda every: compare_collectives(every, True))
        else:
            rows = compare_collectives(own)
    result = summarise(rows)
    groups = {"size": {size: _errors(of["all"]) for size, of in result["sizes"].items()}}
    for size, of in result["sizes"].items():
        for by in of.keys() - {"all"}:
            groups[f"{by}, {size}"] = {name: _errors(each) for name, each in of[by].items()}
    return Validation(
        kind="collectives",
        mode="specs",
        rows=tuple(rows),
        errors=errors([row.error for row in rows if row.error is not None]),
        naive=errors([row.naive_error for row in rows if row.naive_error is not None]),
        coverage_80=None,
        groups=groups,
        reasons=tuple(row.reason for row in rows if row.reason),
        summary=result,
    )


def _mlperf(
    data: str | Path | None, mode: Literal["specs", "anchored"], catalogue: Catalogue
) -> Validation[Submitted]:
    known, skipped = (shipped_submissions(), []) if data is None else read_submissions(Path(data))
    rows = compare_mlperf(mode, known, catalogue)
    result = {"mode": mode, **summarise_mlperf(rows, skipped)}
    whole = result["all"]["all"]
    return Validation(
        kind="mlperf",
        mode=mode,
        rows=tuple(rows),
        errors=_errors(whole),
        naive=_errors(whole["baseline"]),
        coverage_80=None,
        groups={by: {name: _errors(each) for name, each in result[by].items()} for by in MLPERF_KEYS},
        reasons=tuple(reason for reason in (*skipped, *(row.reason for row in rows)) if reason),
        summary=result,
    )


def _claims(catalogue: Catalogue) -> Validation[PublishedClaim]:
    rows = tuple(published_claims(catalogue))
    result = errors([row.error for row in rows if row.error is not None])
    held = fmean(row.covered for row in rows if row.covered is not None)
    return Validation(
        kind="claims",
        mode="specs",
        rows=rows,
        errors=result,
        naive=None,
        coverage_80=held,
        groups={},
        reasons=(),
        summary={"rows": len(rows), **result._asdict(), "coverage_80": held},
    )
