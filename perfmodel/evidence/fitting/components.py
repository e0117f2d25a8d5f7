"""Learn which parts of the error on an unseen source its runs share: of software, accelerator, network.

The result is the prior of an update by a user's own runs (``evidence.fitting.own_runs``): how much one run of
a new source tells about another.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Mapping, Sequence
from typing import NamedTuple

import numpy as np

from perfmodel.core.arrays import Array
from perfmodel.core.files.reading import LARGEST_OPTIONS, read_json
from perfmodel.evidence.fitting.row_weights import FULL_WEIGHT_ROWS
from perfmodel.model.fitted.calibration import FITTED

MOST_ROWS = 160
"""Largest number of rows of one source, evenly spaced: the work grows with its cube."""
FARTHEST = 3.0
"""Largest error, in standard deviations of all; larger ones are clipped to it (similar to Huber's loss)."""
LEAST_SHARE = 1e-9
"""Least value of a variance, as a share of its start: the likelihood could drive it to 0."""
ITERATIONS = 100
"""Steps of the likelihood's maximisation."""
LEAST_ROWS = 3
"""Least number of runs of a group whose variance counts."""
MOST_WEIGHT = 10
"""Largest weight of a group, in runs."""


class Scaled(NamedTuple):
    """The error of one run of an unseen source, in units of its interval's standard deviation."""

    source: str
    error: float
    """ln(predicted / measured) / deviation."""
    deviation: float
    """Standard deviation of ln(predicted / measured) that the interval states."""
    communication: float
    """Share of communication in the iteration time."""
    keys: Mapping[str, Hashable]
    """Component -> what the run has in common with other runs of its source that have the same value; ``run``
    is everything, ``link`` is None on one accelerator."""


def shipped_components() -> dict[str, float]:
    """Return the shipped standard deviations of the components of errors, and ``freedom``."""
    return {name: float(value) for name, value in read_json(FITTED, LARGEST_OPTIONS)["components"].items()}


def learn_components(rows: Sequence[Scaled]) -> dict[str, float]:
    """Return the standard deviation of every component of an error, over that of its interval.

    Errors are sums of independent normal numbers: one for each key that a run has in common with others of
    its source, and ``rest``, which is its own.  Components of computation have the share of computation in
    the time as weight, ``link`` that of communication; ``several`` belongs to the link as well, but with
    weight 1 wherever the link is crossed, so that slowness with another cause is not attributed to the link's
    rate.  The variances maximise the likelihood, by steps of z'V'KV'z / tr(V'K), with V' the inverse of the
    covariance and K the rows that share a component (Harville 1977), from equal shares.
    """
    errors = np.array([row.error for row in rows])
    most = FARTHEST * float(errors.std())
    names = [*rows[0].keys, "several", "rest"]
    blocks = [*_blocks(rows, names, most)]
    variances = np.full(len(names), float(np.square(errors).mean()) / len(names))
    least = LEAST_SHARE * variances
    for _ in range(ITERATIONS):
        explained, expected = np.zeros(len(names)), np.full(len(names), 1e-12)
        for weight, error, shared in blocks:
            inverse = np.linalg.inv(np.tensordot(variances, shared, 1))
            pulled = inverse @ error
            explained += weight * np.einsum("i,kij,j->k", pulled, shared, pulled)
            expected += weight * np.einsum("ij,kij->k", inverse, shared)
        variances = np.maximum(variances * np.sqrt(explained / expected), least)
    return {
        name: float(f"{deviation:.4g}")
        for name, deviation in zip(names, np.sqrt(variances).tolist(), strict=True)
    }


def learn_freedom(rows: Sequence[Scaled]) -> float:
    """Return the weight, in runs, of the usual noise of a source against the noise of its own runs.

    The variance within groups of runs that share everything is assumed to be inverse chi-square distributed:
    with ``f`` degrees of freedom its squared coefficient of variation is 2 / (f - 4).  The 2 / (n - 1) that
    the sampling of n runs adds is subtracted.
    """
    groups: dict[Hashable, list[float]] = {}
    for row in rows:
        groups.setdefault((row.source, row.keys["run"]), []).append(row.error)
    kept = [errors for errors in groups.values() if len(errors) >= LEAST_ROWS]
    if not kept:
        return 4.0 + 2.0
    count = np.array([len(errors) for errors in kept])
    variance = np.array([np.var(errors, ddof=1) for errors in kept])
    weights = np.minimum(count - 1, MOST_WEIGHT)
    mean = np.average(variance, weights=weights)
    square = np.average(variance**2 * (count - 1) / (count + 1), weights=weights)
    return float(f"{4 + 2 / max(square / mean**2 - 1, 0.1):.4g}")


def _blocks(
    rows: Sequence[Scaled], names: Sequence[str], most: float
) -> Iterator[tuple[float, Array, Array]]:
    """Yield for each source its weight, its errors, shape (rows,), and what its rows share.

    The last has shape (names, rows, rows): covariances of the errors for a unit of each component's variance.
    """
    for source in dict.fromkeys(row.source for row in rows):
        mine = [row for row in rows if row.source == source]
        some = [mine[i] for i in np.linspace(0, len(mine) - 1, min(len(mine), MOST_ROWS)).astype(int)]
        shared = [_shared(some, name) for name in names[:-1]]
        error = np.clip([row.error for row in some], -most, most)
        yield min(1.0, FULL_WEIGHT_ROWS / len(some)), error, np.stack([*shared, np.eye(len(some))])


def _shared(rows: Sequence[Scaled], name: str) -> Array:
    """Return the covariances of errors for a unit of a component's variance, shape (rows, rows)."""
    keys = [row.keys["link" if name == "several" else name] for row in rows]
    if name == "link":
        weight = np.array([row.communication / row.deviation for row in rows])
    elif name == "several":
        weight = np.array([float(key is not None) for key in keys])
    else:
        weight = np.array([1 - row.communication for row in rows])
    number = {key: n for n, key in enumerate(dict.fromkeys(keys))}
    which = np.array([number[key] for key in keys])
    alike: Array = (which[:, None] == which[None, :]) * np.outer(weight, weight)
    return alike
