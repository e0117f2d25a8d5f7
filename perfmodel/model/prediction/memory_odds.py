"""Probability that a job fits into memory: log-logistic, and never below what is known of its need."""

from __future__ import annotations

import json
import math
from collections.abc import Sequence
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

from perfmodel.core import ops
from perfmodel.core.sentences import in_a_list
from perfmodel.core.units import percent

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
    """Return the learned half-widths of the 80 % interval, of ``STATED`` and of ``OPEN`` jobs."""
    widths: dict[str, float] = json.loads(RESULT.read_text("utf-8"))["half_width"]
    return widths


def odds(needed: Any, known: Any, capacity: Any, half_width: float) -> Odds:
    """Return the probability that a need fits, and its 80 % interval.

    Of the predicted need N the part K is known: states that the options imply; U = N - K is the rest.  The
    law is log-logistic with its median at the prediction.  A need above it is N e^x, as software may keep
    more of anything; one below it is K + U e^(x N / U), as only the rest can be less, with the same density
    at the prediction.  80 % have an x from -h to h:

    P(need <= M) = 1 / (1 + (N / M)^(ln 9 / h)) where M >= N, 1 / (1 + (U / (M - K))^(ln 9 / h U / N)) where
    K < M < N, and 0 where M <= K.

    Parameters
    ----------
    needed : N, a number or an array [B]
    known : K, at least 0 and at most N [B]; at least a byte is not known
    capacity : M, of an accelerator [B]
    half_width : h, of the logarithm

    Examples
    --------
    50 GB, of which 30 GB are known: (50/60)^(ln 9 / 0.3) is 0.263 and 1 / 1.263 is 0.792.  40 GB have room
    for 10 GB where 20 GB are expected: 2^(ln 9 / 0.3 x 20/50) is 7.62 and 1 / 8.62 is 0.116.  Of 24 GB
    nothing is left.  The ends are 30 + 20 exp(-0.3 x 50/20) and 50 exp(0.3) GB.

    >>> [round(float(odds(50e9, 30e9, size, 0.3).fits_probability), 3) for size in (60e9, 50e9, 40e9, 24e9)]
    [0.792, 0.5, 0.116, 0.0]
    >>> [round(end / 1e9, 1) for end in odds(50e9, 30e9, 60e9, 0.3)[1:]]
    [39.4, 67.5]
    """
    rest, below = ops.maximum(needed - known, 1.0), capacity < needed
    share = rest / needed
    # as U / (U + M - K) and N / (N + M), whose powers are finite
    over = ops.where(below, rest / (rest + ops.maximum(capacity - known, 0.0)), needed / (needed + capacity))
    power = math.log(9) / half_width * ops.where(below, share, 1.0)
    chance = (1 - over) ** power / ((1 - over) ** power + over**power)
    return Odds(chance, known + rest * ops.exp(-half_width / share), needed * math.exp(half_width))


def stated_odds(needed: Any, known: Any, capacity: Any) -> Odds:
    """Return the odds of a job with all options stated that affect its memory."""
    return odds(needed, known, capacity, half_widths()[STATED])


def share_for(probability: float) -> float:
    """Return the largest share of a memory that a job may need to fit with a probability of at least a half.

    All options of the job are stated: P = 1 / (1 + s^(ln 9 / h)) of ``odds`` solved for s.

    >>> round(float(stated_odds(share_for(0.9) * 80e9, 0.0, 80e9).fits_probability), 9)
    0.9
    """
    share: float = ((1 - probability) / probability) ** (half_widths()[STATED] / math.log(9))
    return share


def odds_of(needed: float, known: float, capacity: float, unknown: Sequence[str]) -> Odds:
    """Return the odds of a job, given its options that are not stated."""
    return odds(needed, known, capacity, half_widths()[OPEN if unknown else STATED])


def if_as_assumed(needed: float, known: float, capacity: float, unknown: Sequence[str]) -> str:
    """Return the probability that a job fits if its options that are not stated are as assumed, as text.

    Empty where the job surely fits, or more likely does not, or where that is no other probability.

    >>> if_as_assumed(9e9, 0.0, 24e9, ["framework"])
    'over 99 % if --framework is as assumed'
    >>> if_as_assumed(9e9, 0.0, 24e9, []), if_as_assumed(48e9, 0.0, 24e9, ["framework"])
    ('', '')
    """
    chance = odds_of(needed, known, capacity, unknown).fits_probability
    stated = percent(stated_odds(needed, known, capacity).fits_probability)
    if not CERTAIN > chance >= 0.5 or stated == percent(chance):
        return ""
    options = in_a_list(f"--{name}" for name in unknown)
    return f"{stated} if {options} {'is' if len(unknown) == 1 else 'are'} as assumed"


def sure_need(capacity: float, unknown: Sequence[str]) -> float:
    """Return the largest need that fits with a probability of ``CERTAIN`` [B].

    It is the N <= M with 1 / (1 + (N / M)^(ln 9 / h)) = c, so M ((1 - c) / c)^(h / ln 9).

    Parameters
    ----------
    capacity : M, of an accelerator [B]
    unknown : options of the job that are not stated

    >>> need = sure_need(80e9, [])
    >>> need < 80e9, round(float(odds_of(need, 0.0, 80e9, []).fits_probability), 6)
    (True, 0.95)
    """
    width = half_widths()[OPEN if unknown else STATED]
    return float(capacity * ((1 - CERTAIN) / CERTAIN) ** (width / math.log(9)))


def verdict(probability: float) -> str:
    """Return the verdict whether a job fits, as text.

    >>> verdict(0.97), verdict(0.7), verdict(0.02)
    ('fits', 'fits with probability 70 %', 'does not fit')
    """
    if probability >= CERTAIN:
        return "fits"
    if probability <= 1 - CERTAIN:
        return "does not fit"
    return f"fits with probability {percent(probability)}"


def states_exceed(known: float, capacity: float) -> str | None:
    """Return, as text, what states need where they alone exceed a capacity; else None.

    Parameters
    ----------
    known, capacity : [B]

    >>> states_exceed(50 * 2**30, 24 * 2**30)
    'weights, gradients and optimizer states alone need at least 50.0 of 24.0 GiB'
    """
    if known <= capacity:
        return None
    words = "weights, gradients and optimizer states alone need at least"
    return f"{words} {known / 2**30:.1f} of {capacity / 2**30:.1f} GiB"


def short_verdict(probability: float) -> str:
    """Return the verdict whether a job fits, as text for a cell of a table.

    >>> short_verdict(0.97), short_verdict(0.7), short_verdict(0.02)
    ('yes', '70 %', 'NO')
    """
    if CERTAIN > probability > 1 - CERTAIN:
        return percent(probability)
    return "yes" if probability >= CERTAIN else "NO"
