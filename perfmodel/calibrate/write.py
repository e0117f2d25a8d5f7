"""Fit everything to the measured runs and keep the result as the file that ``predict`` reads."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path
from typing import Any

from perfmodel.calibrate.out_of_sample import OutOfSample
from perfmodel.calibration import FITTED
from perfmodel.resources import folder
from perfmodel.writing import write_whole

INPUTS = ("measured/training_runs.csv",)
"""Below ``validation/``."""


def inputs_hash() -> str:
    """SHA-256 of the measured runs that the fit rests on."""
    digest = hashlib.sha256()
    for name in INPUTS:
        digest.update((folder("validation") / name).read_bytes())
    return digest.hexdigest()


def fitted(learned: OutOfSample) -> dict[str, Any]:
    """Return what the file holds: the numbers, and what they rest on.

    No date is among them, so that two runs on the same data write the same file.
    """
    constants = learned.calibration()
    return {
        "made_by": "perfmodel calibrate",
        "inputs": list(INPUTS),
        "sha256": inputs_hash(),
        "runs": learned.counts(),
        "efficiency": learned.efficiency.numbers(),
        "scaling": learned.scaling.numbers(),
        "seen": {kind: sorted(names) for kind, names in constants.seen.items()},
        "spread": {mode: spread._asdict() for mode, spread in constants.spread.items()},
    }


def difference(learned: OutOfSample) -> float:
    """Return the largest relative difference from what is shipped; a billion where the names differ."""
    shipped = json.loads(FITTED.read_text("utf-8"))
    here, there = _numbers(fitted(learned)), _numbers(shipped)
    if here.keys() != there.keys():
        return 1e9
    return max(abs(here[key] - there[key]) / max(abs(there[key]), 1e-3) for key in here)


def _numbers(table: dict[str, Any], prefix: str = "") -> dict[str, float]:
    """Every number of nested tables, by its path."""
    found: dict[str, float] = {}
    for key, value in table.items():
        if isinstance(value, dict):
            found |= _numbers(value, f"{prefix}{key}.")
        elif isinstance(value, (int, float)):
            found[prefix + key] = value
    return found


def write_fitted(path: Path, learned: OutOfSample) -> None:
    """Write the file whole or not at all.

    Raises
    ------
    InputError : it cannot be written
    """
    write_whole(path, json.dumps(fitted(learned), indent=1) + "\n")
