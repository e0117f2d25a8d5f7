"""Learn how errors on an unseen source are shared: by its software, accelerators, networks, or runs alone.

What is learned here is the prior of an update by a user's own runs (``evidence.fitting.own_runs``): how far
one run of a new source speaks for another of the same.
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
"""Of one source, evenly spaced: the work grows with their cube."""
FARTHEST = 3.0
"""Error, in standard deviations of all, beyond which it is taken for that (as Huber's loss would)."""
LEAST_SHARE = 1e-9
"""Of its part of the mean square that a variance keeps: runs that are all missed alike leave it none."""
ITERATIONS = 100
LEAST_ROWS = 3
"""Of a group whose variance is taken."""
MOST_WEIGHT = 10
"""Of a group, in runs."""


class Scaled(NamedTuple):
    """One run of an unseen source."""

    source: str
    error: float
    """ln(predicted / measured), over ``deviation``."""
    deviation: float
    """That its interval stands for."""
    communication: float
    """Share of the iteration."""
    keys: Mapping[str, Hashable]
    """What it shares with other runs of its source, by component; ``run`` is all of it, the link but ``None``
    on one accelerator."""


def shipped_components() -> dict[str, float]:
    """Return what was learned of the errors of the shipped fit, with ``freedom``."""
    return {name: float(value) for name, value in read_json(FITTED, LARGEST_OPTIONS)["components"].items()}


def learn_components(rows: Sequence[Scaled]) -> dict[str, float]:
    """Return the standard deviation of every component of an error, over that of its interval.

    Errors are sums of independent normal numbers: one for each key that a run shares with others of its
    source, and ``rest``, which no other shares.  What acts on computation is weighted by its share of the
    time, what ``link`` does by that of communication; ``several`` is the link's once more, in equal weight
    wherever it is crossed, so that what is slow for another reason is not laid on it.  The variances are
    those of greatest likelihood, by steps of z'V'KV'z / tr(V'K), with V' the inverse of the covariance and K
    what shares a component (Harville 1977), from equal shares.
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
    """Return how many runs the usual noise of a source counts for, beside those that tell of its own.

    The variance within groups of runs that share everything is taken for inverse chi-square: of ``f`` degrees
    of freedom its squared variation is 2 / (f - 4).  Sampling, which lends a variance of n runs 2 / (n - 1)
    of that, is taken off.
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
    """Yield of each source its weight, its errors, and who shares what.

    Shapes (), (rows,) and (names, rows, rows).
    """
    for source in dict.fromkeys(row.source for row in rows):
        mine = [row for row in rows if row.source == source]
        some = [mine[i] for i in np.linspace(0, len(mine) - 1, min(len(mine), MOST_ROWS)).astype(int)]
        shared = [_shared(some, name) for name in names[:-1]]
        error = np.clip([row.error for row in some], -most, most)
        yield min(1.0, FULL_WEIGHT_ROWS / len(some)), error, np.stack([*shared, np.eye(len(some))])


def _shared(rows: Sequence[Scaled], name: str) -> Array:
    """How two runs' errors vary together for each unit of a component's variance, shape (rows, rows)."""
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
