"""Collect all numbers that are fitted to measured runs, and write the file that ``predict`` reads."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

from perfmodel.core.files.reading import LARGEST_TEXT, read_bytes
from perfmodel.core.files.writing import write_whole
from perfmodel.evidence.accuracy.ledger.held_out import learned_bytes, require_entries
from perfmodel.evidence.accuracy.training_rows import shipped_runs
from perfmodel.evidence.accuracy.transformers.leave_out_transformers import shipped_transformers
from perfmodel.evidence.fitting.out_of_sample import OutOfSample

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
        "scaling": learned.scaling.numbers(),
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
