"""Weights of measured runs in a fit."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from perfmodel.core.arrays import Array, Names
from perfmodel.evidence.accuracy.by_source import rows_of_source

NOISE = 0.15
"""Standard deviation of the measurement noise of a row, in the logarithm of the time."""
HUBER = 0.12
"""Absolute residual from which a row's influence no longer grows (Huber)."""
FULL_WEIGHT_ROWS = 40
"""Largest weight of a source, in rows: the errors of its rows are correlated."""
TRUST_WEIGHTS = {"A": 1.0, "B": 0.5}
"""Trust class, by how well a source states hardware, batch and procedure -> weight of a row."""


def row_weights(sources: Names, trusts: Sequence[str]) -> Array:
    """Return the weight of each row, by its trust and by the number of rows of its source, shape (rows,)."""
    return np.array([TRUST_WEIGHTS[trust] for trust in trusts]) * np.minimum(
        1.0, FULL_WEIGHT_ROWS / rows_of_source(sources)
    )
