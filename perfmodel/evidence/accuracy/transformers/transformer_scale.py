"""The largest published runs beside the model: utilisation of networks of 175 billion parameters and more."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import NamedTuple

from perfmodel.core.files.resources import folder
from perfmodel.equations.transformer import model_flops_per_token
from perfmodel.evidence.accuracy.transformers.transformer_compare import Row, compare_transformers
from perfmodel.evidence.accuracy.transformers.transformer_rows import TransformerRun, read_transformer_runs
from perfmodel.hardware.catalogue.store import Catalogue
from perfmodel.model.transformers.job import Case

LARGEST = (
    "mlm-misc-0001",
    "mlm-sc21-0009",
    "mlm-sc21-0010",
    "mtnlg-0001",
    "mtnlg-0002",
    "mtnlg-0003",
    "dgxc-0069",
    "dgxc-0024",
)
"""Of the measured runs, which stand in the table."""


class Utilisation(NamedTuple):
    """Published and predicted use of the 16-bit peak by the network's own FLOP, with whole attention."""

    run: TransformerRun
    published: float
    predicted: float
    low_80: float
    high_80: float

    @property
    def error(self) -> float:
        """Predicted over published time of a step, less 1."""
        return self.published / self.predicted - 1


def largest(rows: Iterable[Row]) -> list[Utilisation]:
    """Return the use of the largest runs: some of those measured, and publications that no fit learns from.

    Parameters
    ----------
    rows : measured runs, each predicted by a fit to other sources
    """
    known = {row.run.run_id: row for row in rows}
    measured = [known[run_id] for run_id in LARGEST if run_id in known]
    return [each for row in [*measured, *claims()] if (each := _used(row)) is not None]


def claims() -> Sequence[Row]:
    """Return the published runs that no fit learns from, predicted by the shipped one."""
    path = folder("validation") / "transformer_claims.csv"
    (rows,) = compare_transformers(read_transformer_runs(path, Catalogue.built_in()))
    return rows


def _used(row: Row) -> Utilisation | None:
    case = row.run.case
    if case is None or row.predicted is None or row.low_80 is None or row.high_80 is None:
        return None
    # a share of the peak in 16 bits, whatever the products take
    peak = Catalogue.built_in().accelerator(row.run.accelerator).training_peak("bf16")[0]
    least = _flops(case) / (float(case.layout.world_size) * peak)
    return Utilisation(
        row.run, least / row.run.time, least / row.predicted, least / row.high_80, least / row.low_80
    )


def _flops(case: Case) -> float:
    """FLOP of a step that the network asks for, nothing computed again [FLOP]."""
    model = case.model
    parameters = model.layers * (model.attention_parameters + model.dense_parameters)
    parameters = parameters + model.embeddings * model.embedding_parameters
    each = model_flops_per_token(parameters, model.layers, model.heads, model.head_size, case.sequence_length)
    return float(case.layout.global_batch_size * case.sequence_length * each)
