"""Keeps the widgets and the URL of a page in agreement, with the names and values of the command line.

An invalid value in a URL stays there, is reported, and is never replaced by a default without notice; so the
widgets are not bound to the URL by Streamlit itself.  All state is in the session of one browser tab.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from functools import partial
from typing import Any, NamedTuple

import streamlit as st
from streamlit.delta_generator import DeltaGenerator

from app import file_marks, history, names, own_uploads, session_hardware
from app.looks import for_planners, refused_words
from app.options import Option, offered, read, written
from app.plain import plain
from perfmodel.core.errors import InputError, unknown_name
from perfmodel.core.problem import python

DEFAULT = " (default)"
"""End of a placeholder that states a default."""
START = {"gpus": 32}
"""Options that a page opens with when the URL has none."""
_BY_HAND = "by-hand"
"""Session key: keys of the options whose values the user chose."""


class RefusedValue(NamedTuple):
    """An invalid value in a URL or a field, with the reason."""

    text: str
    reason: str
    key: str = ""
    """Key of the widget that shows it; empty if none does."""


class Text(NamedTuple):
    """A valid value of a text field."""

    label: str
    text: str
    place: DeltaGenerator | None
    """Container below the field for its error; None if the page does not draw the field."""


def open_page(page: str, every: Sequence[Option], start: Mapping[str, Any] = START) -> dict[str, Option]:
    """Read the URL of a page into the session, and record its invalid values.

    Parameters
    ----------
    page : its name in the URL
    every : all options of the page
    start : options that the page opens with when the URL has none

    Returns the page's options by name; their choices include the session's own hardware.
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
            _clear(option)
        for spelling, text in url.items():
            if spelling in marks:
                continue
            name = words.get(spelling, spelling)
            try:
                if name not in known:
                    raise unknown_name("option", name, known)
                if len(st.query_params.get_all(spelling)) > 1:
                    raise InputError("it is given twice; expected one value")
                session.chosen[known[name].key] = read(known[name], text)
            except InputError as error:
                shown = known[name] if name in known and known[name].kind == "text" else None
                session.refused[spelling] = RefusedValue(
                    text, refused_words(error), _key(shown) if shown else ""
                )
                if shown:
                    session[_key(shown)] = text
    elif not is_open(page):
        session.refused = {}
        for option in known.values():  # another page's widget of this name is another widget
            session.pop(_key(option), None)
        for name, value in start.items():
            session.chosen.setdefault(known[name].key, value)
    session.seen = (page, url)
    return known


def is_open(page: str) -> bool:
    """Return whether the run before was of this page too, so that its options are in the session."""
    seen = st.session_state.get("seen")
    return seen is not None and bool(seen[0] == page)


def close_page(page: str, known: Mapping[str, Option], top: DeltaGenerator) -> None:
    """Write the widgets' values to the URL; if a file is missing or a value is invalid, report it and stop.

    The page shows no answer next to an invalid field: it would be the answer to another question.
    """
    session = st.session_state
    query = {name: written(value) for name, value in chosen(known).items()}
    query |= {name: refused.text for name, refused in session.refused.items()}
    query |= file_marks.query_of(page)
    if session.pop("opening", False):
        history.complete_address(query)
    elif query != st.query_params.to_dict():
        st.query_params.from_dict(query)
    session.seen = (page, query)
    if not query:
        session.without_options.add(page)
    session.texts = {
        name: Text(known[name].label, str(value), session.get("places", {}).get(name))
        for name, value in chosen(known).items()
        if known[name].kind == "text"
    }
    session.fields = dict(known)
    own_uploads.stop_without_files(page, top)
    if session.refused:
        with top:
            for name, refused in session.refused.items():
                text, reason = _shortened(refused.text), refused.reason[:400]
                given = "" if reason.startswith(text) else f" = {text}"  # the reason starts with it
                line = f"No answer yet: {_label(name, known)}{given}: {reason}"
                st.error(
                    plain(line + folded_away(next((n for n in known if name in known[n].spellings), "")))
                )
            st.button("Go on without it", on_click=_drop_refused, key="forgive")
        st.stop()


def show_mistake(error: InputError) -> None:
    """Show an input error, also below the text field that it is about, if there is one."""
    name, words = _at_fault(error), refused_words(error)
    if name is None:
        st.error(plain(words))
        return
    text: Text = st.session_state.texts[name]
    message = words if text.label in words else f"“{text.label}”: {words}"
    st.error(plain(message + folded_away(name)))
    if text.place is not None:
        text.place.error(plain(words))


def folded_away(name: str) -> str:
    """Return text that locates the field of an option inside a folded section; "" if it is visible."""
    where = st.session_state.get("folds", {}).get(name)
    return f" ({where})" if where and name not in st.session_state.get("places", {}) else ""


def _at_fault(error: InputError) -> str | None:
    """Return the name of the text option that an error is about, by its field or else by its value."""
    texts: Mapping[str, Text] = st.session_state.get("texts", {})
    fields = {part for problem in error.problems for path in problem.fields for part in path}
    values = [value for problem in error.problems for value in problem.values.values()]
    named = [name for name in texts if python(name) in fields]
    return next(iter((*named, *(name for name, text in texts.items() if text.text in values))), None)


def _drop_refused() -> None:
    session = st.session_state
    for refused in session.refused.values():
        if refused.key:
            session.pop(refused.key, None)
    session.refused.clear()
    history.note_action()


