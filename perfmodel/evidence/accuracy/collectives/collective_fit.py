"""Fit the model of collectives to measured ones: to all, or to all but one source, or but one transport."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Sequence
from itertools import product
from typing import Any, NamedTuple

import numpy as np

from perfmodel.core.arrays import Array, Flags, Names, Places
from perfmodel.core.files.writing import write_whole
from perfmodel.core.least_squares import least_squares
from perfmodel.evidence.accuracy.by_source import COVERED, covering, rows_of_source
from perfmodel.evidence.accuracy.collectives.collective_rows import Measurement, shipped_measurements
from perfmodel.evidence.accuracy.ledger.held_out import learned_bytes, require_entries
from perfmodel.evidence.accuracy.training_rows import TRUSTED
from perfmodel.model.collectives.all_reduce import Curve
from perfmodel.model.collectives.model import curve
from perfmodel.model.collectives.parameters import PARAMETERS, means, named
from perfmodel.model.collectives.place import Place, Point, places
from perfmodel.model.fitted.calibration import COLLECTIVE_FIT
from perfmodel.model.prediction.collectives.collective_spread import (
    FLOOR,
    SIZES,
    class_name,
    size_class,
    transport_of,
)

NOISE = 0.15
"""Standard deviation of ln(measured / model) of a good row; one that is missed by twice as much pulls no
harder."""
SOURCE_WEIGHT = 2.0
"""Of a source, in independent rows: sources differ by more than the rows of one."""
STEP = 1e-4
"""Of a logarithm, for differences."""


class Data(NamedTuple):
    """Measured collectives, each at one of fewer places: what its curve says at its size."""

    places: Place
    at: Places
    """Of each row, into ``places``."""
    message_bytes: Array
    logs: Array
    """Logarithm of the measured time [s]."""
    sources: Names
    transports: Names
    """What ``collective_spread`` tells fabrics apart by."""
    several: Flags
    """Whether on several nodes."""

    def rows(self, which: Flags) -> Data:
        """Return some of the rows, and the places they need."""
        needed, at = np.unique(self.at[which], return_inverse=True)
        return Data(
            self.places.rows(needed),
            at,
            self.message_bytes[which],
            self.logs[which],
            self.sources[which],
            self.transports[which],
            self.several[which],
        )


def data_of(measured: Sequence[Measurement]) -> Data:
    """Return measurements as arrays; each must have a point."""
    points = [m.point for m in measured if m.point is not None]
    known: dict[tuple[object, ...], Point] = {}
    for point in points:
        known.setdefault(point.place, point)
    index = {place: row for row, place in enumerate(known)}
    at = [index[point.place] for point in points]
    return Data(
        places(list(known.values())),
        np.array(at, dtype=np.intp),
        np.array([point.message_bytes for point in points]),
        np.log([m.time for m in measured]),
        np.array([m.source for m in measured]),
        np.array([transport_of(point) for point in points]),
        np.array([point.nodes > 1 for point in points]),
    )


def log_times(parameters: Array, data: Data) -> Array:
    """Logarithm of the predicted time [s], shape (..., rows) of parameters of shape (..., parameters)."""
    variants = curve(data.places, named(parameters))
    each = Curve(*(column[..., data.at] for column in variants))
    return np.asarray(np.log(each.time(data.message_bytes)))


def evaluated(parameters: Array, data: Data) -> tuple[Array, Array]:
    """Return logarithms of predicted times [s], and their slopes by those of the parameters."""
    steps = np.concatenate([np.zeros((1, len(parameters))), STEP * np.eye(len(parameters))])
    now, *moved = log_times(parameters + steps, data)
    return now, (np.stack(moved, axis=1) - now[:, None]) / STEP


def weights(data: Data) -> Array:
    """Return the weight of each row: every source weighs the same, however many rows it has."""
    return SOURCE_WEIGHT / rows_of_source(data.sources)


def fit(data: Data, drawn_to: Array | None = None) -> Array:
    """Return the parameters nearest to the measured times; their logarithms.

    Parameters
    ----------
    drawn_to : logarithms that they are drawn towards; by default the means of their priors
    """
    mean, spread = means()
    return least_squares(
        lambda parameters: evaluated(parameters, data),
        data.logs,
        weights(data),
        mean if drawn_to is None else drawn_to,
        spread,
        noise=NOISE,
        robust=2 * NOISE,
        iterations=12,
        converged=3e-3,
    )


class Judged(NamedTuple):
    """Every row predicted without its own source, and without any other row of its transport."""

    by_source: Array
    """Logarithm of the time by a fit to the other sources [s], shape (rows,)."""
    by_transport: Array
    """The same by a fit to the other transports."""


def judged(data: Data, learned: Flags | None = None) -> Judged:
    """Predict each source by a fit to the others, and each transport by a fit to the others.

    Parameters
    ----------
    learned : which rows are learned from, shape (rows,); all by default
    """
    usable = np.ones(len(data.logs), dtype=bool) if learned is None else learned
    return Judged(*(_left_out(data, groups, usable) for groups in (data.sources, data.transports)))


def _left_out(data: Data, groups: Names, usable: Flags) -> Array:
    result = np.empty_like(data.logs)
    for group in np.unique(groups):
        out = groups == group
        result[out] = log_times(fit(data.rows(~out & usable)), data.rows(out))
    return result


def spreads(data: Data, logs: Judged, without: str | None = None) -> dict[str, float]:
    """Return the standard deviation of ln(measured / predicted) by class, every source alike.

    Rows of a transport that other sources have too are judged by a fit to those; how far off an unseen
    transport may be is learned by leaving each out whole.  One source more is allowed for luck.

    Parameters
    ----------
    data : measured rows
    logs : what each row is predicted to take, left out
    without : a source that must not be looked at
    """
    result = {}
    sizes, seen = size_class(data.message_bytes), _seen(data)
    for several, known, size in product((True, False), (True, False), range(len(SIZES))):
        rows = (sizes == size) & (data.several == several) & (data.sources != without) & (seen | (not known))
        misses = np.abs((logs.by_source if known else logs.by_transport) - data.logs)[rows]
        width = _spread(misses, data.sources[rows])
        result[class_name(several, known, size)] = width if known else max(width, FLOOR)
    return result


def _seen(data: Data) -> Flags:
    """Whether another source has the row's transport."""
    pairs = {(str(t), str(s)) for t, s in zip(data.transports, data.sources, strict=True)}
    alone = {t for t, _ in pairs if sum(other == t for other, _ in pairs) == 1}
    return np.array([t not in alone for t in data.transports.tolist()])


