"""Differences of times and costs, and interruptions, in words: one style for plans and comparisons."""

from __future__ import annotations

from perfmodel.core.units import many, plural, three_digits


def share(part: float) -> str:
    """Return a share as text, near all of it with a digit more.

    >>> share(0.41), share(0.999), share(0.99999)
    ('41 %', '99.9 %', 'over 99.9 %')
    """
    if part > 0.9995:
        return "over 99.9 %"
    return f"{100 * part:.{1 if part > 0.995 else 0}f} %"


def increase(times: float, more: str, as_much: str) -> str:
    """Return how much larger an amount is: a share, from twice on a multiple.

    >>> increase(1.12, "longer", "as long"), increase(4.59, "more", "as much")
    ('12 % longer', '4.59 times as much')
    """
    return f"{share(times - 1)} {more}" if times < 2 else f"{three_digits(times)} times {as_much}"


def interruptions_words(count: float) -> str:
    """Return a number of interruptions.

    >>> interruptions_words(1.0), interruptions_words(0.25), interruptions_words(31.4)
    ('1.0 interruption', '0.2 interruptions', '31 interruptions')
    >>> interruptions_words(0.04), interruptions_words(0.0)
    ('under 0.1 interruptions', '0.0 interruptions')
    """
    shown = many(count) if count >= 10 else "under 0.1" if 0 < count < 0.1 else f"{count:.1f}"
    return f"{shown} {plural('interruption', 1 if shown == '1.0' else 2)}"


def lost_words(count: float, goodput: float) -> str:
    """Return how many interruptions are expected and what goes to them, as a clause.

    >>> lost_words(31.4, 0.88)
    '31 interruptions are expected: 12 % of the time goes to them and to checkpoints'
    """
    expected = f"{interruptions_words(count)} are expected"
    return f"{expected}: {share(1 - goodput)} of the time goes to them and to checkpoints"
