"""Warnings about chosen options that have no effect on a job."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from perfmodel.model.prediction import Prediction


def without_effect(prediction: Prediction, picked: Mapping[str, Any]) -> list[str]:
    """Return a warning if a network was chosen for a job on one machine without parameter servers."""
    job = prediction.scenario
    if "inter-link" not in picked or job["nodes"] > 1 or job["servers"]:
        return []
    return [f"--inter-link {picked['inter-link']} has no effect: all GPUs are in one machine"]
