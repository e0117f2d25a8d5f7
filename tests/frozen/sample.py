"""The few answers that the suite compares, as fingerprints: one of twenty, of each command two or more."""

from __future__ import annotations

import math
from typing import Any
from zlib import crc32

from tests.frozen.answers import FOLDER, Answer, answers, requests
from tests.frozen.comparison import CANCELLED, is_number, is_text, leaves

SAMPLE = FOLDER / "sample.jsonl"
EVERY = 20
AT_LEAST = 2
SMALLEST = 1e-12
"""Numbers below are 0 to a fingerprint: they may be what rounding left of a difference."""


def sampled_requests() -> list[str]:
    """Return the first requests of each command and every twentieth of the list."""
    seen: dict[str, int] = {}
    kept = []
    for number, line in enumerate(requests()):
        command = line.split()[0]
        seen[command] = seen.get(command, 0) + 1
        if seen[command] <= AT_LEAST or number % EVERY == 0:
            kept.append(line)
    return kept


def sampled(jobs: int) -> list[dict[str, Any]]:
    """Return the fingerprints of their answers."""
    return [fingerprint(answered) for answered, _ in answers(sampled_requests(), jobs)]


def fingerprint(answered: Answer) -> dict[str, Any]:
    """Return what tells that an answer moved: of its numbers a sum of logarithms, of its words a checksum.

    A number that grows by a share x adds about x to the sum, whatever its unit.  Texts do not count.
    """
    places = [
        (place, value)
        for place, value in leaves(answered)
        if not (is_text(value) or place == "request" or CANCELLED.fullmatch(place))
    ]
    numbers = [value for _, value in places if is_number(value) and abs(value) > SMALLEST]
    words = sorted(f"{place}={value}" for place, value in places if not is_number(value) and value)
    signed = (math.copysign(math.log(abs(value) / SMALLEST), value) for value in numbers)
    return {
        "request": answered["request"],
        "exit": answered["exit"],
        "logarithms": round(math.fsum(signed), 8),
        "words": crc32("\n".join(words).encode()),
    }
