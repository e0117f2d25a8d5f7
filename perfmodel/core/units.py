"""Parses quantities with units (``25Gbit/s``, ``16GiB``, ``2 days``, ``$20,000``) to SI, and formats them."""

from __future__ import annotations

import math
import re
from numbers import Real
from typing import TypeGuard

from perfmodel.core.errors import InputError, refusal

DECIMAL = {"k": 1e3, "K": 1e3, "M": 1e6, "G": 1e9, "T": 1e12, "P": 1e15, "E": 1e18}
BINARY = {"Ki": 2.0**10, "Mi": 2.0**20, "Gi": 2.0**30, "Ti": 2.0**40, "Pi": 2.0**50, "Ei": 2.0**60}
SMALL = {"m": 1e-3, "u": 1e-6, "µ": 1e-6, "μ": 1e-6, "n": 1e-9}


def _spellings(words: tuple[str, ...], prefixes: dict[str, float], scale: float = 1.0) -> dict[str, float]:
    return {prefix + word: size * scale for word in words for prefix, size in {"": 1.0, **prefixes}.items()}


_BYTES = ("B", "byte", "bytes")
_BYTE_RATES = ("B/s", "Bps", "byte/s", "bytes/s")
_BIT_RATES = ("bit/s", "b/s", "bps", "bits/s")

_TIMES = {
    **dict.fromkeys(("secs", "second", "seconds"), 1.0),
    **dict.fromkeys(("m", "min", "mins", "minute", "minutes"), 60.0),
    **dict.fromkeys(("h", "hr", "hrs", "hour", "hours"), 3600.0),
    **dict.fromkeys(("d", "day", "days"), 86400.0),
    **dict.fromkeys(("w", "wk", "week", "weeks"), 604800.0),
}
_MANY = {
    **dict.fromkeys(("k", "K", "thousand"), 1e3),
    **dict.fromkeys(("M", "million"), 1e6),
    **dict.fromkeys(("B", "G", "bn", "billion"), 1e9),
    **dict.fromkeys(("T", "trillion"), 1e12),
}


def _counted(*words: str) -> dict[str, float]:
    """Return the spellings of a count, with and without each noun -> the number they stand for."""
    sizes = {"": 1.0, **_MANY}
    return {
        f"{prefix}{space}{word}".strip(): size
        for prefix, size in sizes.items()
        for word in ("", *words)
        for space in ("", " ")
    }


def _rates(*words: str) -> dict[str, float]:
    """Return the spellings of a count per second -> the number; a bare B (bytes) or G is none of them."""
    sizes = {prefix: size for prefix, size in {"": 1.0, **_MANY}.items() if prefix not in ("B", "G")}
    bare = {f"{prefix}{end}": size for prefix, size in sizes.items() for end in ("/s", "") if prefix or end}
    ends = [f"{word}{second}" for word in words for second in ("/s", "/sec", "/second", " per second")]
    sizes = {"": 1.0, **_MANY}
    named = {
        f"{prefix}{space}{end}": size for prefix, size in sizes.items() for space in ("", " ") for end in ends
    }
    return bare | {spelling.strip(): size for spelling, size in named.items()}


UNITS: dict[str, dict[str, float]] = {
    "B": _spellings(_BYTES, DECIMAL | BINARY),
    "B/s": _spellings(_BYTE_RATES, DECIMAL | BINARY) | _spellings(_BIT_RATES, DECIMAL | BINARY, 1 / 8),
    "s": _spellings(("s", "sec"), SMALL) | _TIMES,
    "FLOP/s": _spellings(("FLOP/s", "FLOPS", "FLOPs/s", "FLOPs", "flop/s", "flops"), DECIMAL),
    "FLOP": _spellings(("FLOP", "FLOPs", "flop", "flops"), DECIMAL),
    "Hz": _spellings(("Hz",), DECIMAL),
    "W": _spellings(("W",), DECIMAL),
    "1/s": {"1/s": 1.0, **_rates("token", "tokens", "sample", "samples", "image", "images", "sequences")},
    "USD": _counted("USD", "dollar", "dollars"),
    "count of samples": _counted("sample", "samples"),
    "count of tokens": _counted("token", "tokens"),
    "1": {"%": 0.01},
}
"""SI unit -> spelling -> its value in the SI unit."""

