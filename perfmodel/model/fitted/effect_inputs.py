"""What the effects that are learned of one accelerator's speed hang on."""

from __future__ import annotations

from typing import NamedTuple


class EffectInputs(NamedTuple):
    """What a configuration's effects hang on."""

    architecture: str
    accelerator: str
    workload: str
    framework: str
    precision: str
    power: float
    """log of matrix FLOP per watt over a V100's; 0 without matrix units."""
    year: float
    """Of the software, from 2020."""
    fused: float
    unfused_transformer: float
    detection: float
