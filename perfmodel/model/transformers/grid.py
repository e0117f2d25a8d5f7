"""The fastest layout that fits for each pair of tensor and pipeline parallelism, or why none does."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from perfmodel.model.options.layout import Layout

if TYPE_CHECKING:
    from numpy.typing import NDArray

TOO_LARGE = "do not fit into memory"
NO_DIVISOR = "tensor x pipeline does not divide the accelerators"


class Cell(NamedTuple):
    """The outcome for one degree of tensor parallelism and one number of stages."""

    tensor_parallel: int
    pipeline_parallel: int
    iteration_time: float
    """Time of the fastest layout that fits [s]; infinite if none does."""
    least_bytes: float
    """Least memory that any of the layouts needs [B]; infinite without layouts."""
    reason: str
    """Why no layout is possible; empty if one is."""


def grid_of(
    layouts: Layout,
    times: NDArray[np.float64],
    total: NDArray[np.float64],
    fits: NDArray[np.bool_],
    refused: Mapping[tuple[int, int], str],
) -> list[Cell]:
    """Return a cell for every pair of tensor-parallel degree and number of stages that occur.

    Parameters
    ----------
    layouts, times, total, fits : shape (candidates,) each: layouts, times [s], memory [B], whether it fits
    refused : reason why a pair (degree, stages) has no candidate
    """
    tensor, stages = (
        np.asarray(column, dtype=int) for column in (layouts.tensor_parallel, layouts.pipeline_parallel)
    )
    degrees, rows = np.unique(tensor, return_inverse=True)
    counts, columns = np.unique(stages, return_inverse=True)
    time, least = np.full((2, len(degrees), len(counts)), math.inf)
    np.minimum.at(time, (rows, columns), np.where(fits, times, math.inf))
    np.minimum.at(least, (rows, columns), total)
    return [
        Cell(int(degree), int(count), float(time[row, column]), float(least[row, column]), reason)
        for row, degree in enumerate(degrees)
        for column, count in enumerate(counts)
        for reason in [
            ""
            if math.isfinite(time[row, column])
            else TOO_LARGE
            if math.isfinite(least[row, column])
            else refused.get((int(degree), int(count)), NO_DIVISOR)
        ]
    ]
