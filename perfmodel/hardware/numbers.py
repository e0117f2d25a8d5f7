"""Texts and rows of the numbers in a spec."""

from __future__ import annotations

from typing import Any

from perfmodel.core.units import show
from perfmodel.hardware.provenance import Provenance, Quantity, SourcedSpec
from perfmodel.hardware.software import Fact

UNITS = {
    "peak_flops": "FLOP/s",
    "achieved_flops": "FLOP/s",
    "memory_bandwidth": "B/s",
    "achieved_memory_bandwidth": "B/s",
    "network_bandwidth": "B/s",
    "storage_bandwidth": "B/s",
    "bandwidth": "B/s",
    "hop_latency": "s",
    "bulk_hop_latency": "s",
    "base_clock": "Hz",
    "boost_clock": "Hz",
    "tdp": "W",
    "achieved_tdp": "W",
}
"""Field of a spec -> its unit; fields that end in ``_bytes`` are in bytes, all others plain numbers."""


def number_text(name: str, value: float) -> str:
    """Return a number of a spec as text with its unit.

    Parameters
    ----------
    name : its key in the file, such as ``peak_flops.fp32``
    value : in SI units

    >>> number_text("peak_flops.fp32", 15.7e12), number_text("compute_units", 80.0)
    ('15.7 TFLOP/s', '80')
    """
    field = name.partition(".")[0]
    if field.endswith("_bytes"):
        return _memory_text(value)
    unit = UNITS.get(field)
    return show(value, unit) if unit else f"{value:g}"


def _memory_text(size: float) -> str:
    """Return the size of a memory [B] as text in binary units.

    >>> _memory_text(16.9e9), _memory_text(6 * 2**20)
    ('15.7 GiB', '6 MiB')
    """
    for unit, power in (("GiB", 30), ("MiB", 20), ("KiB", 10)):
        if size >= 2**power:
            return f"{size / 2**power:.3g} {unit}"
    return f"{size:g} B"


def number_rows(name: str, stated: Provenance) -> list[tuple[str, str]]:
    """Return (name, text) of a number or fact; a pair for each number of ranks of a ring bandwidth."""
    if isinstance(stated, Fact):
        return [(name, stated.words)]
    if isinstance(stated, Quantity):
        return [(name, number_text(name, stated.value))]
    rings: dict[int, float] = vars(stated)["by_group_size"]
    return [(f"{name}, {size} ranks", show(value, "B/s")) for size, value in rings.items()]


def numbers_of(spec: SourcedSpec) -> dict[str, Any]:
    """Return a spec as a row: its texts, flags and numbers in SI units, without sources."""
    plain = {
        name: value for name, value in vars(spec).items() if isinstance(value, (str, int)) and name != "note"
    }
    return plain | {name: stated.value for name, stated in spec.statements() if isinstance(stated, Quantity)}
