"""Probability that a job fits into memory: a log-logistic need with the error on published peaks."""

from __future__ import annotations

import json
import math
from collections.abc import Sequence
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

RESULT = Path(__file__).parent / "memory_odds.json"
"""Output of ``python -m perfmodel.evidence.accuracy.memory_fit``."""
STATED, OPEN = "stated", "open"
"""Jobs whose software, sharding and recomputation are stated, and others."""
CERTAIN = 0.95
"""Probability from which a verdict is certain; 1 minus it for the opposite verdict."""


class Odds(NamedTuple):
    """Probability that a job fits, and the 80 % interval of its memory need [B]."""

    fits_probability: Any
    low_80: Any
    high_80: Any


@cache
def half_widths() -> dict[str, float]:
    """Return the learned half-widths of the 80 % interval of a log need, by ``STATED`` and ``OPEN``."""
    widths: dict[str, float] = json.loads(RESULT.read_text("utf-8"))["half_width"]
    return widths


def odds(needed: Any, capacity: float, half_width: float) -> Odds:
    """Return the probability that a need fits, and its 80 % interval.

    The log-logistic law P(need <= M) = 1 / (1 + (N / M)^(ln 9 / h)) has its median at the prediction N, and
    80 % of it within a factor e^h.

    Parameters
    ----------
    needed : predicted, a number or an array [B]
    capacity : M, of an accelerator [B]
    half_width : h, of the logarithm

    Examples
    --------
    >>> round(odds(72.0, 80.0, 0.3).fits_probability, 4)
    0.6839
    >>> odds(72.0, 80.0, 0.3).high_80 / 72 == math.exp(0.3)
    True
    """
    factor = math.exp(half_width)
    return Odds(1 / (1 + (needed / capacity) ** (math.log(9) / half_width)), needed / factor, needed * factor)


def stated_odds(needed: Any, capacity: float) -> Odds:
    """Return the odds of a job with all options stated that affect its memory."""
    return odds(needed, capacity, half_widths()[STATED])


def odds_of(needed: float, capacity: float, unknown: Sequence[str]) -> Odds:
    """Return the odds of a job, given its options that are not stated."""
    return odds(needed, capacity, half_widths()[OPEN if unknown else STATED])


def verdict(probability: float) -> str:
    """Return the verdict whether a job fits, as text.

    >>> verdict(0.97), verdict(0.7), verdict(0.02)
    ('fits', 'fits with probability 70 %', 'does not fit')
    """
    if probability >= CERTAIN:
        return "fits"
    if probability <= 1 - CERTAIN:
        return "does not fit"
    return f"fits with probability {probability * 100:.0f} %"


def short_verdict(probability: float) -> str:
    """Return the verdict whether a job fits, as text for a cell of a table.

    >>> short_verdict(0.97), short_verdict(0.7), short_verdict(0.02)
    ('yes', '70 %', 'NO')
    """
    if CERTAIN > probability > 1 - CERTAIN:
        return f"{probability * 100:.0f} %"
    return "yes" if probability >= CERTAIN else "NO"
