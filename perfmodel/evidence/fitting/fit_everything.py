"""Collect all numbers that are fitted to measured runs, and write the file that ``predict`` reads."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, NamedTuple

from perfmodel.core.files.reading import LARGEST_OPTIONS, LARGEST_TEXT, read_bytes, read_json
from perfmodel.core.files.writing import write_whole
from perfmodel.evidence.accuracy.ledger.held_out import learned_bytes, require_entries
from perfmodel.evidence.accuracy.training_rows import shipped_runs
from perfmodel.evidence.accuracy.transformers.leave_out_transformers import shipped_transformers
from perfmodel.evidence.fitting.out_of_sample import OutOfSample, shipped
from perfmodel.evidence.fitting.own_table import read_measured_runs
from perfmodel.hardware.catalogue.store import Catalogue
from perfmodel.model.fitted.calibration import Calibration

SHIPPED = "measured/training_runs.csv"
"""The table below ``validation/`` that the shipped file is fitted to."""


class Inputs(NamedTuple):
    """The files that a fit reads."""

    names: tuple[str, ...]
    sha256: str
    """Checksum of the files, one after another."""


def inputs_of(data: str | None = None, specs: Sequence[str] = ()) -> Inputs:
    """Return names and checksum of the files that a fit reads: measured runs, and a user's hardware specs.

    Parameters
    ----------
    data : path of a CSV file of measured runs; None for the shipped one
    specs : folders of hardware specs that extend the built-in ones

    Raises
    ------
    InputError : a file cannot be read, or a new shipped row has no entry in the ledger
    """
    name = Path(SHIPPED).name
    if data is None:
        require_entries(name, (run.run_id for run in shipped_runs()))
    runs = learned_bytes(name) if data is None else read_bytes(data, LARGEST_TEXT)
    digest = hashlib.sha256(runs)
    for file in (file for each in specs for file in sorted(Path(each).rglob("*.toml"))):
        digest.update(read_bytes(file, LARGEST_TEXT))
    return Inputs(
        (SHIPPED if data is None else Path(data).name, *(Path(each).name for each in specs)),
        digest.hexdigest(),
    )


def fitted(learned: OutOfSample, inputs: Inputs | None = None) -> dict[str, Any]:
    """Return the content of the file: the learned numbers, and what they were learned from.

    It has no date, so that two fits to the same data write the same file.

    Parameters
    ----------
    learned : fits to the runs
    inputs : files that the runs were read from; by default the shipped ones
    """
    inputs = inputs or inputs_of()
    constants = learned.calibration()
    own = learned.transformers not in (None, shipped_transformers())
    return {
        "made_by": "perfmodel calibrate",
        "inputs": list(inputs.names),
        "sha256": inputs.sha256,
        "runs": learned.counts(),
        "efficiency": learned.efficiency.numbers(),
        "scaling": learned.scaling.numbers() | learned.stragglers.learned().numbers,
        "widths": learned.scaling.widths() | learned.stragglers.learned().deviations,
        **({"transformers": dict(constants.transformers)} if own else {}),
        "seen": {kind: sorted(names) for kind, names in constants.seen.items()},
        "reach": {name: list(ends) for name, ends in sorted(constants.reach.items())},
        "spread": {mode: spread._asdict() for mode, spread in constants.spread.items()},
        "components": learned.components(),
    }


def difference(learned: OutOfSample, written: Any) -> float:
    """Return the largest relative difference between learned numbers and those of a file, as JSON.

    It is 1e9 if their names differ.
    """
    here, there = _numbers(fitted(learned)), _numbers(written)
    if here.keys() != there.keys():
        return 1e9
    return max(abs(here[key] - there[key]) / max(abs(there[key]), 1e-3) for key in here)


def _numbers(table: Any, prefix: str = "") -> dict[str, float]:
    """Return every number of nested tables, by its dotted path."""
    result: dict[str, float] = {}
    for key, value in table.items() if isinstance(table, dict) else ():
        if isinstance(value, dict):
            result |= _numbers(value, f"{prefix}{key}.")
        elif isinstance(value, (int, float)):
            result[prefix + key] = value
    return result


def write_fitted(path: Path, learned: OutOfSample, inputs: Inputs | None = None) -> None:
    """Write the content of ``fitted`` as JSON.

    Raises
    ------
    InputError : the file cannot be written; it is then unchanged
    """
    write_whole(path, json.dumps(fitted(learned, inputs), indent=1) + "\n")


@dataclass(frozen=True, repr=False)
class Fit:
    """A fit to measured runs."""

    learned: OutOfSample
    """The fit to all runs, and one without each source."""
    inputs: Inputs
    """Files it rests on."""

    @cached_property
    def calibration(self) -> Calibration:
        """What ``predict`` takes as ``constants``."""
        return self.learned.calibration()

    @property
    def runs(self) -> dict[str, int]:
        """How many runs each part was fitted to."""
        return self.learned.counts()

    def to_json(self) -> str:
        """Return what ``perfmodel calibrate --json`` prints."""
        return json.dumps(fitted(self.learned, self.inputs))

    def write(self, path: str | Path) -> None:
        """Write a file that ``read_calibration`` reads, whole or not at all.

        Raises
        ------
        InputError : it cannot be written
        """
        write_fitted(Path(path), self.learned, self.inputs)

    def __repr__(self) -> str:
        runs = self.runs
        return (
            f"<Fit to {', '.join(self.inputs.names)}: {runs['one accelerator']} runs on one accelerator, "
            f"{runs['anchored']} on several>"
        )


@dataclass(frozen=True)
class Comparison:
    """A fit, and by how much it differs from a file that holds one."""

    fit: Fit
    file: str
    difference: float
    """The largest of any number, relative."""

    def to_json(self) -> str:
        """Return what ``perfmodel calibrate --check --json`` prints."""
        return json.dumps({"largest_difference": self.difference, **json.loads(self.fit.to_json())})

    def __str__(self) -> str:
        return f"largest relative difference from {self.file}: {self.difference:.2g}"


def fit(data: str | None, catalogue: Catalogue, jobs: int = 1) -> Fit:
    """Return the fit to measured runs; to those that come along with the built-in specs, made once.

    Raises
    ------
    InputError : the file cannot be read, or holds nothing to learn from
    """
    if data is None and not catalogue.has_own:
        return Fit(shipped(jobs), inputs_of())
    runs = shipped_runs() if data is None else read_measured_runs(data, catalogue)
    folders = [str(folder) for folder in catalogue.own_folders]
    return Fit(OutOfSample(runs, catalogue, jobs), inputs_of(data, folders))


def compared(data: str | None, catalogue: Catalogue, path: Path, jobs: int = 1) -> Comparison:
    """Return the fit next to what a file holds; parameters and errors as of ``fit``."""
    written = read_json(path, LARGEST_OPTIONS)
    made = fit(data, catalogue, jobs)
    return Comparison(made, path.name, difference(made.learned, written))
