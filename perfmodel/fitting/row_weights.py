"""How much each measured run counts in a fit of training runs."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Array = NDArray[np.float64]


NOISE = 0.15
"""Standard deviation of a row's logarithmic time that the model is not asked to explain."""
HUBER = 0.12
"""Residual beyond which a row pulls no harder."""
FULL_WEIGHT_ROWS = 40
"""A source with more rows than this weighs as much as this many: its rows err together."""
TRUST_WEIGHTS = {"A": 1.0, "B": 0.5}
"""Of a row, by how well its source states hardware, batch and procedure."""


def row_weights(sources: Sequence[str], trusts: Sequence[str]) -> Array:
    """Weight of each row by its trust, and by how many rows its source has, shape (rows,)."""
    counts = Counter(sources)
    return np.array(
        [
            TRUST_WEIGHTS[trust] * min(1.0, FULL_WEIGHT_ROWS / counts[source])
            for source, trust in zip(sources, trusts, strict=True)
        ]
    )
