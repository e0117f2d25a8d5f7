"""A measurement to start from: ``iteration_time=0.145s@1`` or ``samples_per_second=220@1``."""

from __future__ import annotations

import re
from typing import NamedTuple

from perfmodel import units
from perfmodel.errors import InputError
from perfmodel.specs.scenario import LARGEST_WORLD_SIZE

_FORM = re.compile(r"(iteration_time|samples_per_second)=([^@]+)@(\d{1,9})", re.ASCII)
RANGES = {"iteration_time": (1e-6, 1e7), "samples_per_second": (1e-6, 1e10)}
"""What one accelerator can be thought to do; anything else is a slip of the unit."""


class Anchor(NamedTuple):
    """One measured run of the same plan."""

    quantity: str
    value: float
    """Seconds, or samples per second of the whole job."""
    world_size: int
    """Accelerators it was measured on: of one machine, or of several."""

    def iteration_time(self, samples: int) -> float:
        """Return the measured iteration time [s] of ``samples`` per iteration."""
        return self.value if self.quantity == "iteration_time" else samples / self.value


def parse_anchor(text: str) -> Anchor:
    """Read an anchor.

    >>> parse_anchor("iteration_time=145ms@1")
    Anchor(quantity='iteration_time', value=0.145, world_size=1)

    Raises
    ------
    InputError : another form, or a value that no accelerator can have measured
    """
    match = _FORM.fullmatch(text.strip())
    if not match:
        raise InputError(
            f"anchor {text!r}: expected iteration_time=0.145s@1 or samples_per_second=220@1 (@ accelerators)"
        )
    quantity, value, world_size = match.groups()
    if not 1 <= int(world_size) <= LARGEST_WORLD_SIZE:
        raise InputError(
            f"anchor {text!r}: expected a run on one accelerator (@1), or on several (@8), "
            f"of at most {LARGEST_WORLD_SIZE:,}"
        )
    measured = units.parse(value, "s" if quantity == "iteration_time" else "1/s")
    low, high = RANGES[quantity]
    if not low <= measured <= high:
        raise InputError(f"anchor {text!r}: expected {quantity} between {low:g} and {high:g}, in SI units")
    return Anchor(quantity, measured, int(world_size))
