"""Where a page has the buttons that copy and download its answer, and what they hand on."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from contextlib import AbstractContextManager
from typing import Any

import streamlit as st

from app import file_marks, session_hardware
from perfmodel.core.files.tables import csv_text
from perfmodel.interfaces.register import command

_PLACE = "sharing"
"""Key among the places of a run of the page."""


def here() -> None:
    """Make the place of the buttons: under the answer's chart and table, which are drawn before they are."""
    st.session_state.places[_PLACE] = st.container(horizontal=True, key="sharing")


def place() -> AbstractContextManager[Any]:
    """Return the place of the buttons; a page that made none has it where it draws them."""
    if _PLACE not in st.session_state.places:
        here()
    made: AbstractContextManager[Any] = st.session_state.places[_PLACE]
    return made


def csv_of(name: str, answer: Any) -> Callable[[], str]:
    """Return a function that returns what a command prints of its answer with ``--csv``."""
    return lambda: command(name).forms["csv"].text(answer, None)


def csv_of_plans(report: Mapping[str, Any]) -> Callable[[], str]:
    """Return a function that returns what ``perfmodel plan --csv`` prints, from its report."""
    from perfmodel.decide.planning.table_words import front_records

    rows = front_records(report["front"], report) or [{}]  # without a plan the card says why there is none
    return lambda: csv_text([{**row, "card": report["card"]} for row in rows])


def files_of(lines: Iterable[str], others: Iterable[str] = ()) -> list[str]:
    """Return the names of the user's own files that shell commands read.

    Parameters
    ----------
    lines : the commands
    others : files that the page offers to download
    """
    text = "\n".join(lines)
    kinds = {kind for some in file_marks.USED.values() for kind in some}
    held = [path.name for kind in sorted(kinds) for path in session_hardware.files(kind)]
    return [name for name in dict.fromkeys([*held, *others]) if name in text]


def beside(names: Iterable[str]) -> str:
    """Return what to do with files that a command reads; "" without any.

    >>> beside(["quote.toml"])
    'Save quote.toml in the folder where you run it.'
    >>> beside([])
    ''
    """
    listed = " and ".join(names)
    return f"Save {listed} in the folder where you run it." if listed else ""
