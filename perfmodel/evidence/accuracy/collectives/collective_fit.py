"""Fit the model of collectives to measured times: to all, or without one source or transport."""

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
"""Standard deviation of ln(measured / model) of a good row; the pull of a row is limited at twice this
error."""
SOURCE_WEIGHT = 2.0
"""Weight of a source, in independent rows: sources differ more from each other than the rows of one do."""
STEP = 1e-4
"""Step of a parameter's logarithm in finite differences."""


class Data(NamedTuple):
    """Measured collectives as arrays.

    Rows with the same collective, group and fabric share one place, whose curve gives the time at each
    message size.
    """

    places: Place
    at: Places
    """Index of each row's place in ``places``."""
    message_bytes: Array
    logs: Array
    """Logarithm of the measured time [s]."""
    sources: Names
    transports: Names
    """Transport of each row, by which ``collective_spread`` distinguishes fabrics."""
    several: Flags
    """Whether each row ran on several nodes."""

    def rows(self, which: Flags) -> Data:
        """Return the selected rows, with only the places that they need."""
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
    """Return measurements as arrays; each measurement must have a point."""
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
    """Return ln(predicted time [s]), shape (..., rows).

    Parameters
    ----------
    parameters : their logarithms, shape (..., parameters)
    data : measured rows
    """
    variants = curve(data.places, named(parameters))
    each = Curve(*(column[..., data.at] for column in variants))
    return np.asarray(np.log(each.time(data.message_bytes)))


def times_and_slopes(parameters: Array, data: Data) -> tuple[Array, Array]:
    """Return ln(predicted time [s]), shape (rows,), and its slopes, shape (rows, parameters).

    Slopes are with respect to the logarithms of the parameters, by finite differences.
    """
    steps = np.concatenate([np.zeros((1, len(parameters))), STEP * np.eye(len(parameters))])
    now, *moved = log_times(parameters + steps, data)
    return now, (np.stack(moved, axis=1) - now[:, None]) / STEP


def weights(data: Data) -> Array:
    """Return the weight of each row: every source weighs the same, however many rows it has."""
    return SOURCE_WEIGHT / rows_of_source(data.sources)


def fit(data: Data, drawn_to: Array | None = None) -> Array:
    """Return the logarithms of the parameters that fit measured times best (robust least squares, priors).

    Parameters
    ----------
    data : measured rows
    drawn_to : means of the priors of the logarithms; by default those of ``parameters.means``
    """
    mean, spread = means()
    return least_squares(
        lambda parameters: times_and_slopes(parameters, data),
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
    """Out-of-sample predictions of every row: without its source, and without its transport."""

    by_source: Array
    """ln(time [s]) by a fit to the other sources, shape (rows,)."""
    by_transport: Array
    """ln(time [s]) by a fit to the other transports, shape (rows,)."""


def judged(data: Data, learned: Flags | None = None) -> Judged:
    """Predict each source by a fit to the others, and each transport by a fit to the others.

    Parameters
    ----------
    learned : which rows are learned from, shape (rows,); all by default
    """
    usable = np.ones(len(data.logs), dtype=bool) if learned is None else learned
    return Judged(*(_left_out(data, groups, usable) for groups in (data.sources, data.transports)))


def _left_out(data: Data, groups: Names, usable: Flags) -> Array:
    """Return ln(time [s]) of each row by a fit to the usable rows of all other groups, shape (rows,)."""
    result = np.empty_like(data.logs)
    for group in np.unique(groups):
        out = groups == group
        result[out] = log_times(fit(data.rows(~out & usable)), data.rows(out))
    return result


def spreads(data: Data, logs: Judged, without: str | None = None) -> dict[str, float]:
    """Return the standard deviation of ln(measured / predicted) by class, every source with the same weight.

    The error on a known transport comes from fits without the row's source, over rows whose transport other
    sources measured too; the error on an unseen transport comes from fits without the row's transport.  The
    quantile is that of one more source than there are, as a margin for chance.

    Parameters
    ----------
    data : measured rows
    logs : out-of-sample predictions of each row
    without : a source whose rows must not be used
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
    """Return for each row whether another source measured the same transport, shape (rows,)."""
    pairs = {(str(t), str(s)) for t, s in zip(data.transports, data.sources, strict=True)}
    alone = {t for t, _ in pairs if sum(other == t for other, _ in pairs) == 1}
    return np.array([t not in alone for t in data.transports.tolist()])


def _spread(misses: Array, sources: Names) -> float:
    """Return the standard deviation of a normal law whose 80 % interval holds the errors, biases included."""
    if not len(misses):
        return FLOOR
    count = len(np.unique(sources))
    return covering(misses, sources, min(COVERED * (count + 1) / count, 0.95))


def learned_from(measured: Sequence[Measurement]) -> list[Measurement]:
    """Return the measurements that a fit learns from: those of trust A and B that have a point."""
    return [m for m in measured if m.point is not None and m.trust in TRUSTED]


def refit() -> None:
    """Fit to the shipped measurements and write the fitted parameters to ``COLLECTIVE_FIT``.

    Raises
    ------
    InputError : a row has no entry in the ledger, or the file cannot be written
    """
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
