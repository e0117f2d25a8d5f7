"""A campaign: one kind of measurement, from the rows of its table to predictions beside what was measured.

Rows become cases, or are refused with a reason; cases are predicted, and predictions have errors.  How a row
was read is data beside it: what it states, what that was read as, and what was assumed where it is silent.
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
"""Of an interval's ends, relative: rows are written to six figures, and what was measured may be an end."""

Mode = Literal["specs", "anchored", "anchored-machine"]
ENDS = ("low_80", "high_80")


class Outcome(NamedTuple):
    """What was measured of a row, and what the model says; times in seconds."""

    measured: float | None
    """None where the row does not state it."""
    predicted: float | None = None
    """None where the row is refused."""
    low_80: float | None = None
    high_80: float | None = None
    reason: str | None = None
    """Why there is no prediction."""
    naive: float | None = None
    """What a naive answer is: one utilisation, linear scaling, a ring at nominal rates."""
    mode: Mode = "specs"
    """Whether it is predicted from specs or from an anchor."""
    anchor: Literal["unique", "ambiguous"] | None = None
    """Whether the measurements that it starts from agree; None without one."""
    scale: float | None = None
    """Factor of the ledger in the interval."""
    run: Any = None
    """What was measured, as the row was read."""
    made: object = None
    """Of a time to train, what it is made of."""

    @property
    def error(self) -> float | None:
        """Signed error: predicted over measured, less 1; positive where we say too slow."""
        return self.predicted / self.measured - 1 if self.predicted and self.measured else None

    @property
    def naive_error(self) -> float | None:
        """Signed error of the naive answer: predicted over measured, less 1."""
        return self.naive / self.measured - 1 if self.naive and self.measured else None

    @property
    def holds_80(self) -> bool | None:
        """Whether what was measured is inside the 80 % interval; None without one."""
        if self.measured is None or self.low_80 is None or self.high_80 is None:
            return None
        return self.low_80 * (1 - ROUNDING) <= self.measured <= self.high_80 * (1 + ROUNDING)

    @property
    def ends(self) -> dict[str, float | None]:
        """The ends of both intervals, by their names."""
        return {name: getattr(self, name) for name in ENDS}


class Command(NamedTuple):
    """The command line nearest to a row, and what it answers."""

    line: str
    answer: float | None = None
    """As ``Outcome.predicted``, or of what ``of`` says; None where it refuses."""
    of: str = ""
    refusal: str = ""
    """Why it refuses."""


class Details(NamedTuple):
    """How a row was read, and what its prediction is made of; of what is not predicted less."""

    readings: Sequence[Reading] = ()
    terms: Mapping[str, float] = MappingProxyType({})
    """The prediction is their sum, or of collectives is near them."""
    command: Command | None = None


@dataclass(frozen=True)
class Campaign(Generic[AnyCase]):
    """One kind of measured rows."""

    kind: str
    table: str
    """In ``validation/measured/``."""
    id_column: str
    columns: tuple[str, ...]
    """Without which a table is none of this kind."""
    measures: str
    """What is predicted, in words."""
    unit: str
    is_learned_from: bool
    """Whether a fit takes rows of trust A and B that are not held out, but for ``unseen`` sources."""
    read: Callable[[Line, Catalogue], AnyCase]
    """A case, which may hold its reason; ``Refused`` where there is none at all."""
    predict: Callable[[Sequence[AnyCase], Catalogue], Sequence[Outcome]]
    """By the shipped fit, from specs alone."""
    details: Callable[[Line, AnyCase, Any, Catalogue], Details]
    """How a row was read and what its outcome is made of."""
    unseen: frozenset[str] = frozenset()

    @property
    def path(self) -> Path:
        """Path of the table that comes with the package."""
        return learned_part(self.table)[0]

    def id_of(self, line: Line) -> str:
        """Return the id of a row; where it states none, its line."""
        return line.id(self.id_column)

    def lines(self, path: Path | None = None) -> list[Line]:
        """Return the rows of a table, by default of the one that comes along, held-out rows too."""
        return measured_lines(path or self.path, self.columns)

    def held_out(self) -> frozenset[str]:
        """The ids of the rows that no fit and no table of the report has seen."""
        first = learned_part(self.table)[1]
        ids = [self.id_of(line) for line in self.lines()] if first else []
        return frozenset(ids[ids.index(first) :] if first else ())

    def explain(self, line: Line, case: AnyCase | Refused, catalogue: Catalogue, known: bool) -> Explanation:
        """Return how a row was read, and what came of it.

        Parameters
        ----------
        line : the row
        case : what it was read as, or why it could not be
        catalogue : hardware
        known : whether it is of the table that comes along
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
        """Return why each row that comes along and is not held out is refused, None where it is predicted."""
        catalogue = Catalogue.built_in()
        lines = measured_lines(self.path, self.columns, learned_part(self.table)[1])
        cases = [self.read_or_refuse(line, catalogue) for line in lines]
        able = [case for case in cases if not isinstance(case, Refused)]
        known = iter(self.predict(able, catalogue))
        return [str(case) if isinstance(case, Refused) else next(known).reason for case in cases]

    def read_or_refuse(self, line: Line, catalogue: Catalogue) -> AnyCase | Refused:
        """Return the case of a row, or why there is none."""
        try:
            return self.read(line, catalogue)
        except Refused as error:
            return error


class Explanation(NamedTuple):
    """One measured row: as it was published, as it was read, and beside what was predicted."""

    campaign: Campaign[Any]
    line: Line
    id: str
    held_out: bool
    is_learned_from: bool
    """Whether the shipped fit has seen it."""
    outcome: Outcome
    readings: Sequence[Reading] = ()
    terms: Mapping[str, float] = MappingProxyType({})
    command: Command | None = None

    def to_dict(self) -> dict[str, Any]:
        """Return the explanation as people script against it."""
        outcome, campaign = self.outcome, self.campaign
        return {
            "id": self.id,
            "kind": campaign.kind,
            "file": str(self.line.path),
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


def answered(line: str, ask: Callable[[], float]) -> Command:
    """Return a command with what it answers."""
    try:
        return Command(line, ask())
    except InputError as error:
        return Command(line, refusal=error.note())
