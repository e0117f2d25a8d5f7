"""Where files of one's own are handed over, and what a page says that lacks those its address names."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import streamlit as st
from streamlit.delta_generator import DeltaGenerator

from app import file_marks, history, session_hardware
from app.file_marks import Kind, Mark, in_use, mark_of, use
from app.looks import refused_words
from app.plain import plain
from perfmodel.core.errors import InputError


class _Handed(NamedTuple):
    """What a page says of a kind of file."""

    noun: str
    source: str
    """Where its owner has it from."""
    endings: Sequence[str] | None
    most: int | None
    """MiB."""


HANDED: dict[Kind, _Handed] = {
    "specs": _Handed("hardware of somebody's own", "the page Hardware has it under “The file”", ["toml"], 1),
    "calibration": _Handed(
        "a calibration on somebody's own runs", "“perfmodel calibrate” wrote it", ["json"], 5
    ),
    "profile": _Handed("what a trace taught", "the page Trace wrote it: “Download the profile”", ["toml"], 1),
    "network": _Handed("a network", "the network's publisher has it, as config.json", ["json"], 1),
    "quote": _Handed("a quote", "who wrote it has it", ["toml"], 1),
    "times": _Handed("measured times of a worker", "who measured them has it", ["csv", "txt", "log"], 5),
    "trace": _Handed("a profiler's trace", "the profiler wrote it", None, None),
}
_REFUSED, _OTHERS, TAKEN = "own-refused", "own-others", "taken-from"
"""In the session: a kind with its field -> why a file was refused; kind -> other files than an address names;
the traces whose words stand beside the page."""


def field(kind: Kind, label: str, key: str, endings: Sequence[str] | None = None, **more: Any) -> None:
    """Draw the field that files of a kind are handed over in; where one was refused, say why and stop.

    Raises
    ------
    InputError : the file was refused
    """
    times = file_marks.emptied(kind)
    drawn = f"{key}-{times}" if times else key
    handed = HANDED[kind]
    st.file_uploader(
        label,
        type=endings or handed.endings,
        max_upload_size=handed.most,
        key=drawn,
        on_change=_take_all,
        args=(kind, drawn),
        **more,
    )
    refused = st.session_state.get(_REFUSED, {}).get((kind, drawn))
    if refused and st.session_state[drawn]:
        raise InputError(refused)


def in_use_line(kind: Kind, words: str, button: str = "Answer without it") -> None:
    """Say which files of a kind are in use, and offer to answer without them."""
    names = [path.name for path in session_hardware.files(kind)]
    if names:
        them, files = ("it", "the file") if len(names) == 1 else ("them", "the files")
        st.caption(
            plain(f"{words} {_listed(names)}. The address names {them}; who opens that needs {files} too.")
        )
        st.button(button, on_click=leave_out, args=(kind,), key=f"forget-{kind}")


def leave_out(kind: Kind) -> None:
    """Answer without the files of a kind."""
    use(kind, ())
    history.act()


def _files_of(key: str) -> list[Any]:
    """Return what a field holds."""
    held = st.session_state.get(key)
    return list(held) if isinstance(held, list) else [held] if held is not None else []


def _note(what: str, key: Any, value: Any) -> None:
    """Note something of one kind or field in the session, and leave what is noted of others."""
    st.session_state[what] = {**st.session_state.get(what, {}), key: value}


def _take_all(kind: Kind, key: str) -> None:
    """Use what a field holds now."""
    refused = ""
    marks: list[Mark] = []
    try:
        marks = [take(kind, file) for file in _files_of(key)]
    except InputError as error:
        refused = refused_words(error)
    _note(_REFUSED, (kind, key), refused)
    use(kind, marks, empties=False)
    if kind == "trace":
        session_hardware.keep_traces_in_use()
    history.act()


def take(kind: Kind, file: Any, name: str | None = None) -> Mark:
    """Keep a file that was handed over, checked; return its mark.

    Parameters
    ----------
    name : what it is called, by default as its owner calls it

    Raises
    ------
    InputError : no such file
    """
    name = session_hardware.own_name(name or file.name, kind)
    if kind == "trace":
        from app import uploads

        mark = mark_of(name, file.getvalue(), is_text=False)
        uploads.take(mark, file.getvalue())
        return mark
    if kind == "specs":
        from app import hardware

        try:
            return hardware.checked(file.getvalue().decode("utf-8")).mark
        except UnicodeDecodeError:
            raise InputError(f"{name}: not UTF-8 text; expected TOML") from None
    mark = session_hardware.keep(kind, name, file.getvalue())
    path = session_hardware.place(kind, mark)
    try:
        _check(kind, path)
    except InputError:
        path.unlink()
        raise
    return mark


def _check(kind: Kind, path: Any) -> None:
    """Refuse a file that is not of its kind."""
    if kind == "calibration":
        from perfmodel.model.fitted.calibration import calibrated

        calibrated(str(path))
    elif kind == "profile":
        from perfmodel.model.setting.profile import read_profile

        read_profile(str(path))
    elif kind == "quote":
        from app import quotes

        quotes.handed_over(path)
    elif kind == "times":
        session_hardware.law_of(path)
    elif kind == "network":
        from perfmodel.workloads import workload

        workload(str(path))


def stop_without_files(page: str, top: DeltaGenerator) -> None:
    """Where the session lacks files that the address of a page names, say which, and end the page there.

    An answer without them would be the answer to another question.
    """
    lacking = session_hardware.missing(page)
    if not lacking:
        st.session_state.pop(_OTHERS, None)
        return
    with top:
        names = [mark.name for marks in lacking.values() for mark in marks]
        one = len(names) == 1
        st.subheader("A file is missing" if one else "Files are missing", anchor=False)
        st.error(
            plain(
                f"No answer yet: this address was made with {_listed(names)}, which this session does not "
                f"have. An address names files and does not hold them: upload {'it' if one else 'them'} "
                f"here, or answer without {'it' if one else 'them'}."
            )
        )
        for kind, marks in lacking.items():
            _ask_for(kind, marks)
        st.button(
            f"Answer without {'it' if one else 'them'}", on_click=_without, args=(page,), key="without-files"
        )
    st.stop()


def _ask_for(kind: Kind, marks: list[Mark]) -> None:
    """Draw the field for files that an address names, and what to do about another one."""
    handed, names = HANDED[kind], [mark.name for mark in marks]
    several, key = kind in ("specs", "trace"), f"missing-{kind}"
    st.file_uploader(
        f"Upload {plain(_listed(names))}: {handed.noun} ({handed.source})",
        type=handed.endings,
        max_upload_size=handed.most,
        accept_multiple_files=several,
        key=key,
        on_change=_bring,
        args=(kind, key),
    )
    refused = st.session_state.get(_REFUSED, {}).get((kind, key))
    if refused and _files_of(key):
        st.error(plain(refused))
    for other in st.session_state.get(_OTHERS, {}).get(kind, ()):
        wanted = next((mark for mark in marks if mark.name == other.name), marks[0])
        same = f"another {other.name}" if other.name == wanted.name else f"{other.name}, not {wanted.name}"
        differs = (
            "what is in it differs from what the address was made with"
            if wanted.digest
            else "what was in that the address does not say"
        )
        st.warning(plain(f"This is {same}: {differs}."))
        st.button(
            f"Answer with this {plain(other.name)} instead",
            on_click=_instead,
            args=(kind, wanted, other),
            key=f"instead-{kind}-{other.digest}",
        )


def _bring(kind: Kind, key: str) -> None:
    """Keep what was handed over for an address, and read the address again if that is what it names.

    Of a file that the address names without its digest, it is the first of that name.
    """
    session, refused, others = st.session_state, "", []
    wanted = {mark.digest: mark.name for mark in in_use(kind)}
    for file in _files_of(key):
        digest = mark_of("", file.getvalue(), kind != "trace").digest
        try:
            mark = take(kind, file, wanted.get(digest))
        except InputError as error:
            refused = refused_words(error)
            continue
        named = next((each for each in in_use(kind) if each == Mark(mark.name, "")), None)
        if named:
            _instead(kind, named, mark)
        elif digest not in wanted:
            others.append(mark)
    _note(_REFUSED, (kind, key), refused)
    _note(_OTHERS, kind, others)
    if kind == "trace":  # beside which the address says the job
        session[TAKEN] = in_use(kind)
    session.seen = None  # names of hardware in it may be known now


def _instead(kind: Kind, wanted: Mark, other: Mark) -> None:
    """Use another file than an address names, and read the address again with that one in it.

    What it names besides, such as hardware that the file describes, may be known now.
    """
    use(kind, [other if mark == wanted else mark for mark in in_use(kind)])
    st.query_params[file_marks.parameter(kind)] = file_marks.written(in_use(kind))
    st.session_state.seen = None


def _without(page: str) -> None:
    """Answer without the files that are missing."""
    for kind, marks in session_hardware.missing(page).items():
        use(kind, [mark for mark in in_use(kind) if mark not in marks])
    history.act()


def _listed(names: Sequence[str]) -> str:
    """Say names as people do; long ones in short.

    >>> _listed(["a.toml"]), _listed(["a.toml", "b.toml", "c.toml"])
    ('a.toml', 'a.toml, b.toml and c.toml')
    """
    short = [name if len(name) <= 60 else f"{name[:57]}..." for name in names]
    return short[0] if len(short) == 1 else f"{', '.join(short[:-1])} and {short[-1]}"
