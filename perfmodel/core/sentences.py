"""Texts as sentences and as lines: capitals, full stops, numbers with their units, chances."""

from __future__ import annotations

import re
import textwrap
from collections.abc import Iterable

from perfmodel.core.units import percent, show

NO_BREAK = "\u00a0"
"""The space at which no line is broken."""
_UNIT = re.compile(
    r"(?<=\d) (?=%|(?:[mµn]?s|min|h|days?|[kMGT]i?B(?:/s)?|[MGT]?bit/s|[GTPE]?FLOP(?:/s)?|k?Wh?|[MG]Hz"
    r"|[a-z]+/s)(?!\w))"
)
"""Matches the space between a number and its unit."""
_NEXT = re.compile(r"(?<=[.!])(?<!e\.g\.)(?<!i\.e\.) (?=\S)|(?<=\?) (?=[^a-z])")
"""Matches the space between two sentences, of which the second may begin with a figure or an option.

What a question asks to do in small letters ("is P2P in the output? set NCCL_P2P_LEVEL") belongs to it.
"""


def capitalised(text: str) -> str:
    """Return text with its first letter in upper case, the others as they are.

    >>> capitalised("the GPU waits"), capitalised("")
    ('The GPU waits', '')
    """
    return f"{text[:1].upper()}{text[1:]}"


def sentence(text: str) -> str:
    """Return text as a sentence: first letter in upper case, one full stop at the end.

    >>> sentence("compute-bound: 74 % of the iteration")
    'Compute-bound: 74 % of the iteration.'
    """
    return f"{capitalised(text).removesuffix('.')}."


def in_sentences(parts: Iterable[str | None]) -> str:
    """Return texts as sentences in a row, without those that are empty or None.

    >>> in_sentences(["it fits", None, "the GPU waits"])
    'It fits. The GPU waits.'
    """
    return " ".join(f"{capitalised(part)}." for part in parts if part)


def sentences_in(text: str) -> list[str]:
    """Return the sentences of a text, one by one.

    >>> sentences_in("2 nodes: fast. all-reduce: slow, e.g. here.")
    ['2 nodes: fast.', 'all-reduce: slow, e.g. here.']
    >>> sentences_in("Is GDRDMA in the output? load nvidia-peermem.")
    ['Is GDRDMA in the output? load nvidia-peermem.']
    """
    return _NEXT.split(text)


def in_a_list(words: Iterable[str]) -> str:
    """Return words as a list, the last after "and".

    >>> in_a_list(["a", "b", "c"]), in_a_list(["a", "b"]), in_a_list(["a"])
    ('a, b and c', 'a and b', 'a')
    """
    *others, last = words
    return f"{', '.join(others)} and {last}" if others else last


def interval_80(low: float, high: float, unit: str) -> str:
    """Return an 80 % interval of a quantity as text.

    >>> interval_80(0.072, 0.104, "s")
    '80 %: 72 ms to 104 ms'
    """
    return f"80 %: {show(low, unit)} to {show(high, unit)}"


def likely_to_be(outcome: str, probability: float) -> str:
    """Return how likely an outcome is, as every answer words it.

    >>> likely_to_be("faster", 0.81), likely_to_be("reached", 0.999)
    ('81 % likely to be faster', 'over 99 % likely to be reached')
    """
    return likely_to(f"be {outcome}", probability)


def likely_to(outcome: str, probability: float) -> str:
    """Return how likely something does what it is said to, as every answer words it.

    >>> likely_to("meet the deadline", 0.8)
    '80 % likely to meet the deadline'
    """
    return f"{percent(probability)} likely to {outcome}"


def likely_at_most(amounts: Iterable[str], probability: float, first: str = "") -> str:
    """Return what something takes at most and how likely, the upper side alone, as every answer words it.

    Parameters
    ----------
    amounts : times and costs
    first : what else it does then

    >>> likely_at_most(["22.5 h", "$428.51"], 0.8), likely_at_most(["3 h"], 0.95, "fit and to ")
    ('80 % likely to take at most 22.5 h and $428.51', '95 % likely to fit and to take at most 3 h')
    """
    return likely_to(f"{first}take at most {in_a_list(amounts)}", probability)


def beside_its_number(text: str) -> str:
    """Return text in which no line begins with the unit of a number.

    >>> beside_its_number("100 MB in 4 ms, 80 % sure of 90 images/s").replace(NO_BREAK, "_")
    '100_MB in 4_ms, 80_% sure of 90_images/s'
    """
    return _UNIT.sub(NO_BREAK, text)


def wrapped(text: str, width: int, first: str = "", later: str = "", breaks_words: bool = False) -> list[str]:
    """Return text as lines, broken at spaces but not between a number and its unit.

    Parameters
    ----------
    width : most characters of a line
    first, later : indents of the first and of later lines
    breaks_words : whether a word longer than a line is broken

    >>> wrapped("half of it takes 80 % of the time", 20)
    ['half of it takes', '80 % of the time']
    """
    lines = textwrap.wrap(
        beside_its_number(text),
        width,
        initial_indent=first,
        subsequent_indent=later,
        break_on_hyphens=False,
        break_long_words=breaks_words,
    )
    return [line.replace(NO_BREAK, " ") for line in lines]
