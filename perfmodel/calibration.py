"""The shares of each peak that real software reaches, read from ``calibration.toml``."""

from __future__ import annotations

import tomllib
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

MATRIX_KINDS = frozenset({"conv", "linear", "matmul"})
"""Kinds of layer whose products run on matrix units; a depthwise convolution does not."""


class Calibration(NamedTuple):
    """The fitted or assumed constants, in SI units."""

    matrix_fraction: dict[str, float]
    """Share of the peak that products reach, for ``vector`` and ``matrix`` units."""
    memory_fraction: float
    kernel_floor: float
    """Least time of one kernel on the accelerator [s]."""
    dispatch_time: float
    """Host time to launch one kernel [s]."""
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
        matrix_fraction=values("matrix_fraction"),
        memory_fraction=table["memory_fraction"]["value"],
        kernel_floor=table["kernel_floor"]["value"],
        dispatch_time=table["dispatch_time"]["value"],
        link_fraction=values("link_fraction"),
        decode_rate=table["decode_rate"]["value"],
        jitter=table["jitter"]["value"],
        reserved_bytes=table["reserved_bytes"]["value"],
        assumed=tuple(_assumed(table)),
    )
