"""A table of one collective by message size."""

from __future__ import annotations

import json
from dataclasses import dataclass

from perfmodel.core.files.tables import Record, Table, aligned
from perfmodel.core.units import show
from perfmodel.model.prediction.collectives.collective import Collective


@dataclass(frozen=True, repr=False)
class Collectives(Table):
    """The same collective by message size."""

    rows: tuple[Collective, ...]

    def records(self) -> list[Record]:
        """Return the rows, with the runner-up in separate columns."""
        return [record for row in self.rows for record in row.records()]

    def to_json(self) -> str:
        """Return a JSON list of the rows, as ``perfmodel collective --json`` prints it for several sizes."""
        return json.dumps([row.model_dump() for row in self.rows])

    def __repr__(self) -> str:
        first = self.rows[0]
        rows = [
            (
                show(row.message_bytes, "B"),
                show(row.time, "s"),
                row.interval_text or "-",
                row.way,
                show(row.bus_bandwidth, "B/s"),
            )
            for row in self.rows
        ]
        return aligned(
            f"{first.collective} over {first.group_size} ranks {first.where}",
            ("size", "time", "80 % interval", "algorithm", "busbw"),
            rows,
            left=0,
        )
