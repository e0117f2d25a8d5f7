"""What the equations leave out: constants read off measurements, and efficiencies fitted to training runs.

The first are in ``calibration.toml``, by hand and each with its source; the second in ``calibration.json``,
which ``perfmodel calibrate`` writes.
"""

from __future__ import annotations

import json
import tomllib
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

from perfmodel.efficiency import Efficiency

FITTED = Path(__file__).parent / "calibration.json"
"""What ``perfmodel calibrate`` writes."""


class Calibration(NamedTuple):
    """The fitted or assumed constants, in SI units."""

    efficiency: Efficiency
    """Of one accelerator, learned from measured runs."""
    link_fraction: dict[str, float]
    """Share of a link's rate that bulk transfers reach, by kind of link."""
    decode_rate: float
    """Samples per second of one loader worker."""
    jitter: float
    """Coefficient of variation of one worker's iteration, independent of the others'."""
    reserved_bytes: float
    """Memory taken before the network's own [B]."""
    assumed: tuple[str, ...]
    """Names of the constants that nobody measured."""


def _assumed(table: dict[str, Any], prefix: str = "") -> list[str]:
    names = []
    for key, entry in table.items():
        if entry.get("basis") == "assumed":
            names.append(prefix + key)
        elif "basis" not in entry and key != "sources":
            names += _assumed(entry, f"{prefix}{key}.")
    return names


@cache
def calibration() -> Calibration:
    """The constants shipped with the package, read once."""
    table = tomllib.loads((Path(__file__).parent / "calibration.toml").read_text("utf-8"))

    def values(group: str) -> dict[str, float]:
        return {key: float(entry["value"]) for key, entry in table[group].items()}

    return Calibration(
        efficiency=Efficiency(json.loads(FITTED.read_text("utf-8"))["efficiency"]),
        link_fraction=values("link_fraction"),
        decode_rate=table["decode_rate"]["value"],
        jitter=table["jitter"]["value"],
        reserved_bytes=table["reserved_bytes"]["value"],
        assumed=tuple(_assumed(table)),
    )
