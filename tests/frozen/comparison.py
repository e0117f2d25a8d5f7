"""What differs between two sets of answers, by command and key, the largest first."""

from __future__ import annotations

import math
import re
from collections.abc import Iterator
from typing import Any, NamedTuple

from tests.frozen.answers import Answer

CLOSE = 1e-12
"""Relative difference of numbers that are equal."""
ROUNDING = 1e-14
"""What is left of differences of numbers near 1: smaller ones are equal, larger ones if they nearly are."""
NEARLY = 1e-6
CANCELLED = re.compile(
    r"answer\.(inputs|counts)\[.*\]\.((time|cost)\.\w+|at_.*)|answer\.sums\..*"  # slopes of `sensitivity`
    r"|answer\.rows\[.*\]\.(differences|relative)\[.*|.*fresh_fraction"
)
"""Small differences of larger numbers, of which the last digits are rounding."""
OF_CANCELLED = 1e-9
"""What they may differ by; what they are differences of is compared in full, but for slopes."""
ABSENT = "(absent)"


class Difference(NamedTuple):
    """One leaf of one answer that moved."""

    request: str
    key: str
    """Where it lies in the answer, with [] for places in lists."""
    before: Any
    after: Any

    @property
    def command(self) -> str:
        return self.request.split()[0]

    @property
    def is_text(self) -> bool:
        """Whether people read it: a sentence, or one more or less."""
        return any(map(is_text, (self.before, self.after)))

    @property
    def size(self) -> float:
        """Relative difference; infinite where a number appears, vanishes or becomes another type."""
        if not (is_number(self.before) and is_number(self.after)) or not self.before:
            return math.inf
        return float(abs(self.after / self.before - 1))


def differences(before: list[Answer], after: list[Answer], close: float = CLOSE) -> Iterator[Difference]:
    """Yield what moved, of requests that both have."""
    others = {each["request"]: each for each in after}
    for one in before:
        if (other := others.get(one["request"])) is not None:
            mine, theirs = dict(leaves(one)), dict(leaves(other))
            for place in mine | theirs:
                pair = mine.get(place, ABSENT), theirs.get(place, ABSENT)
                if not _equal(*pair, close, bool(CANCELLED.fullmatch(place))):
                    yield Difference(one["request"], re.sub(r"\[[^\]]*\]", "[]", place), *pair)


def leaves(value: Any, place: str = "") -> Iterator[tuple[str, Any]]:
    """Yield what an answer holds, with its place in it: entries of a list by their names, if they differ."""
    if isinstance(value, dict) and value:
        for key, inner in value.items():
            yield from leaves(inner, f"{place}.{key}" if place else key)
    elif isinstance(value, list) and value:
        names = [each.get("name") if isinstance(each, dict) else None for each in value]
        by_name = None not in names and len({*map(str, names)}) == len(names)
        for number, inner in enumerate(value):
            yield from leaves(inner, f"{place}[{names[number] if by_name else number}]")
    elif value not in ({}, []):  # an empty list is like none: what it lacks is in the other answer
        yield place, value


def _equal(one: Any, other: Any, close: float, cancelled: bool) -> bool:
    if not (is_number(one) and is_number(other)):
        return type(one) is type(other) and one == other
    apart, larger = abs(one - other), max(abs(one), abs(other))
    if math.isnan(larger) or math.isinf(larger):
        return str(one) == str(other)
    least = OF_CANCELLED if cancelled else ROUNDING if larger <= ROUNDING else min(ROUNDING, NEARLY * larger)
    return apart <= max(close * larger, least)


def is_number(value: Any) -> bool:
    """Whether a value is a number; a truth value is none."""
    return isinstance(value, (int, float)) and not isinstance(value, bool)


def is_text(value: Any) -> bool:
    """Whether a value has several words; an option with its value is none."""
    return isinstance(value, str) and value != ABSENT and " " in value and not _OPTION.fullmatch(value)


_OPTION = re.compile(r"--\S+( \S+)?")


def listing(moved: list[Difference], most: int = 12) -> Iterator[str]:
    """Yield lines that say what moved: commands, of each its keys, of each the largest difference."""
    for command in dict.fromkeys(each.command for each in moved):
        of_command = [each for each in moved if each.command == command]
        by_key: dict[str, list[Difference]] = {}
        for each in of_command:
            by_key.setdefault(each.key, []).append(each)
        yield f"{command}: {_count({each.request for each in of_command})}"
        keys = sorted(by_key.items(), key=lambda item: -max(each.size for each in item[1]))
        for key, those in keys[:most]:
            worst = max(those, key=lambda each: each.size)
            relative = f"{worst.after / worst.before - 1:+.3g}, " if math.isfinite(worst.size) else ""
            pair = f"{_shown(worst.before)} -> {_shown(worst.after)}"
            yield f"  {key}: {_count({each.request for each in those})}, {relative}{pair}"
            yield f"      perfmodel {worst.request:.200}"
        if len(keys) > most:
            others = ", ".join(key for key, _ in keys[most : most + 40])
            yield f"  and {len(keys) - most} other keys: {others}"


def _count(requests: set[str]) -> str:
    return f"{len(requests)} request{'s' if len(requests) > 1 else ''}"


def _shown(value: Any) -> str:
    return f"{value:.12g}" if isinstance(value, float) else f"{value!s:.100}"
