"""Generic page of a command without a view: a form of its options, and the answer as the shell prints it."""

from __future__ import annotations

import io
from collections.abc import Mapping
from contextlib import redirect_stdout
from threading import Lock
from typing import Any

import streamlit as st

from app.command_answer import answer_of
from app.layout import copy_buttons, download_buttons, errors_shown, options_form
from app.options import Option, options, read
from app.plain import plain
from perfmodel.core.files.attachments import only_attached
from perfmodel.core.records.options import Described
from perfmodel.interfaces.command import Command
from perfmodel.interfaces.register import command
from perfmodel.model.options.scenario import field_of

_PRINTING = Lock()


def draw(name: str) -> None:
    """Draw the generic page of the command ``name``."""
    one = command(name)
    known = {
        option.name: option if option.heading else option._replace(session=f"{name}-{option.name}")
        for option in options(name).values()
        if option.parameter.name in one.fields
    }
    groups = {"": [each for each in known.values() if not each.heading]}
    for option in known.values():
        if option.heading:
            groups.setdefault(option.heading, []).append(option)
    request = options_form(name, groups, start=_start(one, known))
    st.subheader(plain(one.function.replace("_", " ").capitalize()), anchor=False)
    st.markdown(f"**{plain(one.summary)}**")
    with (
        errors_shown(),
        only_attached({}),
    ):  # a name of a file would mean one of the machine that serves pages
        answer, parsed, python = answer_of(name, request.picked, known)
    st.code(_printed(one, answer, parsed), language=None)
    rows = answer.records()
    with st.container(horizontal=True):
        copy_buttons(name, request.picked, python)
        download_buttons(name, rows, answer.to_json)


def _start(one: Command, known: Mapping[str, Option]) -> dict[str, Any]:
    """Return the options that the page opens with: those of the command's first example.

    A body names them as in Python, where an option may have a name of its own: ``gpus``.
    """
    fields = {each.field: each.name for each in one.fields.values()}
    first = next(iter(one.bodies.values()))
    named = {fields[field if field in fields else field_of(field)]: value for field, value in first.items()}
    return {name: read(known[name], _text(value)) for name, value in named.items()}


def _text(value: Any) -> str:
    return ",".join(map(str, value)) if isinstance(value, list) else str(value)


def _printed(one: Command, answer: Any, request: Described) -> str:
    """Return the text that the shell prints for the answer to a request."""
    out = io.StringIO()
    with _PRINTING, redirect_stdout(out):  # stdout is shared by all sessions
        one.text(answer, request)
    return out.getvalue().rstrip()
