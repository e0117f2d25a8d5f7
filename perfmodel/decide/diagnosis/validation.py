"""Listings that are normal or known to be wrong, and what the diagnosis says of each."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from statistics import fmean
from typing import Any

from perfmodel.core.errors import refusal
from perfmodel.core.files.tables import Report, aligned
from perfmodel.core.units import per_cent
from perfmodel.decide.diagnosis.judged_listings import Judgement, over_sources, rates
from perfmodel.evidence.accuracy.report.error_statistics import Errors
from perfmodel.evidence.validation import Validation

HALVES = {"reported": False, "chosen on": True}
"""Halves of the sources -> whether constants of the diagnosis were chosen on them."""


class DiagnosisValidation(Validation[Any]):
    """Listings with what the diagnosis says of them; they have no errors of times."""

    kind = "diagnose"
    whole = ()

    @property
    def errors(self) -> Errors:
        """A diagnosis is right or wrong: it has no error.

        Raises
        ------
        InputError : always
        """
        raise refusal("validate.no_errors", kind=self.kind)

    @property
    def _groups(self) -> Any:
        return {}

    @classmethod
    def _row(cls, row: Mapping[str, Any]) -> Any:
        return _Row(row)

    def __repr__(self) -> str:
        of = self._table["halves"]["reported"]
        lines = [(name, str(of[name]["n"]), per_cent(of[name]["alarms"])) for name in ("wrong", "normal")]
        return aligned("Listings of sources that no constant was chosen on", ("", "n", "called wrong"), lines)


class _Row(Report):
    """A listing with what was said of it."""

    def to_dict(self) -> dict[str, Any]:
        """Return the row, as JSON has it."""
        return dict(self)


def diagnoses() -> DiagnosisValidation:
    """Return every judged listing, and how often each kind is called wrong, by half of the sources."""
    rows, halves = [], {}
    for half, chosen in HALVES.items():
        of = rates(chosen)
        rows += [_row(half, each) for each in (*of.wrong, *of.normal)]
        groups = {"wrong": of.wrong, "normal": of.normal, **of.by_fault()}
        halves[half] = {name: _summary(group) for name, group in groups.items()}
    return DiagnosisValidation(tuple(rows), {"rows": len(rows), "halves": halves})


def _row(half: str, each: Judgement) -> _Row:
    listing = each.case.listing
    return _Row(
        id=listing.id,
        source=listing.source,
        collective=listing.point.collective,
        half=half,
        fault=each.case.fault,
        real=each.case.is_real,
        called_wrong=each.alarm,
        normal=each.weights.normal,
        likeliest=each.named,
    )


def _summary(group: Sequence[Judgement]) -> dict[str, Any]:
    """Return how many of a group are called wrong, and by their right name; None of normal ones."""
    is_wrong = group[0].case.fault is not None
    return {
        "n": len(group),
        "alarms": fmean(each.alarm for each in group),
        "alarms_over_sources": over_sources(group),
        "named": fmean(each.right for each in group) if is_wrong else None,
        "among_two": fmean(each.among_two for each in group) if is_wrong else None,
    }
