"""Fit the model of transformers' steps to the shipped runs and write the learned numbers."""

from __future__ import annotations

import hashlib
import json
from typing import Any

import numpy as np

from perfmodel.core.files.writing import write_whole
from perfmodel.evidence.accuracy.ledger.held_out import learned_bytes, require_entries
from perfmodel.evidence.accuracy.transformers.leave_out_transformers import shipped_transformers
from perfmodel.model.fitted.calibration import TRANSFORMER_FIT
from perfmodel.model.transformers.parameters import PARAMETERS, named


def refit() -> None:
    """Fit to the shipped runs and write parameters and interval widths to ``TRANSFORMER_FIT``.

    Raises
    ------
    InputError : a row has no entry in the ledger, or the file cannot be written
    """
    learned = shipped_transformers()
    require_entries("transformer_runs.csv", (run.run_id for run in learned.runs))
    widths, parameters = learned.widths(np.ones(len(learned.data.logs), dtype=bool)), named(learned.scores)
    table: dict[str, Any] = {
        "made_by": "python -m perfmodel.evidence.accuracy.transformers.transformer_refit",
        "sha256": hashlib.sha256(learned_bytes("transformer_runs.csv")).hexdigest(),
        "runs": len(learned.data.logs),
        "sources": len(np.unique(learned.data.sources)),
        "spreads": {kind: float(f"{of:.4g}") for kind, of in widths.spreads.items()},
        "accelerator_spread": float(f"{widths.accelerator_spread:.4g}"),
        "software_spread": float(f"{widths.software_spread:.4g}"),
        "accelerators": sorted(widths.accelerators),
        "software": sorted(widths.stacks),
        "parameters": {name: float(f"{parameters[name]:.6g}") for name in PARAMETERS},
    }
    write_whole(TRANSFORMER_FIT, json.dumps(table, indent=1) + "\n")


if __name__ == "__main__":
    refit()