_EXAMPLES = {
    "B": "100MB or 16GiB",
    "B/s": "12.5GB/s or 25Gbit/s",
    "s": "48h or 2 days, 145ms or 1.5us",
    "FLOP/s": "125TFLOP/s",
    "FLOP": "4.1GFLOP",
    "Hz": "1530MHz",
    "W": "300W",
    "1/s": "360/s, 1.2M/s or 1,200,000 tokens/s",
    "USD": "$20,000, 20k or 1.5M",
    "count of samples": "5M samples or 5e6",
    "count of tokens": "1T, 300B tokens or 5e6",
    "1": "0.5 or 50%",
}
_NUMBER_AND_UNIT = re.compile(r"([+-]?(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?)\s*(\D.*)?", re.ASCII)
_THOUSANDS = re.compile(r"(\$?)(\d{1,3}(?:,\d{3})+)(?![\d,])", re.ASCII)
_WITH_THOUSANDS = ("USD", "count of samples", "count of tokens", "s", "1/s")
_PARTS_OF_A_TIME = re.compile(r"(?:\d+\.?\d*\s*[a-z]+\s*){2,}", re.ASCII)


def parse(text: str | float, unit: str) -> float:
    """Return a quantity that a person typed as a number in SI units; a plain number is in SI already.

    Parameters
    ----------
    text : ``"25Gbit/s"``, ``"16 GiB"``, ``"1.5us"``, ``"100e6"``, or a number; zero is allowed
    unit : a key of ``UNITS``: the unit of the result

    Raises
    ------
    InputError : not a number, negative, infinite, or in a unit of another quantity

    A time may have several parts; times, money, counts and rates of them may have commas between thousands.

    Examples
    --------
    25e9 bits are 25/8 = 3.125e9 bytes; a GiB has 2^30 bytes.

    >>> parse("25Gbit/s", "B/s")
    3125000000.0
    >>> parse("16GiB", "B") / 2**30
    16.0
    >>> parse("1d 12h", "s") / 3600, parse("$20,000", "USD"), parse("300B", "count of tokens")
    (36.0, 20000.0, 300000000000.0)
    >>> parse("soon", "s")
    Traceback (most recent call last):
    ...
    perfmodel.core.errors.InputError: 'soon' is not a time; expected for example 48h or 2 days, 145ms or 1.5us
    """
    words = str(text).strip()
    if unit in _WITH_THOUSANDS:
        words = _THOUSANDS.sub(lambda match: match[1] + match[2].replace(",", ""), words, count=1)
        words = words.removeprefix("$").lstrip() if unit == "USD" else words
    match = None if isinstance(text, bool) else _NUMBER_AND_UNIT.fullmatch(words)
    if match is None:
        raise _refusal(text, unit)
    number, spelling = float(match[1]), (match[2] or "").strip()
    if number < 0:
        raise refusal("quantity.negative", text=str(text), given=text, example=_EXAMPLES[unit])
    scale = UNITS[unit].get(spelling) if spelling else 1.0
    if scale is None and unit == "s" and _PARTS_OF_A_TIME.fullmatch(words):
        return sum(parse(part, unit) for part in re.findall(r"[\d.]+\s*[a-z]+", words))
    if scale is None:
        raise _refusal(text, unit, spelling)
    if not math.isfinite(number * scale):
        raise refusal("quantity.too_large", text=str(text), given=text, example=_EXAMPLES[unit])
    return number * scale


_QUANTITY = {
    "B": "an amount of data",
    "B/s": "a bandwidth",
    "s": "a time",
    "FLOP/s": "a rate of arithmetic",
    "FLOP": "an amount of arithmetic",
    "Hz": "a frequency",
    "W": "a power",
    "1/s": "a rate",
    "USD": "an amount of money in US dollars",
    "count of samples": "a number of samples",
    "count of tokens": "a number of tokens",
    "1": "a plain number",
}


_LONG_TIMES = {
    **dict.fromkeys(("mo", "month", "months"), 30),
    **dict.fromkeys(("y", "yr", "yrs", "year", "years"), 365),
}
"""Days of a month and of a year, which are not accepted as units."""


def _refusal(text: object, unit: str, spelling: str = "") -> InputError:
    expected = f"expected for example {_EXAMPLES[unit]}"
    meant = [known for known in UNITS[unit] if spelling and known.lower() == spelling.lower()]
    if meant:
        expected = f"{spelling} may mean {' or '.join(meant[:2])}; {expected}"
    elif unit == "s" and spelling.lower() in _LONG_TIMES:
        days = _LONG_TIMES[spelling.lower()]
        expected = f"months and years differ in length; write days: one is about {days} days"
    elif unit == "B" and spelling in UNITS["B/s"] | _spellings(("b", "bit", "bits"), DECIMAL | BINARY):
        expected = f"bits and rates are for bandwidths; {expected}"
    return refusal(
        "quantity.unreadable", text=str(text), given=text, quantity=_QUANTITY[unit], right=expected
    )


