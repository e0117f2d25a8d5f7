"""Hold the model against published measurements: rows in, signed errors out."""

from perfmodel.evidence.accuracy.training_compare import Row, compare
from perfmodel.evidence.accuracy.training_rows import Run, read_runs, shipped_runs

__all__ = ["Row", "Run", "compare", "read_runs", "shipped_runs"]
