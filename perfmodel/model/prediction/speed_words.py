"""A speed against another where no difference is expected: said to be about as fast, with its range."""

from perfmodel.core.units import three_digits
from perfmodel.model.prediction.result import Ratio

SAME = 0.01
"""Relative difference in speed below which a case gains nothing."""


def about_as_fast(ratio: Ratio) -> str:
    """Return a speed against another as text: its range alone where no difference is expected.

    >>> about_as_fast(Ratio(to="A", value=1.0, low_80=1.0, high_80=1.2, sure=1.0))
    'about as fast as A (80 %: 1 to 1.2 x)'
    >>> about_as_fast(Ratio(to="A", value=1.5, low_80=1.2, high_80=1.8, sure=0.99))
    '1.5 x as fast as A (80 %: 1.2 to 1.8), 99 % likely to be faster'
    """
    if abs(ratio.value - 1) >= SAME:
        return ratio.sentence
    return f"about as fast as {ratio.to}{range_words(ratio)}"


def range_words(ratio: Ratio) -> str:
    """Return the 80 % interval of a speed ratio in parentheses behind a space; empty without a width."""
    if ratio.low_80 is None or ratio.high_80 is None or ratio.high_80 - ratio.low_80 < SAME:
        return ""
    return f" (80 %: {three_digits(ratio.low_80)} to {three_digits(ratio.high_80)} x)"
