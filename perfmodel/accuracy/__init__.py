"""Hold the model against published measurements: rows in, signed errors out."""

from perfmodel.accuracy.compare import Row, compare
from perfmodel.accuracy.runs import Run, read_runs, shipped_runs

__all__ = ["Row", "Run", "compare", "read_runs", "shipped_runs"]
