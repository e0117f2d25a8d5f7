"""Published and predicted utilisation of the largest runs: networks of 175 billion parameters and more."""

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
"""Ids of the measured runs in the table."""


class Utilisation(NamedTuple):
    """Published and predicted share of the 16-bit peak, of model FLOP with all attention scores."""

    run: TransformerRun
    published: float
    predicted: float
    low_80: float
    high_80: float

    @property
    def error(self) -> float:
        """Signed error of the time of a step, predicted / published - 1."""
        return self.published / self.predicted - 1


def largest(rows: Iterable[Row]) -> list[Utilisation]:
    """Return the utilisation of the largest runs: some measured ones, and claims that no fit learns from.

    Parameters
    ----------
    rows : measured runs, each predicted by a fit to other sources
    """
    known = {row.run.run_id: row for row in rows}
    measured = [known[run_id] for run_id in LARGEST if run_id in known]
    return [each for row in [*measured, *claims()] if (each := _utilisation(row)) is not None]


def claims() -> Sequence[Row]:
    """Return the published runs that no fit learns from, predicted by the shipped fit."""
    path = folder("validation") / "transformer_claims.csv"
    (rows,) = compare_transformers(read_transformer_runs(path, Catalogue.built_in()))
    return rows


def _utilisation(row: Row) -> Utilisation | None:
    """Return the utilisation of a predicted run, None without a prediction."""
    case = row.run.case
    if case is None or row.predicted is None or row.low_80 is None or row.high_80 is None:
        return None
    # the share of the 16-bit peak, even if products run in 8 bits
    peak = Catalogue.built_in().accelerator(row.run.accelerator).training_peak("bf16")[0]
    least = _flops(case) / (float(case.layout.world_size) * peak)
    return Utilisation(
        row.run, least / row.run.time, least / row.predicted, least / row.high_80, least / row.low_80
    )


def _flops(case: Case) -> float:
    """Return the model FLOP of a step, without recomputation [FLOP]."""
    model = case.model
    parameters = model.layers * (model.attention_parameters + model.dense_parameters)
    parameters = parameters + model.embeddings * model.embedding_parameters
    each = model_flops_per_token(parameters, model.layers, model.heads, model.head_size, case.sequence_length)
    return float(case.layout.global_batch_size * case.sequence_length * each)
