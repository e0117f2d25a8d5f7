"""Weights of measured runs in a fit."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from perfmodel.core.arrays import Array, Names
from perfmodel.evidence.accuracy.by_source import rows_of_source

NOISE = 0.15
"""Standard deviation of a row's logarithmic time that is measurement noise."""
HUBER = 0.12
"""Residual from which a row's influence stops growing (Huber)."""
FULL_WEIGHT_ROWS = 40
"""Largest weight of a source, in rows: the errors of its rows are correlated."""
TRUST_WEIGHTS = {"A": 1.0, "B": 0.5}
"""Of a row, by how well its source states hardware, batch and procedure."""


def row_weights(sources: Names, trusts: Sequence[str]) -> Array:
    """Weight of each row by its trust, and by how many rows its source has, shape (rows,)."""
    return np.array([TRUST_WEIGHTS[trust] for trust in trusts]) * np.minimum(
        1.0, FULL_WEIGHT_ROWS / rows_of_source(sources)
    )
