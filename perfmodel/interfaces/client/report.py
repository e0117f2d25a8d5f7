"""An answer without a class of its own, whose ``rows`` are a table."""

from __future__ import annotations

from perfmodel.core.files.tables import Record, Report, Table


class TableReport(Report, Table):
    """A report whose ``rows`` are a table."""

    def records(self) -> list[Record]:
        """Return the rows."""
        return list(self["rows"])
