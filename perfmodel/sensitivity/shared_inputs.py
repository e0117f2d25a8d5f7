"""Every input of a prediction of a transformer that is shared out."""

from __future__ import annotations

from perfmodel.sensitivity import changes
from perfmodel.sensitivity.inputs import INPUTS, Input

_BOTH = (
    "memory_bandwidth",
    "intra_link_bandwidth",
    "intra_link_hop_latency",
    "inter_link_bandwidth",
    "inter_link_hop_latency",
    "measured_iteration_time",
    "measured_samples_per_second",
    "measured_tokens_per_second",
    "oversubscription",
    "price",
)
SHARED_INPUTS: tuple[Input, ...] = (
    Input(
        "peak_flops",
        "FLOP/s",
        "dense peak of the precision, and what was measured of it",
        lambda c: c.setting.peak_flops,
        changes.every_peak,
        {"FLOP": 1, "s": -1},
    ),
    Input(
        "tdp",
        "W",
        "power that feeds the matrix units",
        lambda c: c.setting.accelerator.tdp.value if c.setting.accelerator.tdp else None,
        changes.power,
        {"J": 1, "s": -1},
    ),
    *(each for each in INPUTS if each.name in _BOTH),
)
"""The same of a transformer that is shared out."""
