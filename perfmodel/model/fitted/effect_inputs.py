"""Inputs of the learned effects on one accelerator's speed."""

from __future__ import annotations

from typing import NamedTuple


class EffectInputs(NamedTuple):
    """Properties of a configuration that its learned effects depend on."""

    architecture: str
    accelerator: str
    workload: str
    framework: str
    precision: str
    power: float
    """Log of matrix FLOP per watt over a V100's; 0 without matrix units."""
    year: float
    """Year of the software, minus 2020."""
    fused: float
    unfused_transformer: float
    detection: float
