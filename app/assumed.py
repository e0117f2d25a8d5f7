"""The fold that says what an answer assumed, the same on every page."""

from __future__ import annotations

import re
from collections.abc import Iterable

import streamlit as st

from app import names, session_hardware
from app.layout import fold, sentence
from app.looks import for_planners, option_value_words
from app.plain import plain
from perfmodel.core.units import three_digits

_WORD = re.compile(r"[\w.-]*\w")
_LONG = re.compile(r"\d+\.\d{3,}")


def draw(defaults: Iterable[str], notes: Iterable[str] = ()) -> None:
    """Draw the fold: the options that were left to their defaults, then notes.

    Parameters
    ----------
    defaults : options of the command line with their values
    notes : what else was assumed, as text
    """
    with fold("What was assumed") as is_open:
        if is_open:
            lines = [rounded(option_value_words(each)) for each in defaults]
            lines += [for_planners(sentence(note)) for note in notes]
            lines = [called_by_names(each) for each in lines]
            st.markdown("\n".join(f"* {plain(line)}" for line in lines) or "Nothing: every option is given.")


def called_by_names(text: str) -> str:
    """Return text with what people call the hardware and networks in it, in place of their ids.

    >>> called_by_names("Accelerator: v100-sxm2-16gb"), called_by_names("Precision: amp")
    ('Accelerator: V100 SXM2 16 GB', 'Precision: amp')
    """
    catalogue = session_hardware.catalogue()
    return _WORD.sub(lambda word: names.called(word[0], catalogue), text)


def rounded(text: str) -> str:
    """Return text with its long decimal numbers in three digits.

    >>> rounded("Jitter of steps: stalling:cv=0.01095,probability=0.009018")
    'Jitter of steps: stalling:cv=0.0109,probability=0.00902'
    """
    return _LONG.sub(lambda number: three_digits(float(number[0])), text)
