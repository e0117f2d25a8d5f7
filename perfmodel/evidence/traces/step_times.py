"""Read iteration times from a file of plain numbers, one a line, or from a column of a CSV file."""

from __future__ import annotations

import csv
import math
from io import StringIO
from pathlib import Path

from perfmodel.core.errors import refusal
from perfmodel.core.files.reading import read_text
from perfmodel.equations.distributions import TIME_COLUMNS
from perfmodel.model.setting.anchor import RANGES

SHORTEST, LONGEST = RANGES["iteration_time"]


def read_step_times(path: Path, skip: int = 0) -> list[float]:
    """Return the iteration times of a file [s], without the first ``skip``.

    Raises
    ------
    InputError : the file cannot be read, has no more numbers than are to be skipped, or a cell that is no
        iteration time in seconds (the message names its line)
    """
    reader = csv.reader(StringIO(read_text(path)))
    try:
        rows = [(reader.line_num, row) for row in reader if row and not row[0].lstrip().startswith("#")]
    except csv.Error as error:
        raise refusal("table.not_csv", line_num=reader.line_num, error=str(error)).under(path) from None
    column, first = 0, 0
    names = [cell.strip() for cell in rows[0][1]] if rows else []
    if rows and not _number(names[0]) and any(name in TIME_COLUMNS for name in names):
        column, first = names.index(next(name for name in TIME_COLUMNS if name in names)), 1
    times = []
    for line, row in rows[first:]:
        cell = row[column] if column < len(row) else ""
        where, value = f"{path}: line {line}, column {names[column] if first else column + 1}", _number(cell)
        if value is None:
            raise refusal("trace.not_time", cell=cell).under(where)
        if not SHORTEST <= value <= LONGEST:
            raise refusal("trace.time_range", value=value, shortest=SHORTEST, longest=LONGEST).under(where)
        times.append(value)
    if skip and len(times) <= skip:
        raise refusal("trace.skip_times", skip=skip, count=len(times)).under(path)
    times = times[skip:]
    if not times:
        raise refusal("trace.no_times").under(path)
    return times


def _number(cell: str) -> float | None:
    """Return a cell as a positive number, None if it is none."""
    try:
        value = float(cell)
    except ValueError:
        return None
    return value if math.isfinite(value) and value > 0 else None
