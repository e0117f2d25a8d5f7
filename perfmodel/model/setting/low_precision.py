"""Warnings about products in 8 and 4 bits: software that is not known to compute them, layers left in 16."""

from __future__ import annotations

from typing import TYPE_CHECKING

from perfmodel.core.units import per_cent
from perfmodel.hardware.formats import OPERANDS

if TYPE_CHECKING:
    from perfmodel.hardware.software import Release


def of_low_precision(precision: str | None, software: str, facts: Release) -> list[str]:
    """Return the warnings about a precision of less than 16 bits.

    Parameters
    ----------
    precision : as stated; None: not stated
    software, facts : name and release of the job's software
    """
    if precision not in OPERANDS:
        return []
    warnings = []
    if precision not in facts.low_precisions:
        known = ", ".join(facts.low_precisions) or "none"
        warnings.append(f"{software} is not known to compute in {precision}; known: {known}")
    if OPERANDS[precision].value_bytes < 1:
        warnings.append(
            f"{per_cent(OPERANDS[precision].wide_share, 0)} of the layers, and the output head, are taken in "
            f"bf16, as the published recipe of {precision} recommends"
        )
    return warnings
