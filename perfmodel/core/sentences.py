"""Texts as sentences: the letter that one begins with, the full stop that ends it."""

from __future__ import annotations

from collections.abc import Iterable


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
