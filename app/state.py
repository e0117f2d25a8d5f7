"""Keeps widgets and URL of a page equal, in the command line's words.

A value in a URL that cannot be is kept there, reported, and never replaced by a default in silence, which is
why the widgets are not bound to the URL by Streamlit itself.  Everything lives in the session of one
browser tab.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple

import streamlit as st
from streamlit.delta_generator import DeltaGenerator

from app import file_marks, history, own_uploads, session_hardware
from app.looks import for_planners, refused_words
from app.options import Option, offered, read, written
from app.plain import plain
from perfmodel.core.errors import InputError, unknown_name
from perfmodel.core.problem import python

START = {"gpus": 32}
"""What a page opens with where the URL says nothing."""


class Refused(NamedTuple):
    """What somebody wrote, in a URL or a field, that cannot be read."""

    text: str
    reason: str
    key: str = ""
    """Of the field that shows it, if one does."""


class Text(NamedTuple):
    """What somebody wrote in a field, that can be read."""

    label: str
    text: str
    place: DeltaGenerator | None
    """Below the field, where the page draws it."""


def open_page(page: str, every: Sequence[Option], start: Mapping[str, Any] = START) -> dict[str, Option]:
    """Take what a URL says into the session, and note what in it cannot be used.

    Returns the page's options by name, which offer hardware of the session's own, the URL's files among it.
    """
    session = st.session_state
    session.places, session.folds = {}, {}
    marks = file_marks.parameters(page)
    words = {spelling: option.name for option in every for spelling in option.spellings}
    url, has_arrived = history.arrival(page, {*words, *marks})
    if "chosen" not in session:
        session.chosen, session.refused, session.seen, session.opening = {}, {}, None, True
        session.without_options = set()
    session.pop("touched", None)
    if has_arrived:
        file_marks.take_address(page)
    known = {option.name: with_own(option) for option in every}
    if has_arrived:
        session.refused = {}
        for option in known.values():
            session.chosen.pop(option.key, None)
            session.pop(_key(option), None)
        for spelling, text in url.items():
            if spelling in marks:
                continue
            name = words.get(spelling, spelling)
            try:
                if name not in known:
                    raise unknown_name("option", name, known)
                if len(st.query_params.get_all(spelling)) > 1:
                    raise InputError("it stands there twice; expected one value")
                session.chosen[known[name].key] = read(known[name], text)
            except InputError as error:
                shown = known[name] if name in known and known[name].kind == "text" else None
                session.refused[spelling] = Refused(text, refused_words(error), _key(shown) if shown else "")
                if shown:
                    session[_key(shown)] = text
    elif not session.seen or session.seen[0] != page:
        session.refused = {}
        for option in known.values():  # another page's widget of this name is another widget
            session.pop(_key(option), None)
        for name, value in start.items():
            session.chosen.setdefault(known[name].key, value)
    session.seen = (page, url)
    return known


def close_page(page: str, known: Mapping[str, Option], top: DeltaGenerator) -> None:
    """Write the widgets into the URL; where a file is missing or something was refused, say so and stop.

    No answer stands beside a field that cannot be read: it would be the answer to another question.
    """
    session = st.session_state
    said = {name: written(value) for name, value in chosen(known).items()}
    said |= {name: refused.text for name, refused in session.refused.items()}
    said |= file_marks.said(page)
    if session.pop("opening", False):
        history.replace(said)
    elif said != st.query_params.to_dict():
        st.query_params.from_dict(said)
    session.seen = (page, said)
    if not said:
        session.without_options.add(page)
    session.texts = {
        name: Text(known[name].label, str(value), session.get("places", {}).get(name))
        for name, value in chosen(known).items()
        if known[name].kind == "text"
    }
    own_uploads.stop_without_files(page, top)
    if session.refused:
        with top:
            for name, refused in session.refused.items():
                text, reason = _shortened(refused.text), refused.reason[:400]
                given = "" if reason.startswith(text) else f" = {text}"  # said already
                line = f"No answer yet: {_label(name, known)}{given}: {reason}"
                st.error(
                    plain(line + folded_away(next((n for n in known if name in known[n].spellings), "")))
                )
            st.button("Go on without it", on_click=_forgive, key="forgive")
        st.stop()


def show_mistake(error: InputError) -> None:
    """Show what is wrong with an answer, and at the text that it is about, where it is about one."""
    name, said = _at_fault(error), refused_words(error)
    if name is None:
        st.error(plain(said))
        return
    text: Text = st.session_state.texts[name]
    said_whole = said if text.label in said else f"“{text.label}”: {said}"
    st.error(plain(said_whole + folded_away(name)))
    if text.place is not None:
        text.place.error(plain(said))


def folded_away(name: str) -> str:
    """Say where the field of an option is, where it is folded away."""
    where = st.session_state.get("folds", {}).get(name)
    return f" ({where})" if where and name not in st.session_state.get("places", {}) else ""


def _at_fault(error: InputError) -> str | None:
    """Return the option with a text that an error is about, or else has the value of."""
    texts: Mapping[str, Text] = st.session_state.get("texts", {})
    fields = {part for problem in error.problems for path in problem.fields for part in path}
    values = [value for problem in error.problems for value in problem.values.values()]
    named = [name for name in texts if python(name) in fields]
    return next(iter((*named, *(name for name, text in texts.items() if text.text in values))), None)


def _forgive() -> None:
    session = st.session_state
    for refused in session.refused.values():
        if refused.key:
            session.pop(refused.key, None)
    session.refused.clear()
    history.act()


def _label(spelling: str, known: Mapping[str, Option]) -> str:
    """What the field of an option is called, or where there is none, what the address calls it."""
    for name, option in known.items():
        if spelling in (name, *option.spellings):
            return f"“{option.label}”"
    return _shortened(spelling)


def _shortened(text: str) -> str:
    return repr(text if len(text) <= 60 else f"{text[:57]}...")


def chosen(known: Mapping[str, Option]) -> dict[str, Any]:
    """Return what is chosen of the options a page knows."""
    picked = st.session_state.chosen
    return {name: picked[option.key] for name, option in known.items() if option.key in picked}


def newest(option: Option) -> Any:
    """Return what an option is about to be: what its widget holds, drawn or not yet, or what was chosen."""
    session = st.session_state
    return session[_key(option)] if _key(option) in session else session.chosen.get(option.key)


def choose(values: Mapping[Option, Any]) -> None:
    """Choose options as if somebody had, in the run to come."""
    session = st.session_state
    for option, value in values.items():
        session.chosen[option.key] = value
        session.pop(_key(option), None)
    history.act()


def leave_open(given: Iterable[Option]) -> None:
    """Leave options to the model, in the run to come."""
    session = st.session_state
    for option in given:
        session.chosen.pop(option.key, None)
        session.pop(_key(option), None)
    history.act()


def with_own(option: Option) -> Option:
    """Return an option that also offers the session's own hardware."""
    if not session_hardware.specs() or not option.offers:
        return option
    return option._replace(choices=offered(option.offers, session_hardware.catalogue()))


