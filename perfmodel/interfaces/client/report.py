"""An answer that has no class of its own: a table whose keys are attributes too."""

from __future__ import annotations

import json
from typing import Any

from perfmodel.core.files.tables import Record, Table


class Report(dict[str, Any]):
    """An answer by its keys, which are attributes too."""

    def __getattr__(self, name: str) -> Any:
        if name not in self:
            raise AttributeError(f"the answer has no {name}; it has {', '.join(self)}")
        return self[name]

    def to_json(self) -> str:
        """Return what the command prints with ``--json``."""
        return json.dumps(self)


class TableReport(Report, Table):
    """A report whose ``rows`` are a table."""

    def records(self) -> list[Record]:
        """Return the rows."""
        return list(self["rows"])
