"""A thin bar of the interval that a text of the answer card states."""

from __future__ import annotations

import re
from html import escape
from typing import NamedTuple

from perfmodel.core.errors import InputError
from perfmodel.core.units import parse

_AMOUNT = r"(\$?[\d.,]*\d[kMBT]?)(?: ([A-Za-zµ]+))?"
_VALUE = re.compile(rf"(?:(?:under|over|at most) )?{_AMOUNT}(?![\d.,]* %)")
_ENDS = re.compile(rf"80 %: {_AMOUNT}(?:-| to ){_AMOUNT}")
_MOST = re.compile(rf"at most {_AMOUNT} with \d+ %")
_OF = re.compile(r"([\d.,]+)(?: GiB)? of ([\d.,]+) GiB")


class Span(NamedTuple):
    """An interval on its axis, which begins at 0; all in one unit."""

    low: float
    high: float
    value: float
    """What was predicted or measured."""
    end: float
    """Of the axis."""
    words: str
    """The interval as text."""


def span_of(text: str) -> Span | None:
    """Return the interval that a text states, or from its value to what it is at most; None without either.

    >>> span_of("101 s (80 %: 71.5-160 s)")
    Span(low=71.5, high=160.0, value=101.0, end=160.0, words='80 %: 71.5-160 s')
    >>> span_of("fits: 12 of 96 GiB (80 %: 8 to 24)")[:4], span_of("2 h; at most 3 h with 80 %")[:4]
    ((8.0, 24.0, 12.0, 96.0), (7200.0, 10800.0, 7200.0, 10800.0))
    >>> span_of("no price is known"), span_of("1.45 x as fast (80 %: 1.3 to 1.5)")
    (None, None)
    >>> span_of("over 99 % likely to be faster: 1.45 x as fast (80 %: 1.3 to 1.5)")
    >>> span_of("16 GPUs: 62.6 min (80 %: 50 min to 70 min)"), span_of("$9 to pay; at most $12 with 80 %")[:3]
    (None, (9.0, 12.0, 9.0))
    >>> span_of("$2M bought; pays back after 169 days (80 %: 143 days to 200 days)")  # no dollars
    """
    value = _VALUE.match(text)
    ends, most, sizes = (each.search(text) for each in (_ENDS, _MOST, _OF))
    bounds = ends or most
    try:
        if sizes is not None and ends is not None:
            need, whole, low, high = (_amount(each) for each in (sizes[1], sizes[2], ends[1], ends[3]))
            return Span(low, high, need, max(whole, high), ends[0])
        if value is None or bounds is None or value[1].startswith("$") != bounds[1].startswith("$"):
            return None
        unit = bounds.groups()[-1]
        first, high = _amount(*value.groups()), _amount(bounds.groups()[-2], unit)
        low = first if ends is None else _amount(ends[1], ends[2] or unit)
    except InputError:
        return None
    return Span(low, high, first, max(first, high), bounds[0])


def _amount(number: str, unit: str | None = None) -> float:
    """Return an amount of money, a time or a plain number."""
    is_money = number.startswith("$")
    return parse(number if is_money else f"{number} {unit or ''}", "USD" if is_money else "s")


def drawn(text: str) -> str:
    """Return the bar of a text's interval as HTML; empty where it states none.

    >>> drawn("2 h; at most 4 h with 80 %").count("left:50.0%")
    2
    """
    span = span_of(text)
    if span is None or not span.end > 0:
        return ""
    low, high, value = (100 * each / span.end for each in (span.low, span.high, span.value))
    return (
        f'<div class="answer-bar" role="img" aria-label="{escape(span.words)}">'
        f'<i style="left:{low:.1f}%;width:{high - low:.1f}%"></i><b style="left:{value:.1f}%"></b></div>'
    )
