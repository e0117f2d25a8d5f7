"""Cases that the user adds to the page Compare from other pages, stored in the session."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import streamlit as st

from app import file_marks, history
from app.cases import LETTERS, LONGEST_NAME, OF_CASE, QUESTIONS, address
from app.options import MONEY, SCENARIO
from app.plain import plain

_KEPT, _SHOWN, _FILES = "to-compare", "compare-shows", "compare-files"
Added = tuple[str, dict[str, Any]]
"""Title, or "", and options of a scenario with prices."""


def kept() -> list[Added]:
    """Return the cases added in this session, as Compare last showed them."""
    return list(st.session_state.get(_KEPT, ()))


def follow(cases: Sequence[Added], is_example: bool) -> None:
    """Record the cases that Compare shows, to which the next one is added, unless they are its example."""
    if kept() or not is_example:
        st.session_state[_KEPT if kept() else _SHOWN] = list(cases)
        st.session_state[_FILES] = file_marks.query_of("compare")


def open_compare(cases: Sequence[Added]) -> None:
    """Switch to Compare with these cases."""
    file_marks.go_to("compare", address(cases))


def question_button(question: str, base: Mapping[str, Any]) -> None:
    """Draw a button that opens the comparison for one of ``QUESTIONS`` about a scenario."""
    if st.button(question, key=f"question-{question}"):
        open_compare([("", {**base, **changed}) for changed in QUESTIONS[question]])


def offer(choices: Mapping[str, Mapping[str, Any]], titles: bool = False, question: str = "") -> None:
    """Draw buttons that add a scenario of the page to Compare, and that open Compare.

    Parameters
    ----------
    choices : name -> options of a scenario with prices; the user picks one to add
    titles : whether a case keeps its name here as a title
    question : one of ``QUESTIONS`` for a further button, where there is one choice
    """
    added = False
    with st.container(horizontal=True, width="content"):
        if len(choices) == 1:
            ((name, picked),) = choices.items()
            added = st.button("Add to Compare", on_click=history.note_action, key="add-case")
        elif choices:
            with st.popover("Add to Compare"):
                name = st.selectbox("Which", list(choices), key="case-to-add")
                picked = choices[name]
                added = st.button("Add it", on_click=history.note_action, key="add-case")
        # no callback: it would add the old value of a field that is changed just before the click
        note = _add(name if titles else "", picked) if added else ""
        if kept() and st.button(f"Open Compare ({len(kept())})", key="open-compare"):
            open_compare(kept())
        if question:
            question_button(question, next(iter(choices.values())))
    if note:
        st.caption(plain(note))


def _add(title: str, picked: Mapping[str, Any]) -> str:
    """Add a case, unless it is there already or there is no room; return the message about it."""
    case = {name: value for name, value in picked.items() if name in (*SCENARIO, *MONEY)}
    scenario = {name: value for name, value in case.items() if name in OF_CASE}
    session, shared = st.session_state, [name for name in MONEY if name not in OF_CASE]
    cases, letters = kept() or list(session.get(_SHOWN, ())), ("a", *LETTERS)
    same = [
        letter
        for letter, (_, other) in zip(letters, cases, strict=False)
        if scenario == {name: value for name, value in other.items() if name in OF_CASE}
    ]
    if same:
        note = f"Compare has it already, as {same[0].upper()}."
    elif len(cases) == len(letters):
        note = f"Compare has {len(cases)} cases, and no room for more: remove one there."
    else:
        session[_KEPT] = [*cases, (title[:LONGEST_NAME], case)]
        note = f"Added to Compare as {letters[len(cases)].upper()}."
        if cases and {n: case.get(n) for n in shared} != {n: cases[0][1].get(n) for n in shared}:
            note += " Prices and failures are those of A there."
    files = file_marks.query_of("compare")
    if cases and files != session.get(_FILES, files):
        note += (
            " The cases before were added with other files of your own: Compare answers every case with "
            "those that are in use when it is opened."
        )
    session[_FILES] = files
    return note