def _spread(misses: Array, sources: Names) -> float:
    """Standard deviation of a normal law that covers as much as these at 80 %; biases count as misses."""
    if not len(misses):
        return FLOOR
    count = len(np.unique(sources))
    return covering(misses, sources, min(COVERED * (count + 1) / count, 0.95))


def learned_from(measured: Sequence[Measurement]) -> list[Measurement]:
    """Return the measurements that a fit learns from: trusted ones that have a point."""
    return [m for m in measured if m.point is not None and m.trust in TRUSTED]


def refit() -> None:
    """Fit to the shipped measurements; write the result, whole or not at all."""
    learned = learned_from(shipped_measurements())
    require_entries("collectives.csv", (m.run_id for m in learned))
    data = data_of(learned)
    parameters = named(fit(data))
    table: dict[str, Any] = {
        "made_by": "python -m perfmodel.evidence.accuracy.collectives.collective_fit",
        "sha256": hashlib.sha256(learned_bytes("collectives.csv")).hexdigest(),
        "points": len(data.logs),
        "sources": len(np.unique(data.sources)),
        "transports": sorted({str(name) for name in data.transports[_seen(data)]}),
        "spreads": {name: float(f"{of:.4g}") for name, of in spreads(data, judged(data)).items()},
        "parameters": {name: float(f"{parameters[name]:.6g}") for name in PARAMETERS},
    }
    write_whole(COLLECTIVE_FIT, json.dumps(table, indent=1) + "\n")


if __name__ == "__main__":
    refit()
