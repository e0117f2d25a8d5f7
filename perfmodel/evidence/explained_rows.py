"""One measured row: how it was read, and what came of it."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from perfmodel.core.errors import InputError, unknown_name
from perfmodel.core.files.tables import Record, Table
from perfmodel.evidence.accuracy.campaign import ENDS, Campaign, Command, Explanation, Outcome
from perfmodel.evidence.accuracy.campaigns import CAMPAIGNS
from perfmodel.evidence.accuracy.measured_table import Line, measured_table
from perfmodel.evidence.accuracy.readings import Reading
from perfmodel.evidence.accuracy.training_rows import COLUMNS
from perfmodel.evidence.fitting.own_table import read_measured_runs
from perfmodel.hardware.catalogue.store import Catalogue


@dataclass(frozen=True)
class ExplainedRows(Table):
    """The rows of one id: of a run whose time and memory were both published there are two."""

    rows: tuple[Explanation, ...]

    def records(self) -> list[Record]:
        """Return the rows."""
        return [row.to_dict() for row in self.rows]

    def to_json(self) -> str:
        """Return what ``perfmodel validate --explain-row --json`` prints."""
        return json.dumps({"rows": self.records()}, allow_nan=False)

    @classmethod
    def of_json(cls, table: Mapping[str, Any]) -> ExplainedRows:
        """Return the rows that ``to_json`` has."""
        return cls(tuple(map(_explanation_of, table["rows"])))


def explained_rows(row: str, kind: str | None, data: str | None, catalogue: Catalogue) -> ExplainedRows:
    """Return the rows of an id.

    Parameters
    ----------
    kind : of its campaign; None, whichever has the id, of a file the one whose column of ids it has
    data : CSV file of measured rows; None, those that come with the package, held-out rows too

    Raises
    ------
    InputError : an unknown kind or row; a file that cannot be read
    """
    if kind is not None and kind not in CAMPAIGNS:
        raise unknown_name("kind", kind, CAMPAIGNS)
    if data is not None:
        campaign = CAMPAIGNS[kind or _kind_of(Path(data))]
        return ExplainedRows((_of_file(campaign, Path(data), row, catalogue),))
    campaigns = list(CAMPAIGNS.values()) if kind is None else [CAMPAIGNS[kind]]
    result, ids = [], []
    for campaign in campaigns:
        for line in campaign.lines():
            id = campaign.id_of(line)
            ids.append(id)
            if id == row:
                result.append(_explained(campaign, line, catalogue))
    if not result:
        raise _unknown(row, ids)
    return ExplainedRows(tuple(result))


def _explanation_of(row: Mapping[str, Any]) -> Explanation:
    """Return the explanation that ``Explanation.to_dict`` tells of."""
    campaign = CAMPAIGNS[row["kind"]]
    path = campaign.path if row["file"] == campaign.file else Path(row["file"])
    names = ("measured", "predicted", "reason", *ENDS)
    return Explanation(
        campaign,
        Line(path, row["line"], row["published"]),
        row["id"],
        row["held_out"],
        row["learned_from"],
        Outcome(**{name: row[name] for name in names}),
        [Reading(*(each[name] for name in Reading._fields)) for each in row["readings"]],
        row["terms"],
        row["command"] and Command(**row["command"]),
    )


def _explained(campaign: Campaign[Any], line: Line, catalogue: Catalogue) -> Explanation:
    return campaign.explain(line, campaign.read_or_refuse(line, catalogue), catalogue, known=True)


def _of_file(campaign: Campaign[Any], path: Path, row: str, catalogue: Catalogue) -> Explanation:
    """The explanation of a row of a user's own file.

    Raises
    ------
    InputError : a file that cannot be read, or that has no such row
    """
    ids = []
    for line, case, id in _own(campaign, path, catalogue):
        if id == row:
            return campaign.explain(line, case, catalogue, known=False)._replace(id=id)
        ids.append(id)
    raise _unknown(row, ids)


def _kind_of(path: Path) -> str:
    """The kind whose rows a file has, by the name of their ids; of training unless it says otherwise."""
    header, _ = measured_table(path)
    named = (each.kind for each in CAMPAIGNS.values() if each.id_column in header)
    return next(named, "training")


def _own(campaign: Campaign[Any], path: Path, catalogue: Catalogue) -> Iterator[tuple[Line, Any, str]]:
    """Rows of a user's file as they are read, each with its id; of training also one of a few columns."""
    _, lines = measured_table(path)
    if campaign.kind == "training" and lines and not set(COLUMNS) <= set(lines[0].cells):
        for line, run in zip(lines, read_measured_runs(str(path), catalogue), strict=True):
            yield line, run, run.run_id
        return
    for line in campaign.lines(path):
        yield line, campaign.read_or_refuse(line, catalogue), campaign.id_of(line)


def _unknown(row: str, ids: Iterable[str]) -> InputError:
    return unknown_name("row", row, dict.fromkeys(ids))
