"""Texts as sentences: first letter, full stop; how a probability is worded."""

from __future__ import annotations

from collections.abc import Iterable

from perfmodel.core.units import percent


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


def likely_to_be(outcome: str, probability: float) -> str:
    """Return how likely an outcome is, as every answer words it.

    >>> likely_to_be("faster", 0.81), likely_to_be("reached", 0.999)
    ('81 % likely to be faster', 'over 99 % likely to be reached')
    """
    return f"{percent(probability)} likely to be {outcome}"
