"""Epochs to a target as a function of the batch size, fitted to published benchmark submissions.

``python -m perfmodel.workloads.recipes.epochs_to_target MEASURED.csv`` makes ``epochs_to_target.json`` anew.
"""

from __future__ import annotations

import csv
import hashlib
import json
import math
import sys
from collections import defaultdict
from dataclasses import asdict, dataclass
from functools import cache
from pathlib import Path
from typing import Any

from perfmodel.core.errors import refusal, unknown_name
from perfmodel.core.root import bisect
from perfmodel.equations.critical_batch import epochs_to_target, time_to_target

RESULT = Path(__file__).with_suffix(".json")
FEWEST_BATCH_SIZES = 4
"""Fewest batch sizes for a fit: two parameters through fewer leave no estimate of the error."""


@dataclass(frozen=True)
class EpochsFit:
    """Epochs against batch size for one benchmark and quality target: e = e_min (1 + B / B_c)."""

    benchmark: str
    target: str
    unit: str
    """Unit of the epochs: ``epochs``, or ``samples`` if the benchmark counts those."""
    batch_unit: str
    """``samples``, ``tokens`` or ``sentences``."""
    smallest_epochs: float
    critical_batch_size: float | None
    """Batch that needs twice the smallest epochs; None if the data show no growth with the batch."""
    residual: float
    """Standard deviation of the logarithm of the medians around the curve, weighted by runs."""
    smallest_batch_size: float
    largest_batch_size: float
    """Largest batch of the fit."""
    batch_sizes: int
    runs: int

    def epochs(self, global_batch_size: Any) -> Any:
        """Return the epochs (or samples) to the target for a batch, or an array of batches."""
        if self.critical_batch_size is None:
            return self.smallest_epochs + 0 * global_batch_size
        return epochs_to_target(self.smallest_epochs, self.critical_batch_size, global_batch_size)

    def within_range(self, global_batch_size: float) -> bool:
        """Whether a batch is in the range of the fit."""
        return self.smallest_batch_size <= global_batch_size <= self.largest_batch_size

    @property
    def outside(self) -> str:
        """Text on a batch outside that range."""
        return outside_published(self.smallest_batch_size, self.largest_batch_size)

    def time(self, global_batch_size: Any, samples_per_second: Any, samples_per_epoch: float) -> Any:
        """Return the training time to the target [s].

        Parameters
        ----------
        global_batch_size : in ``batch_unit``
        samples_per_second : of the whole job at that batch, in the unit that is counted
        samples_per_epoch : in the data set; not used where ``unit`` is samples
        """
        per_epoch = 1.0 if self.unit == "samples" else samples_per_epoch
        return time_to_target(self.epochs(global_batch_size), per_epoch, samples_per_second)


def outside_published(smallest: float, largest: float) -> str:
    """Return text on a batch outside the published range from ``smallest`` to ``largest``.

    >>> outside_published(32768, 65536)
    'outside the published 32,768 to 65,536'
    >>> outside_published(16384.0, 16384.0)
    'other than the published 16,384'
    """
    if smallest == largest:
        return f"other than the published {smallest:,.0f}"
    return f"outside the published {smallest:,.0f} to {largest:,.0f}"


def fit_epochs(
    batch_sizes: list[float], epochs: list[float], weights: list[float]
) -> tuple[float, float | None, float]:
    """Fit the curve e_min (1 + B / B_c) to epochs by batch size.

    Least squares of ln(e), weighted; at a given critical batch the best factor is a mean of logarithms, so
    only one number is searched for, from a hundredth of the smallest batch to a hundred times the largest.

    Parameters
    ----------
    batch_sizes, epochs, weights : one for each batch size, all positive

    Returns
    -------
    e_min, B_c (None where the best one lies at the upper end: no growth), standard deviation of ln(e)

    Examples
    --------
    Exact values of 30 (1 + B / 1,000).

    >>> fit = fit_epochs([100, 500, 1000, 4000], [33, 45, 60, 150], [1, 1, 1, 1])
    >>> [round(x, 3) for x in fit]
    [30.0, 1000.0, 0.0]
    """
    logs = [math.log(value) for value in epochs]

    def fit(log_critical: float) -> tuple[float, float]:
        growth = [math.log1p(batch / math.exp(log_critical)) for batch in batch_sizes]
        return _mean_and_variance([e - g for e, g in zip(logs, growth, strict=True)], weights)

    def variance_falls(log_critical: float) -> bool:
        level, _ = fit(log_critical)
        critical = math.exp(log_critical)
        return (
            math.fsum(
                weight * (e - math.log1p(batch / critical) - level) * batch / (batch + critical)
                for batch, e, weight in zip(batch_sizes, logs, weights, strict=True)
            )
            < 0
        )

    low, high = math.log(min(batch_sizes) / 100), math.log(100 * max(batch_sizes))
    grid = [low + (high - low) * i / 400 for i in range(401)]
    best = min(range(401), key=lambda i: fit(grid[i])[1])
    if best == 400:
        level, variance = _mean_and_variance(logs, weights)
        return math.exp(level), None, math.sqrt(variance)
    _, log_critical = bisect(variance_falls, grid[max(best - 1, 0)], grid[best + 1])
    level, variance = fit(log_critical)
    return math.exp(level), math.exp(log_critical), math.sqrt(variance)


