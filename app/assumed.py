"""The fold that says what an answer assumed, the same on every page."""

from __future__ import annotations

import re
from collections.abc import Iterable

import streamlit as st

from app import names, session_hardware
from app.layout import fold, sentence
from app.looks import for_planners, option_value_words
from app.plain import plain
from perfmodel.core.units import per_cent, three_digits

_WORD = re.compile(r"[\w.-]*\w")
_LONG = re.compile(r"\d+\.\d{3,}")
_STALLS = re.compile(r"stalling:cv=([\d.e-]+),probability=([\d.e-]+),length=([\d.e-]+)")
"""Matches how the steps of ranks spread, as ``--jitter`` takes it."""


def draw(defaults: Iterable[str], notes: Iterable[str] = ()) -> None:
    """Draw the fold: the options that were left to their defaults, then notes.

    Parameters
    ----------
    defaults : options of the command line with their values
    notes : what else was assumed, as text
    """
    with fold("What was assumed") as is_open:
        if is_open:
            lines = [rounded(spread_in_words(option_value_words(each))) for each in defaults]
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


def spread_in_words(text: str) -> str:
    """Return text in which how the steps of ranks spread is said in words.

    >>> spread_in_words("Jitter of steps: stalling:cv=0.01095,probability=0.009018,length=0.0356")
    'Jitter of steps: they vary by 1.1 %, and 0.9 % of them take 3.6 % longer'
    """

    def words(law: re.Match[str]) -> str:
        varies, share, longer = (per_cent(float(part)) for part in law.groups())
        return f"they vary by {varies}, and {share} of them take {longer} longer"

    return _STALLS.sub(words, text)


def rounded(text: str) -> str:
    """Return text with its long decimal numbers in three digits.

    >>> rounded("Jitter of steps: lognormal:cv=0.01095")
    'Jitter of steps: lognormal:cv=0.0109'
    """
    return _LONG.sub(lambda number: three_digits(float(number[0])), text)
