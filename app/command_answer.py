"""Answers of commands to the options that a page has, and the Python code that gives the same."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any, NamedTuple

import streamlit as st

from app import session_hardware
from app.backend import backend
from app.options import values
from perfmodel.core.records.options import Described
from perfmodel.interfaces.function import request_of
from perfmodel.interfaces.register import command

LAST = "answered"
"""Session key of the last question and its answer, which stands while sections of a page open and close."""


class Answered(NamedTuple):
    """The answer of a command."""

    answer: Any
    request: Described
    python: str
    """Python code that gives it."""


def answer_of(
    name: str,
    picked: Mapping[str, Any],
    names: Iterable[str],
    more: Mapping[str, Any] = {},
    shown: Mapping[str, Any] = {},
) -> Answered:
    """Return the answer of a command to chosen options and the session's own files.

    Parameters
    ----------
    name : of the command
    picked, names : chosen options, and those that the command takes
    more : further fields of its request
    shown : fields whose values the Python code has in another form, such as names of files

    Raises
    ------
    InputError : as the command
    """
    one, given = command(name), {**values(picked, names, name), **more}
    files = session_hardware.own_files(name)
    request = request_of(one, (), {**given, **files})
    written = {**given, **{option: Path(path).name for option, path in files.items()}, **shown}
    words = [f"{word}={value!r}" for word, value in written.items()]
    if catalogue := session_hardware.catalogue_words("perfmodel.") if one.hardware else "":
        words.append(f"catalogue={catalogue}")
    code = f"import perfmodel\n\nanswer = perfmodel.{one.function}({', '.join(words)})\nprint(answer)"
    asked = backend()
    question = (asked.place, name, repr({**given, **files}), *session_hardware.own_texts())
    last: tuple[Any, Any] = st.session_state.get(LAST, (None, None))
    if last[0] != question:
        st.session_state[LAST] = last = question, asked.answer(one, {**given, **files}, request)
    return Answered(last[1], request, code)