def _mean_and_variance(values: list[float], weights: list[float]) -> tuple[float, float]:
    total = math.fsum(weights)
    mean = math.fsum(w * value for w, value in zip(weights, values, strict=True)) / total
    return mean, math.fsum(w * (value - mean) ** 2 for w, value in zip(weights, values, strict=True)) / total


def fit_file(measured: Path) -> list[EpochsFit]:
    """Return a fit for each benchmark and target with enough batch sizes in a table of submissions.

    Parameters
    ----------
    measured : CSV with the columns of ``epochs_to_target.csv``; medians are fitted, weighted by runs

    Raises
    ------
    InputError : the file cannot be read or lacks a column
    """
    groups: dict[tuple[str, str], list[dict[str, str]]] = defaultdict(list)
    try:
        with measured.open(encoding="utf-8", newline="") as stream:
            for row in csv.DictReader(stream):
                groups[row["benchmark"], row["target"]].append(row)
        return [_fit_group(rows) for rows in groups.values() if len(rows) >= FEWEST_BATCH_SIZES]
    except OSError as error:
        raise refusal("epochs.unreadable", measured=measured, strerror=error.strerror) from error
    except (KeyError, ValueError) as error:
        raise refusal("epochs.malformed", measured=measured, error=str(error)) from error


def _fit_group(rows: list[dict[str, str]]) -> EpochsFit:
    batches = [float(row["global_batch_size"]) for row in rows]
    runs = [float(row["n"]) for row in rows]
    smallest, critical, residual = fit_epochs(batches, [float(row["median"]) for row in rows], runs)
    return EpochsFit(
        benchmark=rows[0]["benchmark"],
        target=rows[0]["target"],
        unit=rows[0]["unit"],
        batch_unit=rows[0]["batch_unit"],
        smallest_epochs=float(f"{smallest:.6g}"),
        critical_batch_size=None if critical is None else float(f"{critical:.6g}"),
        residual=float(f"{residual:.4g}"),
        smallest_batch_size=min(batches),
        largest_batch_size=max(batches),
        batch_sizes=len(rows),
        runs=int(sum(runs)),
    )


def regenerate(measured: Path, result: Path = RESULT) -> None:
    """Fit the measurements and write the data file, with the hash of the measurements.

    Raises
    ------
    InputError : the measurements cannot be read
    """
    fits = fit_file(measured)
    document = {
        "made_by": "python -m perfmodel.workloads.recipes.epochs_to_target",
        "made_from": measured.name,
        "sha256": hashlib.sha256(measured.read_bytes()).hexdigest(),
        "fits": [asdict(fit) for fit in fits],
    }
    result.write_text(json.dumps(document, indent=1) + "\n", encoding="utf-8")


@cache
def load_fits() -> tuple[EpochsFit, ...]:
    """Return the shipped fits."""
    document = json.loads(RESULT.read_text(encoding="utf-8"))
    return tuple(EpochsFit(**fit) for fit in document["fits"])


def epochs_fit(benchmark: str, target: str | None = None) -> EpochsFit:
    """Return the shipped fit of a benchmark and target; without a target the one with the most runs.

    Raises
    ------
    InputError : no fit for that benchmark, or for that target of it

    Examples
    --------
    ResNet-50 needs about 35 epochs with small batches.

    >>> 33 < epochs_fit("resnet50").epochs(2048) < 40
    True
    """
    fits = [fit for fit in load_fits() if fit.benchmark == benchmark]
    if not fits:
        raise unknown_name("benchmark", benchmark, {fit.benchmark for fit in load_fits()})
    chosen = [fit for fit in fits if target in (None, fit.target)]
    if not chosen:
        raise unknown_name(f"target of {benchmark}", str(target), [fit.target for fit in fits])
    return max(chosen, key=lambda fit: fit.runs)


if __name__ == "__main__":
    regenerate(Path(sys.argv[1]))
