"""Parameter types of the command line: numbers with units, words, names; single values, lists and ranges."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterable, Mapping
from typing import Any

import click

from perfmodel.core import units
from perfmodel.core.choices import LARGEST_WORLD_SIZE
from perfmodel.core.errors import InputError, nearest
from perfmodel.core.records.names import NONE, word_of
from perfmodel.core.records.options import MEASURED, Declared

MOST_DIGITS = 12
"""Largest number of digits of a whole number; Python refuses to parse some thousand."""
MOST_VALUES = 100_000
"""Largest number of values of one option."""
_AN_HOUR = re.compile(r"\s*(?:/|per |an )\s*(?:h|hr|hour)$")
LARGEST = 1e12
"""Largest accepted number."""


class Count(click.ParamType):  # type: ignore[type-arg,unused-ignore]
    """A whole number."""

    name = "integer"

    def __init__(self, largest: int = LARGEST_WORLD_SIZE, least: int = 1) -> None:
        self.largest, self.least = largest, least

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> int:
        """Return the number."""
        text = str(value)
        if not _is_whole(text) or not self.least <= int(text) <= self.largest:
            hint = _in_full(text, self.least, self.largest) or _one_of(text)
            self.fail(
                f"{text!r} is not a whole number from {self.least} to {self.largest:,}{hint}", param, ctx
            )
        return int(text)


class Quantity(click.ParamType):  # type: ignore[type-arg,unused-ignore]
    """A number above or from zero, in SI units or with its own unit."""

    name = "quantity"

    def __init__(self, unit: str, largest: float, above_zero: bool = True, least: float = 0.0) -> None:
        self.unit, self.largest, self.above_zero, self.least = unit, largest, above_zero, least

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> float:
        """Return the number in SI units."""
        try:
            number = units.parse(value, self.unit)
        except InputError as error:
            self.fail(error.note(), param, ctx)
        if number > self.largest or (self.above_zero and not number):
            above = "above 0 and " if self.above_zero else ""
            self.fail(f"{str(value)!r} is not {above}at most {self.largest:g}", param, ctx)
        if number < self.least:
            ends = " to ".join(units.show(end, self.unit) for end in (self.least, self.largest))
            self.fail(f"{str(value)!r}: expected {ends}", param, ctx)
        return number


class Price(click.ParamType):  # type: ignore[type-arg,unused-ignore]
    """US dollars per unit: ``24.48``, ``$24.48/h``, ``20k``, ``0.12 USD/kWh``."""

    name = "price"

    def __init__(self, per: str, largest: float) -> None:
        self.per, self.largest = per, largest

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> float:
        """Return the number of dollars."""
        text = _AN_HOUR.sub("", str(value)) if self.per == "h" else str(value)
        try:
            number = units.parse(text.removesuffix(f"/{self.per}"), "USD")
        except InputError:
            number = math.nan
        if not 0 < number <= self.largest:
            expected = (
                f"above 0 up to {self.largest:g}; expected for example $1.20, 0.12 USD/{self.per} or 20k"
            )
            self.fail(f"{str(value)!r} is not a price {expected}", param, ctx)
        return number


class Number(click.ParamType):  # type: ignore[type-arg,unused-ignore]
    """A number above zero, or from zero where that is valid; a fraction may be a percentage."""

    name = "number"

    def __init__(self, low: float = 0.0, high: float = LARGEST, open_: bool = True) -> None:
        self.low, self.high, self.open = low, high, open_

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> float:
        """Return the number."""
        share = self.high <= 1 or not str(value).strip().endswith("%")
        number = units.number(value) if share else math.nan
        if not (self.low <= number <= self.high and (number > self.low or not self.open)):
            above = "above" if self.open else "from"
            self.fail(f"{str(value)!r} is not a number {above} {self.low:g} up to {self.high:g}", param, ctx)
        return number


class Time(click.ParamType):  # type: ignore[type-arg,unused-ignore]
    """A time such as ``60s``, ``10min``, ``6000h``, ``30d``; a bare number is ambiguous and refused."""

    name = "time"

    def __init__(self, above_zero: bool = False) -> None:
        self.above_zero = above_zero

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> float:
        """Return the time in seconds."""
        try:
            time = units.parse(value, "s")
        except InputError as error:
            self.fail(error.note(), param, ctx)
        if time and not str(value).strip()[-1].isalpha():
            self.fail(f"{str(value)!r} has no unit; expected for example {value}h or {value}s", param, ctx)
        if self.above_zero and not time:
            self.fail(f"{str(value)!r} is not above 0", param, ctx)
        return time


class Word(click.Choice):  # type: ignore[type-arg,unused-ignore]
    """One of a few words, in any case and with any hyphens, or a synonym."""

    def __init__(self, words: Iterable[str], synonyms: Mapping[str, str] = NONE) -> None:
        super().__init__(tuple(words))
        self.synonyms = synonyms

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        """Return the word that is meant; an error names the nearest words."""
        word = word_of(str(value), self.choices, self.synonyms)
        try:
            return super().convert(word, param, ctx)
        except click.BadParameter as error:
            near = nearest(str(value), self.choices)
            if not near:
                raise
            self.fail(f"{error.message.rstrip('.')}; nearest: {', '.join(near)}", param, ctx)


class Counts(click.ParamType):  # type: ignore[type-arg,unused-ignore]
    """Whole numbers such as ``1,2,4``, ``1-8`` or ``8-64:8``."""

    name = "counts"

    def __init__(self, largest: int = LARGEST_WORLD_SIZE, most: int = MOST_VALUES, least: int = 1) -> None:
        self.largest, self.most, self.least = largest, most, least

    def convert(
        self, value: Any, param: click.Parameter | None, ctx: click.Context | None
    ) -> tuple[int, ...]:
        """Return the numbers in the order in which they are given."""
        counts: list[int] = []
        for part in str(value).split(","):
            limits, colon, by = part.strip().partition(":")
            first, dash, last = limits.partition("-")
            numbers = [first, *([last] if dash else []), *([by] if colon else [])]
            if not all(map(_is_whole, numbers)) or (colon and not dash):
                self.fail(f"{value!r}: expected whole numbers such as 1,2,4,8 or 1-8 or 8-64:8", param, ctx)
            low, high, step = int(first), int(last) if dash else int(first), int(by) if colon else 1
            if not self.least <= low <= high <= self.largest or step < 1 or (high - low) // step >= self.most:
                self.fail(
                    f"{part.strip()!r}: expected numbers from {self.least} to {self.largest:,}, rising",
                    param,
                    ctx,
                )
            counts += range(low, high + 1, step)
        return tuple(counts)


class Names(click.ParamType):  # type: ignore[type-arg,unused-ignore]
    """Names such as ``resnet50,vgg16``; each is checked like a single one."""

    name = "names"

    def __init__(self, one: click.ParamType = click.STRING) -> None:  # type: ignore[type-arg,unused-ignore]
        self.one = one

    def convert(
        self, value: Any, param: click.Parameter | None, ctx: click.Context | None
    ) -> tuple[Any, ...]:
        """Return the value of each part."""
        parts = [part.strip() for part in str(value).split(",")]
        if not all(parts):
            self.fail(f"{value!r}: expected names joined by commas", param, ctx)
        return tuple(self.one.convert(part, param, ctx) for part in parts)


class Cases(click.ParamType):  # type: ignore[type-arg,unused-ignore]
    """A value, or several joined by commas: ``dgx-1v,dgx-a100-80gb``; each is checked like a single one."""

    def __init__(self, one: click.ParamType) -> None:  # type: ignore[type-arg,unused-ignore]
        self.one, self.name = one, one.name

    def get_metavar(self, *given: Any, **named: Any) -> str | None:
        """Return how the help writes one value; versions of click give different arguments."""
        return self.one.get_metavar(*given, **named)

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        """Return the value, or a tuple of several different ones."""
        parts = [part.strip() for part in str(value).split(",")]
        if not all(parts):
            self.fail(f"{value!r}: expected values joined by commas", param, ctx)
        values = tuple(dict.fromkeys(self.one.convert(part, param, ctx) for part in parts))
        return values if len(values) > 1 else values[0]


class Sizes(click.ParamType):  # type: ignore[type-arg,unused-ignore]
    """A value such as ``100MB``, or a range ``1KB..1GB`` of powers of two (of four, over a wide range)."""

    def __init__(self, one: click.ParamType) -> None:  # type: ignore[type-arg,unused-ignore]
        self.one, self.name = one, one.name

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        """Return the number, or all numbers of a range."""
        first, dots, last = str(value).partition("..")
        low = self.one.convert(first, param, ctx)
        if not dots:
            return low
        high = self.one.convert(last, param, ctx)
        if low > high:
            self.fail(f"{str(value)!r}: expected the smaller first, e.g. 1KB..1GB", param, ctx)
        factor = 2 if high / low <= 2**12 else 4
        count = int(math.log(high / low, factor) + 1e-9)
        sizes = [low * factor**i for i in range(count + 1)]
        return tuple(sizes if sizes[-1] > 0.999 * high else [*sizes, high])


class Read(click.ParamType):  # type: ignore[type-arg,unused-ignore]
    """A text that a function converts to a value."""

    def __init__(self, read: Callable[[str], Any], form: str) -> None:
        self.read, self.name = read, form

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        """Return the value."""
        try:
            return self.read(value)
        except InputError as error:
            self.fail(error.note(), param, ctx)
        except click.BadParameter as error:
            self.fail(error.message, param, ctx)


def _in_full(text: str, least: int, largest: int) -> str:
    """Return a hint on how to write a number with a prefix or commas: ``8k`` may mean 8,000 or 8,192."""
    try:
        number = units.parse(text, "count of samples")
    except InputError:
        return ""
    last = text.strip()[-1:]
    power = {"k": 1, "K": 1, "M": 2}.get(last, 0)
    meant = [
        each
        for each in dict.fromkeys((number, number / 1000**power * 1024**power))
        if least <= each <= largest
    ]
    if not meant or any(each % 1 for each in meant):
        return ""
    return f"; write {' or '.join(f'{each:.0f}' for each in meant)}"


def _one_of(text: str) -> str:
    """Return the hint for a list where one number goes; empty for any other text."""
    is_list = "," in text and all(map(_is_whole, text.split(",")))
    return (
        "; one goes here, not a list: scale takes --gpus 8,16, compare and sweep take several"
        if is_list
        else ""
    )


def _is_whole(text: str) -> bool:
    """Return whether a text is a whole number of at most ``MOST_DIGITS`` digits."""
    return text.isdecimal() and len(text) <= MOST_DIGITS


COUNT = Count()


def type_of(one: Declared) -> click.ParamType:  # type: ignore[type-arg,unused-ignore]
    """Return the parameter type of a declared option."""
    if one.info.several:
        return Sizes(type_of(one._replace(info=one.info._replace(several=0))))
    if one.info.read is not None:
        return Read(one.info.read, one.info.form)
    if one.choices:
        return Word(one.choices, one.info.synonyms)
    if one.type is int:
        return Count(int(one.most or LARGEST_WORLD_SIZE), 1 if one.least is None else int(one.least))
    if one.type is float and one.unit == "s" and not one.info.bare:
        return Time(one.above)
    if one.type is float and one.unit in MEASURED:
        return Quantity(one.unit, one.most or LARGEST, one.above, one.least or 0.0)
    if one.type is float and one.unit.startswith("USD/"):
        return Price(one.unit.removeprefix("USD/"), one.most or LARGEST)
    if one.type is float and one.most is not None:
        return Number(one.least or 0.0, one.most, one.above)
    return click.FLOAT if one.type is float else click.STRING


def types_of(one: Declared) -> click.ParamType:  # type: ignore[type-arg,unused-ignore]
    """Return the parameter type of a declared option that takes several values."""
    if one.type is int:
        return Counts(int(one.most or LARGEST_WORLD_SIZE), least=1 if one.least is None else int(one.least))
    return type_of(one) if one.info.commas else Names(type_of(one))
