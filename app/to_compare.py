"""Cases that somebody adds to Compare from other pages, kept in the session and in Compare's address."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import streamlit as st

from app import file_marks, history
from app.cases import LETTERS, LONGEST_NAME, QUESTIONS, address
from app.options import MONEY, SCENARIO
from app.plain import plain

_KEPT, _SHOWN, _FILES = "to-compare", "compare-shows", "compare-files"
Added = tuple[str, dict[str, Any]]
"""A title, or nothing, and a scenario's options with prices."""


def kept() -> list[Added]:
    """Return the cases that were added in this session, as Compare shows them since."""
    return list(st.session_state.get(_KEPT, ()))


def follow(cases: Sequence[Added], is_example: bool) -> None:
    """Note what Compare shows: the next case is added to it, but not to an example that nobody asked for."""
    if kept() or not is_example:
        st.session_state[_KEPT if kept() else _SHOWN] = list(cases)
        st.session_state[_FILES] = file_marks.said("compare")


def open_compare(cases: Sequence[Added]) -> None:
    """Go to Compare with these cases."""
    file_marks.go("compare", address(cases))


def ask(question: str, base: Mapping[str, Any]) -> None:
    """Offer one of the comparisons that answer a common question of a scenario."""
    if st.button(question, key=f"question-{question}"):
        open_compare([("", {**base, **changed}) for changed in QUESTIONS[question]])


def offer(choices: Mapping[str, Mapping[str, Any]], titles: bool = False, question: str = "") -> None:
    """Offer to add a scenario of the page to Compare, and to go there.

    Parameters
    ----------
    choices : a name -> a scenario's options, with prices; one of them is added at a click
    titles : whether a case is called by its name here; else by what it changes
    question : one of ``QUESTIONS`` to offer beside, of the only choice
    """
    added = False
    with st.container(horizontal=True, width="content"):
        if len(choices) == 1:
            ((name, picked),) = choices.items()
            added = st.button("Add to Compare", on_click=history.act, key="add-case")
        elif choices:
            with st.popover("Add to Compare"):
                name = st.selectbox("Which", list(choices), key="case-to-add")
                picked = choices[name]
                added = st.button("Add it", on_click=history.act, key="add-case")
        # No callback: of a field that is changed just before the click it would add the value before.
        note = _add(name if titles else "", picked) if added else ""
        if kept() and st.button(f"Open Compare ({len(kept())})", key="open-compare"):
            open_compare(kept())
        if question:
            ask(question, next(iter(choices.values())))
    if note:
        st.caption(plain(note))


def _add(title: str, picked: Mapping[str, Any]) -> str:
    """Add a case; return what to say of it."""
    case = {name: value for name, value in picked.items() if name in (*SCENARIO, *MONEY)}
    scenario = {name: value for name, value in case.items() if name in SCENARIO}
    session = st.session_state
    cases, letters = kept() or list(session.get(_SHOWN, ())), ("a", *LETTERS)
    same = [
        letter
        for letter, (_, other) in zip(letters, cases, strict=False)
        if scenario == {name: value for name, value in other.items() if name in SCENARIO}
    ]
    if same:
        note = f"Compare has it already, as {same[0].upper()}."
    elif len(cases) == len(letters):
        note = f"Compare has {len(cases)} cases, and no room for more: remove one there."
    else:
        session[_KEPT] = [*cases, (title[:LONGEST_NAME], case)]
        note = f"Added to Compare as {letters[len(cases)].upper()}."
        if cases and {n: case.get(n) for n in MONEY} != {n: cases[0][1].get(n) for n in MONEY}:
            note += " Prices and failures are those of A there."
    files = file_marks.said("compare")
    if cases and files != session.get(_FILES, files):
        note += (
            " The cases before were added with other files of your own: Compare answers every case with "
            "those that are in use when it is opened."
        )
    session[_FILES] = files
    return note
