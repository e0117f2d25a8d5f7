"""A campaign: one kind of measurement, from the rows of its table to predictions and their errors.

Each row becomes a case or is refused with a reason; each case is predicted, and each prediction has an error.
How a row was read is recorded as data: what it states, what that was read as, and what was assumed where it
states nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType
from typing import Any, Generic, Literal, NamedTuple, TypeVar

from perfmodel.core.errors import InputError
from perfmodel.evidence.accuracy.ledger.held_out import learned_part
from perfmodel.evidence.accuracy.measured_table import Line, measured_lines
from perfmodel.evidence.accuracy.readings import Reading
from perfmodel.evidence.accuracy.scenarios import Refused
from perfmodel.evidence.accuracy.training_rows import TRUSTED
from perfmodel.hardware.catalogue.store import Catalogue

AnyCase = TypeVar("AnyCase")


ROUNDING = 1e-5
"""Relative tolerance of an interval's ends: rows are written to six figures, and a measured value may be an
end."""

Mode = Literal["specs", "anchored", "anchored-machine"]
ENDS = ("low_80", "high_80")
"""Names of the ends of an interval, in order."""


class Outcome(NamedTuple):
    """The measured and the predicted value of a row; in the unit of the campaign, mostly seconds."""

    measured: float | None
    """None if the row does not state it."""
    predicted: float | None = None
    """None if the row is refused."""
    low_80: float | None = None
    high_80: float | None = None
    reason: str | None = None
    """Why there is no prediction."""
    naive: float | None = None
    """Prediction of a naive baseline: one utilisation, linear scaling, or a ring at nominal rates."""
    mode: Mode = "specs"
    """What the prediction starts from: specs alone, or the measured time of one accelerator or one
    machine."""
    anchor: Literal["unique", "ambiguous"] | None = None
    """Whether the measurements of the anchor agree; None without an anchor."""
    scale: float | None = None
    """Factor of the ledger by which the interval is widened."""
    run: Any = None
    """The measured row, as it was read."""
    made: object = None
    """Components of a predicted time to train; None for other rows."""

    @property
    def error(self) -> float | None:
        """Signed error, predicted / measured - 1; positive if the prediction is too slow."""
        return self.predicted / self.measured - 1 if self.predicted and self.measured else None

    @property
    def naive_error(self) -> float | None:
        """Signed error of the naive baseline, naive / measured - 1."""
        return self.naive / self.measured - 1 if self.naive and self.measured else None

    @property
    def holds_80(self) -> bool | None:
        """Whether the measured value is inside the 80 % interval; None if one of them is missing."""
        if self.measured is None or self.low_80 is None or self.high_80 is None:
            return None
        return self.low_80 * (1 - ROUNDING) <= self.measured <= self.high_80 * (1 + ROUNDING)

    @property
    def ends(self) -> dict[str, float | None]:
        """The ends of the 80 % interval by their names."""
        return {name: getattr(self, name) for name in ENDS}


class Command(NamedTuple):
    """The command line that comes nearest to the job of a measured row, and its answer."""

    line: str
    answer: float | None = None
    """The quantity of ``Outcome.predicted``, or the one that ``of`` names; None if the command refuses."""
    of: str = ""
    """Name of the answered quantity if it is another than the campaign's."""
    refusal: str = ""
    """Message of the refusal; empty if the command answers."""


class Details(NamedTuple):
    """How a row was read, and the terms of its prediction; a row without a prediction has fewer entries."""

    readings: Sequence[Reading] = ()
    terms: Mapping[str, float] = MappingProxyType({})
    """Terms that sum to the prediction; for collectives, times that the prediction lies close to."""
    command: Command | None = None


