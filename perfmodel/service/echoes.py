"""How much of a request's own long texts a refusal of it repeats."""

from __future__ import annotations

import heapq
from collections.abc import Callable, Iterator, Mapping
from itertools import takewhile
from typing import Any

from perfmodel.errors import LONGEST_NAME, shortened

_MOST_TEXTS = 20
"""Of a request that are looked for: messages speak of one or two."""


def without_echoes(words: str, table: Mapping[str, Any], spoken: Callable[[str], str]) -> str:
    """Return words that repeat of every long text of a request its beginning alone.

    Parameters
    ----------
    words : what is said of the request, each blank one space
    table : the request
    spoken : what may have been done to the words

    >>> text = "no name " * 100
    >>> len(without_echoes(f"unknown node {text!r}: expected one of dgx-1v", {"node": text}, str))
    143
    """
    if len(words) <= LONGEST_NAME:
        return words
    for text in heapq.nlargest(_MOST_TEXTS, _long_texts(table), key=len):
        for written in {text, repr(text)[1:-1]}:
            plain = " ".join(written.split())
            words = _shorter(_shorter(words, spoken(plain)), plain)
    return words


def _shorter(words: str, said: str) -> str:
    beginning, place = said[:LONGEST_NAME], 0
    while (place := words.find(beginning, place)) >= 0:
        alike = zip(words[place : place + len(said)], said, strict=False)
        repeated = sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], alike))
        if repeated > LONGEST_NAME:
            words = f"{words[:place]}{shortened(said)}{words[place + repeated :]}"
        place += LONGEST_NAME
    return words


def _long_texts(table: Mapping[str, Any]) -> Iterator[str]:
    """Yield keys and values that are longer than a name, however deep they lie."""
    left: list[Any] = [table]
    while left:
        value = left.pop()
        if isinstance(value, str):
            if len(value) > LONGEST_NAME:
                yield value
        elif isinstance(value, Mapping):
            left += [*value, *value.values()]
        elif isinstance(value, list | tuple):
            left += value