def is_number(value: object) -> TypeGuard[float]:
    """Return whether a value is a finite number and not a bool.

    >>> is_number(8), is_number(True), is_number("8"), is_number(math.nan)
    (True, False, False, False)
    """
    return isinstance(value, Real) and not isinstance(value, bool) and math.isfinite(value)


def number(text: object) -> float:
    """Return the value of a plain number or a percentage; NaN of any other text.

    >>> number("0.76"), number("76 %")
    (0.76, 0.76)
    """
    words = str(text).strip()
    share = words.removesuffix("%")
    try:
        return float(share) / (1 if share == words else 100)
    except ValueError:
        return math.nan


def share(text: str) -> float:
    """Return a share as a fraction, from ``0.95`` or ``95%``.

    Raises
    ------
    InputError : the text is no number
    """
    value = number(text)
    if math.isnan(value):
        raise refusal("quantity.share", text=text)
    return value


def rate(value: float) -> str:
    """Return a rate as text with four figures, without an exponent.

    >>> rate(16713.4), rate(95.126)
    ('16,713', '95.13')
    """
    return f"{value:,.0f}" if value >= 1000 else f"{value:.4g}"


_OF_TIMES = (("", 1.0), ("m", 1e-3), ("µ", 1e-6), ("n", 1e-9))
_OF_MEMORIES = tuple(reversed(BINARY.items()))
_OF_RATES = (*((prefix, size) for prefix, size in reversed(DECIMAL.items()) if prefix != "K"), ("", 1.0))
"""Prefixes that ``show`` uses, with their values, the largest first."""


def show(value: float, unit: str) -> str:
    """Return a quantity as people write it, to three digits: ``145 ms``, ``11.7 TFLOP/s``, ``16 GiB``.

    Bytes are binary where they are a whole number of MiB (memories, buckets) and decimal otherwise.

    >>> show(0.145, "s"), show(11.72e12, "FLOP/s"), show(2**34, "B"), show(3.1e9, "B/s"), show(1e8, "B")
    ('145 ms', '11.7 TFLOP/s', '16 GiB', '3.1 GB/s', '100 MB')
    """
    if not math.isfinite(value) or value == 0:
        return f"{value:g} {unit}".removesuffix(" 1")
    size = abs(float(f"{value:.3g}"))
    if unit == "s" and size >= 120:
        word, scale = ("h", 3600.0) if size >= 7200 else ("min", 60.0)
        return f"{three_digits(value / scale)} {word}"
    if unit == "s":
        prefixes: tuple[tuple[str, float], ...] = _OF_TIMES
    elif unit == "B" and value % BINARY["Mi"] == 0:
        prefixes = _OF_MEMORIES
        size = abs(value)
    elif unit in ("B", "B/s", "FLOP/s", "FLOP", "Hz", "W"):
        prefixes = _OF_RATES
    else:
        return f"{value:.4g}/s" if unit == "1/s" else f"{value:.4g} {unit}".removesuffix(" 1")
    prefix, scale = next((each for each in prefixes if size >= each[1]), prefixes[-1])
    digits = 4 if abs(value / scale) >= 999.5 else 3
    return f"{value / scale:.{digits}g} {prefix}{unit}"


def three_digits(value: float) -> str:
    """Return a number as text with three digits, whole from 1000 on, without an exponent.

    >>> three_digits(4394.6), three_digits(1.494), three_digits(0.0000123)
    ('4,395', '1.49', '0.0000123')
    """
    if abs(value) >= 999.5:
        return f"{value:,.0f}"
    text = f"{value:.3g}"
    return text if "e" not in text else f"{value:.{2 - math.floor(math.log10(abs(value)))}f}".rstrip("0")


def duration(seconds: float) -> str:
    """Return a time in seconds as text: as ``show`` does, or in days from three days on.

    >>> duration(7200.0), duration(3.4e6), duration(4.08e8)
    ('2 h', '39.4 days', '4,722 days')
    """
    return f"{three_digits(seconds / 86400)} days" if 3 * 86400 <= seconds < math.inf else show(seconds, "s")


