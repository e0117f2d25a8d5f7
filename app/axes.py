"""Ticks of chart axes with their unit: ``100 ms`` and ``100 GB/s`` in place of ``100m`` and ``100G``."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from app.figure import Figure
from perfmodel.core.units import duration, many, per_cent, show

SHOWN = ("s", "B", "B/s", "FLOP/s")
"""Units that are written with prefixes."""
HOUR, DAY = 3600, 86400
MIB = 2**20
LONG_TIMES = (60, 600, HOUR, *(days * DAY for days in (0.25, 1, 7, 30, 90, 365, 1000, 10_000)))
"""Possible ticks of a logarithmic axis for times from a minute on [s]."""
CLOSE_TIMES = tuple(
    sorted({*LONG_TIMES, 180, 1800, 2 * HOUR, 12 * HOUR, 2 * DAY, 4 * DAY, 14 * DAY, 60 * DAY, 180 * DAY})
)
"""Possible ticks where the axis spans a short range [s]."""
FEW_TICKS = 4
MOST_TICKS = 7
MOST_ACROSS = 6
"""Most ticks of a logarithmic x axis, so that on a phone they stay level."""
LETTER, GAP = 1 / 46, 1 / 40
"""Width of a letter of its ticks, and least space between two of them, over its length on a phone."""
_UNIT = re.compile(r" \[([^\]]+)\]$")


def say_units(figure: Figure) -> None:
    """Move the unit of every axis from its title, where it is in brackets, to its ticks."""
    for name, axis in figure.axes():
        title = axis.get("title", {}).get("text", "")
        unit = (_UNIT.search(title) or ("", ""))[1]
        if unit == "1":  # a count needs no unit
            axis["title"]["text"] = _UNIT.sub("", title)
        if axis.get("tickformat", "").endswith("%") and "tickvals" not in axis:
            _say_shares(figure, name, axis)
        if not unit or "tickvals" in axis:
            continue
        is_logarithmic = axis.get("type") == "log"
        values = [value for value in _values(figure, name) if not is_logarithmic or value > 0]
        has_bars = any(each["type"] == "bar" for each in figure.data)
        if has_bars and unit == "s" and not is_logarithmic:
            values = [0.0, _end_of_bars(figure, name), *axis.get("range", ())]
        if values and (is_logarithmic or unit == "s" or (unit in SHOWN and not has_bars)):
            least = 0.0 if axis.get("rangemode") == "tozero" else min(values)
            ticks = round_ticks(least, max(values), unit, is_logarithmic)
            if unit == "B" and is_logarithmic and are_binary(values):
                ticks = binary_ticks(ticks, min(values), max(values))
            if is_logarithmic and name[0] == "x":
                some = ticks[:: math.ceil(len(ticks) / MOST_ACROSS) or 1]
                ticks = apart(some, max([*some, *values]) / min([*some, *values]), unit)
            axis |= {"tickvals": ticks, "ticktext": [tick_text(each, unit) for each in ticks]}
            axis.pop("dtick", None)
        elif unit == "GiB":
            axis |= {"tickformat": "~g", "ticksuffix": " GiB"}
        else:
            axis["tickformat"] = ",~r"
            continue
        if unit in (*SHOWN, "GiB"):
            axis["title"]["text"] = _UNIT.sub("", title)


def are_binary(sizes: Iterable[float]) -> bool:
    """Return whether sizes [B] are whole numbers of MiB, which ``show`` writes in MiB; small ones may be any.

    >>> are_binary([65536, 2**20, 2**33]), are_binary([2**20, 1e9])
    (True, False)
    """
    return all(size % MIB == 0 for size in sizes if size >= MIB)


def binary(size: float) -> float:
    """Return the power of two nearest to a size [B]; a size below 1 MB as it is.

    >>> show(binary(1e6), "B"), show(binary(1e10), "B"), show(binary(1e4), "B")
    ('1 MiB', '8 GiB', '10 kB')
    """
    return size if size < 1e6 else float(2 ** round(math.log2(size)))


def binary_ticks(ticks: Iterable[float], low: float, high: float) -> list[float]:
    """Return the ticks of a logarithmic axis of sizes [B]: every power of two, or every second and so on.

    Of an axis that begins below 1 MiB the ticks given, each as ``binary``.

    >>> [show(each, "B") for each in binary_ticks([], 2**23, 2**27)]
    ['8 MiB', '16 MiB', '32 MiB', '64 MiB', '128 MiB']
    """
    if low < MIB:
        return [binary(each) for each in ticks]
    powers = range(math.ceil(math.log2(low)), math.floor(math.log2(high)) + 1)
    return [float(2**power) for power in powers[:: math.ceil(len(powers) / MOST_ACROSS)]]


def _say_shares(figure: Figure, name: str, axis: dict[str, Any]) -> None:
    """Write the ticks of an axis of shares in per cent, a space before the sign as everywhere."""
    ends = axis.get("range") or [*_values(figure, name), 0.0, _end_of_bars(figure, name)]
    low, high, every = min(ends), max(ends), axis.pop("dtick", None)
    ticks = linear_ticks(low, high, "1")
    if every is not None:
        ticks = [every * count for count in range(math.ceil(low / every), math.floor(high / every) + 1)]
    signed = axis["tickformat"].startswith("+")
    texts = [per_cent(each, 0, signed and each != 0) for each in ticks]
    axis |= {"tickvals": ticks, "ticktext": texts}


def _values(figure: Figure, axis: str) -> Iterator[float]:
    """Yield the numbers drawn along an axis."""
    letter = axis[0]
    for trace in figure.data:
        if trace.get(f"{letter}axis", letter) == axis:
            yield from (each for each in trace.get(letter, ()) if isinstance(each, int | float))


def _end_of_bars(figure: Figure, axis: str) -> float:
    """Return where the longest horizontal bar ends, with all parts of a stacked one."""
    if figure.layout.get("barmode") != "stack":
        return max(
            (
                base + (length or 0.0)
                for trace in figure.data
                if trace["type"] == "bar"
                for base, length in zip(trace.get("base", [0.0] * len(trace[axis])), trace[axis], strict=True)
            ),
            default=0.0,
        )
    sums: dict[Any, float] = {}
    for trace in figure.data:
        if trace["type"] == "bar":
            for row, length in zip(trace["y"], trace[axis], strict=True):
                sums[row] = sums.get(row, 0.0) + length
    return max(sums.values(), default=0.0)


def round_ticks(low: float, high: float, unit: str, logarithmic: bool) -> list[float]:
    """Return round tick values between the ends of a linear or logarithmic axis."""
    return (logarithmic_ticks if logarithmic else linear_ticks)(low, high, unit)


def linear_ticks(low: float, high: float, unit: str) -> list[float]:
    """Return round, equally spaced tick values between two ends; long times in whole minutes, hours or days.

    >>> linear_ticks(2.2e15, 5e15, "FLOP/s"), linear_ticks(0, 0.9, "1")
    ([3000000000000000.0, 4000000000000000.0, 5000000000000000.0], [0.0, 0.2, 0.4, 0.6, 0.8])
    >>> [each / DAY for each in linear_ticks(2 * DAY, 10 * DAY, "s")]
    [2.0, 4.0, 6.0, 8.0, 10.0]
    """
    whole = next((each for each in (DAY, HOUR, 60) if unit == "s" and high >= 3 * each), 1)
    least, most = low / whole, high / whole
    power = math.floor(math.log10((most - least or most or 1) / FEW_TICKS))
    every = (float(f"{step}e{each}") for each in (power, power + 1) for step in (1, 2, 5))
    step = next(each for each in every if most - least < each * (FEW_TICKS + 1))
    first, last = math.ceil(least / step - 1e-9), math.floor(most / step + 1e-9)
    return [float(f"{whole * step * each:.12g}") for each in range(first, last + 1)]


def logarithmic_ticks(low: float, high: float, unit: str) -> list[float]:
    """Return tick values of a logarithmic axis: powers of ten, over few decades also 2 and 5 times them.

    >>> logarithmic_ticks(0.02, 0.4, "s"), logarithmic_ticks(3.0, 5e4, "s")
    ([0.02, 0.05, 0.1, 0.2, 0.5], [10, 60, 600, 3600, 21600])
    >>> [each / DAY for each in logarithmic_ticks(20 * DAY, 300 * DAY, "s")]
    [14.0, 30.0, 60.0, 90.0, 180.0, 365.0]
    """
    steps = (1, 2, 5) if math.log10(high / low) < 2.2 else (1,)
    powers = range(math.floor(math.log10(low)) - 1, math.ceil(math.log10(high)) + 1)
    every = [float(f"{step}e{power}") for power in powers for step in steps]

    def between(some: Iterable[float]) -> list[float]:
        return [each for each in some if low / 1.5 <= each <= high * 1.5]

    ticks = between(every)
    if unit == "s":
        short = [each for each in every if each < LONG_TIMES[0]]
        ticks = between([*short, *LONG_TIMES])
        ticks = ticks if len(ticks) >= FEW_TICKS else between([*short, *CLOSE_TIMES])
    return [int(each) if each >= 1 else each for each in ticks[:: math.ceil(len(ticks) / MOST_TICKS) or 1]]


def apart(ticks: Sequence[float], ends: float, unit: str) -> list[float]:
    """Return the ticks of a logarithmic axis without those whose texts would touch the one before.

    Parameters
    ----------
    ends : upper end of the axis over its lower end

    >>> apart([1, 10, 12, 100], 100, "1"), apart([60, 90, 180, 1000], 30000 / 60, "s")
    ([1, 10, 100], [60, 180, 1000])
    >>> [each / HOUR for each in apart([6 * HOUR, 24 * HOUR, 168 * HOUR], 7000, "s")]
    [6.0, 24.0, 168.0]
    """
    kept = list(ticks[:1])
    for each in ticks[1:]:
        letters = sum(len(tick_text(value, unit)) for value in (kept[-1], each)) / 2
        if math.log(each / kept[-1]) >= (letters * LETTER + GAP) * math.log(ends):
            kept.append(each)
    return kept


def tick_text(value: float, unit: str) -> str:
    """Return the text of a tick, with its unit.

    >>> tick_text(0.1, "s"), tick_text(60, "s"), tick_text(3600, "s"), tick_text(1e14, "FLOP/s")
    ('100 ms', '1 min', '1 h', '100 TFLOP/s')
    >>> tick_text(200, "USD"), tick_text(2000000, "USD")
    ('200', '2 M')
    """
    if unit == "s" and 1 <= value < 60:
        return f"{value:g} s"
    if unit == "s" and 60 <= value < 3600:
        return f"{value / 60:g} min"
    if unit == "s" and value >= 3600:
        return f"{value / 3600:g} h" if value < 2 * 86400 else duration(value)
    if unit in SHOWN:
        return show(value, unit)
    return many(value) if value >= 1 else f"{value:g}"
