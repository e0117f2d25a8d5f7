"""One collective by message size, as a table."""

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
        """Return the rows, the runner-up in columns of its own."""
        return [record for row in self.rows for record in row.records()]

    def to_json(self) -> str:
        """Return what ``perfmodel collective --json`` prints of several sizes: a list."""
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
