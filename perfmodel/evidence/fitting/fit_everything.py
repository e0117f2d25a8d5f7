"""Fit everything to the measured runs and keep the result as the file that ``predict`` reads."""

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
"""Below ``validation/``: what the shipped file rests on."""


class Inputs(NamedTuple):
    """What a fit rests on."""

    names: tuple[str, ...]
    sha256: str
    """Of the files one after another."""


def inputs_of(data: str | None = None, specs: Sequence[str] = ()) -> Inputs:
    """Return the measured runs, and the hardware specs laid over the built-in, that a fit reads.

    Parameters
    ----------
    data : CSV of measured runs; None, those that come along
    specs : folders of hardware specs
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
    """Return what the file holds: the numbers, and what they rest on.

    No date is among them, so that two runs on the same data write the same file.

    Parameters
    ----------
    learned : from the runs
    inputs : files those were read from; by default those that come along
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
    """Return the largest relative difference from what a file holds; a billion where the names differ."""
    here, there = _numbers(fitted(learned)), _numbers(written)
    if here.keys() != there.keys():
        return 1e9
    return max(abs(here[key] - there[key]) / max(abs(there[key]), 1e-3) for key in here)


def _numbers(table: Any, prefix: str = "") -> dict[str, float]:
    """Every number of nested tables, by its path."""
    result: dict[str, float] = {}
    for key, value in table.items() if isinstance(table, dict) else ():
        if isinstance(value, dict):
            result |= _numbers(value, f"{prefix}{key}.")
        elif isinstance(value, (int, float)):
            result[prefix + key] = value
    return result


def write_fitted(path: Path, learned: OutOfSample, inputs: Inputs | None = None) -> None:
    """Write the file whole or not at all.

    Raises
    ------
    InputError : it cannot be written
    """
    write_whole(path, json.dumps(fitted(learned, inputs), indent=1) + "\n")