def _label(spelling: str, known: Mapping[str, Option]) -> str:
    """Return the label of an option's field, or the spelling in the address if no option has it."""
    for name, option in known.items():
        if spelling in (name, *option.spellings):
            return f"“{option.label}”"
    return _shortened(spelling)


def _shortened(text: str) -> str:
    return repr(text if len(text) <= 60 else f"{text[:57]}...")


def chosen(known: Mapping[str, Option]) -> dict[str, Any]:
    """Return the values chosen for some options, by name."""
    picked = st.session_state.chosen
    return {name: picked[option.key] for name, option in known.items() if option.key in picked}


def newest(option: Option) -> Any:
    """Return the newest value of an option: its widget's, even before it is drawn, else the chosen one."""
    session = st.session_state
    return session[_key(option)] if _key(option) in session else session.chosen.get(option.key)


def is_by_hand(option: Option) -> bool:
    """Return whether the user chose an option's value, rather than an address, an example or the page."""
    return option.key in st.session_state.get(_BY_HAND, ())


def choose(values: Mapping[Option, Any]) -> None:
    """Set options for the next run of the page, as if the user had chosen the values."""
    session = st.session_state
    session[_BY_HAND] = {*session.get(_BY_HAND, ()), *(option.key for option in values)}
    for option, value in values.items():
        session.chosen[option.key] = value
        session.pop(_key(option), None)
    history.note_action()


def leave_open(given: Iterable[Option]) -> None:
    """Clear options for the next run of the page, so that the model chooses their values."""
    clear(given)
    history.note_action()


def clear(given: Iterable[Option]) -> None:
    """Clear options; those of an address that arrives with this run are read from it after that."""
    for option in given:
        _clear(option)


def _clear(option: Option) -> None:
    """Remove an option's value and its widget's from the session."""
    session = st.session_state
    session[_BY_HAND] = {*session.get(_BY_HAND, ())} - {option.key}
    session.chosen.pop(option.key, None)
    session.pop(_key(option), None)


def with_own(option: Option) -> Option:
    """Return an option whose choices include the session's own hardware."""
    if not option.offers or not session_hardware.specs():
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
    option = option._replace(usual=_usual(option))
    named = partial(names.shown, catalogue=session_hardware.catalogue())
    words = option.shows or (named if option.offers else _in_words)
    value: Any
    if option.kind == "choice":
        value = st.selectbox(
            option.label,
            option.choices,
            index=None,
            placeholder=_in_words(option.usual),
            format_func=words,
            **common,
        )
    elif option.kind == "radio":
        value = st.radio(
            option.label, option.choices, index=None, horizontal=True, format_func=words, **common
        )
    elif option.kind == "choices":
        several = st.multiselect(
            option.label, option.choices, placeholder=option.usual, format_func=words, **common
        )
        value = tuple(several) or None
    elif option.kind == "pills":
        value = tuple(
            st.pills(
                option.label, option.choices, selection_mode="multi", format_func=words, wrap=True, **common
            )
        )
        value = value or None
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
    """Return a choice as a field shows it: ``images per second``."""
    return choice.replace("_", " ")


def _usual(option: Option) -> str:
    """Return the placeholder of an option; of a choice as the list shows it."""
    id = option.usual.removesuffix(DEFAULT)
    if option.shows and id in option.choices:
        return f"{option.shows(id)}{DEFAULT}"
    if option.offers and id in option.choices:
        return f"{names.called(id, session_hardware.catalogue())}{DEFAULT}"
    return for_planners(option.usual)


def smallest(option: Option) -> int:
    """Return the least value of an option that is a whole number."""
    least = getattr(option.parameter.type, "min", None)
    return 1 if least is None else int(least)


def largest(option: Option) -> int:
    """Return the largest value of an option that is a whole number."""
    kind: Any = option.parameter.type
    return int(getattr(kind, "largest", None) or getattr(kind, "max", None) or 10**6)


def _shown(option: Option, value: Any) -> Any:
    """Return the value of an option's widget that represents a value of the session."""
    if option.kind in ("choices", "pills"):
        return list(value or ())
    if option.kind in ("choice", "radio"):
        return value if value in option.choices else None
    return (value or "") if option.kind == "text" else value


def _slider(option: Option, common: dict[str, Any]) -> int:
    """Draw a slider from 1 to the option's largest value, or a larger one in the URL; return its value."""
    session, key = st.session_state, _key(option)
    if session[key] is None:
        session[key] = max(1, option.largest // 2)
    return int(st.slider(option.label, 1, max(2, option.largest, session[key]), step=1, **common))


def _field(option: Option, common: dict[str, Any]) -> str | None:
    """Draw a text field with its error below; return the text, or None if it is empty or invalid."""
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
        st.session_state.refused[option.name] = RefusedValue(text, refused_words(error), _key(option))
        column.error(plain(refused_words(error)))
        return None
    return text


def _touched(option: Option) -> None:
    """Record that the user changed a widget, so that the URL's value and a replaced file no longer count."""
    session = st.session_state
    session[_BY_HAND] = {*session.get(_BY_HAND, ()), option.key}
    for spelling in option.spellings:
        session.refused.pop(spelling, None)
    if option.replaces and session[_key(option)]:
        file_marks.use(option.replaces, ())
    history.note_action()


def _key(option: Option) -> str:
    return f"option-{option.key}"