def widget(option: Option) -> Any:
    """Draw the widget of an option and return its value; None leaves it to the model."""
    session, key = st.session_state, _key(option)
    if key not in session:
        session[key] = _shown(option, session.chosen.get(option.key))
    common: dict[str, Any] = {
        "key": key,
        "help": for_planners(option.help),
        "on_change": _touched,
        "args": (option,),
    }
    option = option._replace(usual=for_planners(option.usual))
    value: Any
    if option.kind == "choice":
        value = st.selectbox(
            option.label,
            option.choices,
            index=None,
            placeholder=_in_words(option.usual),
            format_func=_in_words,
            **common,
        )
    elif option.kind == "choices":
        value = (
            tuple(st.multiselect(option.label, option.choices, placeholder=option.usual, **common)) or None
        )
    elif option.kind == "whole":
        value = st.number_input(
            option.label,
            min_value=smallest(option),
            max_value=largest(option),
            value=None,
            step=1,
            placeholder=option.usual,
            **common,
        )
    elif option.kind == "slider":
        value = _slider(option, common)
    else:
        value = _field(option, common)
    if value is None:
        session.chosen.pop(option.key, None)
    else:
        session.chosen[option.key] = value
    return value


def _in_words(choice: str) -> str:
    """A choice as a field shows it: ``images per second``."""
    return choice.replace("_", " ")


def smallest(option: Option) -> int:
    """Return the least a whole number may be."""
    least = getattr(option.parameter.type, "min", None)
    return 1 if least is None else int(least)


def largest(option: Option) -> int:
    """Return the most a whole number may be."""
    kind: Any = option.parameter.type
    return int(getattr(kind, "largest", None) or getattr(kind, "max", None) or 10**6)


def _shown(option: Option, value: Any) -> Any:
    """What the widget of an option holds for a value of the session."""
    if option.kind == "choices":
        return list(value or ())
    if option.kind == "choice":
        return value if value in option.choices else None
    return (value or "") if option.kind == "text" else value


def _slider(option: Option, common: dict[str, Any]) -> int:
    """From 1 to the option's largest, or to what a URL says where that is more."""
    session, key = st.session_state, _key(option)
    if session[key] is None:
        session[key] = max(1, option.largest // 2)
    return int(st.slider(option.label, 1, max(2, option.largest, session[key]), step=1, **common))


def _field(option: Option, common: dict[str, Any]) -> str | None:
    """Free text; what the command line would refuse is reported under the field, in its column."""
    column = st.container(gap=None)
    text: str = column.text_input(option.label, placeholder=option.usual, **common).strip()
    st.session_state.places[option.name] = column.empty()
    if not text:
        return None
    try:
        read(option, text)
    except InputError as error:
        for spelling in option.spellings:
            st.session_state.refused.pop(spelling, None)
        st.session_state.refused[option.name] = Refused(text, refused_words(error), _key(option))
        column.error(plain(refused_words(error)))
        return None
    return text


def _touched(option: Option) -> None:
    """Note that a widget was changed, so that the URL's value no longer counts."""
    for spelling in option.spellings:
        st.session_state.refused.pop(spelling, None)
    history.act()


def _key(option: Option) -> str:
    return f"option-{option.key}"