def many(count: float) -> str:
    """Return a count as text: whole below a million, from there on three digits and M, B or T.

    >>> many(1.4e12), many(999.9e6), many(12800)
    ('1.4 T', '1 B', '12,800')
    """
    for word, size in (("T", 1e12), ("B", 1e9), ("M", 1e6)):
        if count >= 1e6 and float(f"{count:.3g}") >= size:
            return f"{three_digits(count / size)} {word}"
    return f"{count:,.0f}"


def dollars(amount: float) -> str:
    """Return US dollars as text: to the cent below $1,000, in millions with four digits from $1M on.

    >>> dollars(1668145.3), dollars(1234.5), dollars(12.345), dollars(500.0), dollars(0.0123)
    ('$1.668M', '$1,234', '$12.35', '$500', '$0.0123')
    >>> dollars(2e10), dollars(999.996), dollars(1.23e-5)
    ('$20,000M', '$1,000', '$0.0000123')
    """
    from decimal import Decimal

    if round(amount, 0) >= 1e6:
        return f"${rate(amount / 1e6)}M"
    if round(amount, 2) >= 1000:
        return f"${amount:,.0f}"
    if amount < 1:
        return f"${Decimal(f'{amount:.3g}'):f}"
    return f"${amount:.2f}".removesuffix(".00")


def thousands(amount: float) -> str:
    """Return an amount as short text for a column: three digits, k or M, without an exponent.

    >>> thousands(600e3), thousands(1.4e6), thousands(4400), thousands(999.9e3), thousands(9.27)
    ('600k', '1.4M', '4,400', '1M', '9.27')
    """
    for letter, size in (("M", 1e6), ("k", 1e3)):
        if amount >= 9999.5 and float(f"{amount:.3g}") >= size:
            return f"{three_digits(amount / size)}{letter}"
    return three_digits(amount)


def percent(probability: float) -> str:
    """Return a probability as text: as typed, a computed one with two digits, within 1 and 99 %.

    >>> percent(0.8), percent(0.975), percent(0.1234), percent(0.01234)
    ('80 %', '97.5 %', '12 %', '1.2 %')
    >>> percent(0.004), percent(0.99), percent(0.9999)
    ('under 1 %', '99 %', 'over 99 %')
    """
    if probability < 0.01:
        return "under 1 %"
    if probability > 0.99:
        return "over 99 %"
    tenths = round(100 * probability, 1)
    is_typed = abs(100 * probability - tenths) < 1e-9
    return f"{tenths:g} %" if is_typed else f"{100 * probability:.2g} %"


def per_cent(share: float, decimals: int = 1, signed: bool = False) -> str:
    """Return a share in per cent as text, a space before the sign, without a negative zero.

    >>> per_cent(0.1234), per_cent(0.84, 0), per_cent(-0.0001), per_cent(0.05, signed=True)
    ('12.3 %', '84 %', '0.0 %', '+5.0 %')
    """
    sign = "+" if signed else ""
    return f"{round(100 * share, decimals) + 0.0:{sign},.{decimals}f} %"


NOTHING = 1e-9
"""Share of an iteration below which a part of it is rounding error of zero."""


def without_rounding(time: float, whole: float) -> float:
    """Return ``time``, a part of the iteration time ``whole`` [s]; 0 where it is only rounding error."""
    return time if abs(time) > NOTHING * whole else 0.0


def shown_part(time: float, whole: float) -> str:
    """Return ``time``, a part of the iteration time ``whole`` [s], as text; rounding error is ``0 s``.

    >>> shown_part(2.4e-11, 0.586), shown_part(2.4e-5, 0.586)
    ('0 s', '24 µs')
    """
    return show(without_rounding(time, whole), "s")


def show_range(low: float, high: float, unit: str) -> str:
    """Return a range of a quantity as text, with the unit once where both ends share it.

    >>> show_range(0.072, 0.104, "s"), show_range(0.72, 1.04, "s")
    ('72-104 ms', '720 ms-1.04 s')
    """
    first, last = show(low, unit), show(high, unit)
    value, _, of_low = first.partition(" ")
    return f"{value}-{last}" if last.endswith(f" {of_low}") else f"{first}-{last}"


def plural(noun: str, count: float) -> str:
    """Return a noun in the singular or plural, as the count needs.

    >>> plural("worker", 1), plural("worker", 2)
    ('worker', 'workers')
    """
    return noun if count == 1 else f"{noun}s"


def counted(count: int, noun: str) -> str:
    """Return a count with its noun in the singular or plural.

    >>> counted(1, "GPU"), counted(8, "GPU")
    ('1 GPU', '8 GPUs')
    """
    return f"{count} {plural(noun, count)}"