@dataclass(frozen=True)
class Campaign(Generic[AnyCase]):
    """One kind of measured rows: its table, how a row is read, and how it is predicted."""

    kind: str
    table: str
    """Name of the file in ``validation/measured/``."""
    id_column: str
    columns: tuple[str, ...]
    """Columns that a table of this kind must have."""
    measures: str
    """The predicted quantity, in words."""
    unit: str
    is_learned_from: bool
    """Whether a fit learns from the rows: those of trust A and B that are not held out, except ``unseen``
    sources."""
    read: Callable[[Line, Catalogue], AnyCase]
    """Reads a row as a case, which may hold the reason why it cannot be predicted; raises ``Refused`` if no
    case can be made of the row."""
    predict: Callable[[Sequence[AnyCase], Catalogue], Sequence[Outcome]]
    """Predicts cases by the shipped fit, from specs alone."""
    details: Callable[[Line, AnyCase, Any, Catalogue], Details]
    """Describes how a row was read and the terms of its outcome."""
    unseen: frozenset[str] = frozenset()
    """Sources that no fit learns from."""

    @property
    def path(self) -> Path:
        """Path of the table that comes with the package."""
        return learned_part(self.table)[0]

    @property
    def file(self) -> str:
        """What answers call that table, wherever the package lies."""
        return f"validation/measured/{self.table}"

    def id_of(self, line: Line) -> str:
        """Return the id of a row; its line number if it states none."""
        return line.id(self.id_column)

    def lines(self, path: Path | None = None) -> list[Line]:
        """Return all rows of a table, held-out rows included; by default of the shipped table."""
        return [*measured_lines(path or self.path, self.columns)]

    def held_out(self) -> frozenset[str]:
        """Return the ids of the shipped rows that no fit and no table of the report uses."""
        first = learned_part(self.table)[1]
        ids = [self.id_of(line) for line in self.lines()] if first else []
        return frozenset(ids[ids.index(first) :] if first else ())

    def explain(self, line: Line, case: AnyCase | Refused, catalogue: Catalogue, known: bool) -> Explanation:
        """Return how a row was read, its prediction, and the terms of that.

        Parameters
        ----------
        line : the row
        case : the case that it was read as, or why it could not be read
        catalogue : hardware
        known : whether the row is one of the shipped table
        """
        held_out = known and self.id_of(line) in self.held_out()
        learned = known and self.is_learned_from and not held_out and line.trust in TRUSTED
        learned = learned and line.source not in self.unseen
        row = Explanation(self, line, self.id_of(line), held_out, learned, Outcome(None, reason=str(case)))
        if isinstance(case, Refused):
            return row
        (outcome,) = self.predict([case], catalogue)
        details = self.details(line, case, outcome, catalogue)
        is_learned = learned and outcome.predicted is not None
        return row._replace(outcome=outcome, is_learned_from=is_learned, **details._asdict())

    def reasons(self) -> list[str | None]:
        """Return why each shipped row that is not held out is refused, in order; None for a predicted row."""
        catalogue = Catalogue.built_in()
        lines = measured_lines(self.path, self.columns, learned_part(self.table)[1])
        cases = [self.read_or_refuse(line, catalogue) for line in lines]
        able = [case for case in cases if not isinstance(case, Refused)]
        known = iter(self.predict(able, catalogue))
        return [str(case) if isinstance(case, Refused) else next(known).reason for case in cases]

    def read_or_refuse(self, line: Line, catalogue: Catalogue) -> AnyCase | Refused:
        """Return the case of a row, or the refusal if the row cannot be read as a case."""
        try:
            return self.read(line, catalogue)
        except Refused as error:
            return error


class Explanation(NamedTuple):
    """One measured row: as it was published, as it was read, and as it was predicted."""

    campaign: Campaign[Any]
    line: Line
    id: str
    held_out: bool
    is_learned_from: bool
    """Whether the shipped fit learned from the row."""
    outcome: Outcome
    readings: Sequence[Reading] = ()
    terms: Mapping[str, float] = MappingProxyType({})
    command: Command | None = None

    def to_dict(self) -> dict[str, Any]:
        """Return the explanation as a dictionary for JSON."""
        outcome, campaign = self.outcome, self.campaign
        return {
            "id": self.id,
            "kind": campaign.kind,
            "file": campaign.file if self.line.path == campaign.path else str(self.line.path),
            "line": self.line.place,
            "source": self.line.source,
            "held_out": self.held_out,
            "learned_from": self.is_learned_from,
            "published": self.line.published,
            "readings": [each._asdict() | {"assumed": each.is_assumed} for each in self.readings],
            "measures": campaign.measures,
            "unit": campaign.unit,
            "measured": outcome.measured,
            "predicted": outcome.predicted,
            "error": outcome.error,
            **outcome.ends,
            "holds_80": outcome.holds_80,
            "terms": dict(self.terms),
            "command": self.command and self.command._asdict(),
            "reason": outcome.reason,
        }


def run_command(line: str, answer: Callable[[], float]) -> Command:
    """Return a command line with its answer, or with the message of its refusal.

    Parameters
    ----------
    line : command line, as a reader would type it
    answer : computes the answer of that line; may raise ``InputError``
    """
    try:
        return Command(line, answer())
    except InputError as error:
        return Command(line, refusal=error.note())
