"""Options that take many values: names, numbers and ranges of numbers, joined by commas."""

from __future__ import annotations

from typing import Any

import click

from perfmodel.cli.options import MOST_DIGITS
from perfmodel.specs.scenario import LARGEST_WORLD_SIZE

MOST_VALUES = 100_000
"""Of one option."""


class Counts(click.ParamType):  # type: ignore[type-arg,unused-ignore]
    """``1,2,4``, ``1-8`` or ``8-64:8``."""

    name = "counts"

    def __init__(self, largest: int = LARGEST_WORLD_SIZE, most: int = MOST_VALUES) -> None:
        self.largest, self.most = largest, most

    def convert(
        self, value: Any, param: click.Parameter | None, ctx: click.Context | None
    ) -> tuple[int, ...]:
        """Return the numbers, in the order they are named."""
        counts: list[int] = []
        for part in str(value).split(","):
            limits, colon, by = part.strip().partition(":")
            first, dash, last = limits.partition("-")
            numbers = [first, *([last] if dash else []), *([by] if colon else [])]
            if not all(map(_is_whole, numbers)) or (colon and not dash):
                self.fail(f"{value!r}: expected whole numbers such as 1,2,4,8 or 1-8 or 8-64:8", param, ctx)
            low, high, step = int(first), int(last) if dash else int(first), int(by) if colon else 1
            if not 1 <= low <= high <= self.largest or step < 1 or (high - low) // step >= self.most:
                self.fail(
                    f"{part.strip()!r}: expected numbers from 1 to {self.largest:,}, rising", param, ctx
                )
            counts += range(low, high + 1, step)
        return tuple(counts)


class Names(click.ParamType):  # type: ignore[type-arg,unused-ignore]
    """``resnet50,vgg16``; each is checked as one alone would be."""

    name = "names"

    def __init__(self, one: click.ParamType) -> None:  # type: ignore[type-arg,unused-ignore]
        self.one = one

    def convert(
        self, value: Any, param: click.Parameter | None, ctx: click.Context | None
    ) -> tuple[Any, ...]:
        """Return what each part is as an option of its own."""
        return tuple(self.one.convert(part.strip(), param, ctx) for part in str(value).split(","))


def _is_whole(text: str) -> bool:
    return text.isdecimal() and len(text) <= MOST_DIGITS
