"""Upload fields for a user's own files, and the page shown when files that its address names are missing."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import streamlit as st
from streamlit.delta_generator import DeltaGenerator

from app import file_marks, history, session_hardware
from app.file_marks import Kind, Mark, in_use, mark_of, use
from app.looks import refused_words
from app.plain import plain
from perfmodel.core.errors import InputError
from perfmodel.core.files.learner import is_table


class _UploadKind(NamedTuple):
    """Texts and limits of the upload field for a kind of file."""

    noun: str
    """What such a file is."""
    source: str
    """Where the user finds it."""
    endings: Sequence[str] | None
    """Endings of its name; None: any."""
    most: int | None
    """Largest size [MiB]."""


UPLOAD_KINDS: dict[Kind, _UploadKind] = {
    "specs": _UploadKind("the user's own hardware", "the page Hardware has it under “The file”", ["toml"], 1),
    "calibration": _UploadKind(
        "the user's own runs, or what was learned from them",
        "a .csv: who measured has it; a .json: page Your own runs has it under “Download what was learned”",
        ["csv", "json"],
        5,
    ),
    "profile": _UploadKind(
        "what a trace taught", "the page Trace wrote it: “Download the profile”", ["toml"], 1
    ),
    "network": _UploadKind("a network", "the network's publisher has it, as config.json", ["json"], 1),
    "quote": _UploadKind("a quote", "who wrote it has it", ["toml"], 1),
    "times": _UploadKind("measured times of a worker", "who measured them has it", ["csv", "txt", "log"], 5),
    "trace": _UploadKind("a profiler's trace", "the profiler wrote it", None, None),
    "runs": _UploadKind("measured runs", "who measured has it", ["csv"], 5),
    "measured": _UploadKind("a log, a listing or a trace", "who measured has it", None, None),
}
_REFUSED, _OTHERS, TAKEN = "own-refused", "own-others", "taken-from"
"""Session keys: (kind, field) -> why a file was refused; kind -> uploaded files that the address does not
name; traces whose job was copied to the options."""


def field(
    kind: Kind,
    label: str,
    key: str,
    endings: Sequence[str] | None = None,
    then: Callable[[], None] | None = None,
    **more: Any,
) -> None:
    """Draw the upload field for a kind of file.

    Parameters
    ----------
    kind : of file
    label, key : of the field
    endings : of the file's name; by default those of the kind
    then : called once files came into use
    more : further arguments of ``st.file_uploader``

    Raises
    ------
    InputError : the field holds a file that was refused; says why
    """
    drawn = _drawn(kind, key)
    upload = UPLOAD_KINDS[kind]
    st.file_uploader(
        label,
        type=endings or upload.endings,
        max_upload_size=upload.most,
        key=drawn,
        on_change=_take_all,
        args=(kind, drawn, then),
        **more,
    )
    refused = st.session_state.get(_REFUSED, {}).get((kind, drawn))
    if refused and st.session_state[drawn]:
        raise InputError(refused)


def _drawn(kind: Kind, key: str) -> str:
    """Return the present key of an upload field, which is another each time that it was emptied."""
    times = file_marks.times_emptied(kind)
    return f"{key}-{times}" if times else key


def held(kind: Kind, key: str) -> list[Any]:
    """Return the files in the upload field of a kind, also those that were refused."""
    return _files_of(_drawn(kind, key))


def in_use_line(
    kind: Kind,
    words: str,
    button: str = "Answer without it",
    also: Sequence[Kind] = (),
    called: Callable[[str], str] = str,
) -> None:
    """Draw the names of the files of a kind in use, after ``words``, and a button to stop using them.

    Parameters
    ----------
    kind, words, button : of the files, and labels
    also : other kinds that the button stops using
    called : returns what people call a file
    """
    names = [called(path.name) for path in session_hardware.files(kind)]
    if names:
        them, files = ("it", "the file") if len(names) == 1 else ("them", "the files")
        st.caption(
            plain(f"{words} {_listed(names)}. The address names {them}; who opens that needs {files} too.")
        )
        st.button(button, on_click=leave_out, args=(kind, *also), key=f"forget-{kind}")


def leave_out(*kinds: Kind) -> None:
    """Stop using the files of some kinds."""
    for kind in kinds:
        use(kind, ())
    history.note_action()


def _files_of(key: str) -> list[Any]:
    """Return the files in an upload field."""
    held = st.session_state.get(key)
    return list(held) if isinstance(held, list) else [held] if held is not None else []


def _note(what: str, key: Any, value: Any) -> None:
    """Set one item of the session's table ``what``, and keep its other items."""
    st.session_state[what] = {**st.session_state.get(what, {}), key: value}


def _take_all(kind: Kind, key: str, then: Callable[[], None] | None) -> None:
    """Store and use the files that an upload field holds now; the callback of its change."""
    refused = ""
    marks: list[Mark] = []
    try:
        marks = [store_upload(kind, file) for file in _files_of(key)]
    except InputError as error:
        refused = refused_words(error)
    _note(_REFUSED, (kind, key), refused)
    use(kind, marks, empties=False)
    if kind == "trace":
        session_hardware.keep_traces_in_use()
    if marks and then is not None:
        then()
    history.note_action()


def store_upload(kind: Kind, file: Any, name: str | None = None) -> Mark:
    """Check an uploaded file and store it in the session; return its mark.

    Parameters
    ----------
    kind : of file
    file : Streamlit's uploaded file
    name : to store it under; by default its own

    Raises
    ------
    InputError : the file is not of that kind
    """
    name = session_hardware.own_name(name or file.name, kind)
    if kind == "trace":
        from app import uploads

        mark = mark_of(name, file.getvalue(), is_text=False)
        uploads.store_trace(mark, file.getvalue())
        return mark
    if kind == "specs":
        from app import hardware

        try:
            return hardware.store_spec(file.getvalue().decode("utf-8")).mark
        except UnicodeDecodeError:
            raise InputError(f"{name}: not UTF-8 text; expected TOML") from None
    mark = session_hardware.keep(kind, name, file.getvalue())
    path = session_hardware.place(kind, mark)
    try:
        _check(kind, mark)
    except InputError:
        path.unlink()
        raise
    return mark


def _check(kind: Kind, mark: Mark) -> None:
    """Raise InputError for a stored file that is not of its kind; learn from a table of own runs."""
    path = session_hardware.place(kind, mark)
    if kind == "calibration" and is_table(path):
        from app import runs_work

        session_hardware.keep_learned(mark, runs_work.learned_text(path, session_hardware.catalogue()))
    elif kind == "calibration":
        from perfmodel.model.fitted.calibration import calibrated

        calibrated(str(path))
    elif kind == "profile":
        from perfmodel.model.setting.profile import read_profile

        read_profile(str(path))
    elif kind == "quote":
        from app import quotes

        quotes.uploaded_quote(path)
    elif kind == "times":
        session_hardware.law_of(path)
    elif kind == "runs":
        from perfmodel.evidence.fitting.own_table import read_own_runs

        read_own_runs(str(path), session_hardware.catalogue())
    elif kind == "measured":
        from perfmodel.decide.diagnosis.measured import read_measured

        read_measured(str(path))
    elif kind == "network":
        from perfmodel.workloads import workload

        workload(str(path))


def stop_without_files(page: str, top: DeltaGenerator) -> None:
    """If the session lacks files that the address of a page names, draw fields for them and stop the page.

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
            _missing_field(kind, marks)
        st.button(
            f"Answer without {'it' if one else 'them'}",
            on_click=_drop_missing,
            args=(page,),
            key="without-files",
        )
    st.stop()


def _missing_field(kind: Kind, marks: list[Mark]) -> None:
    """Draw the upload field for missing files, and for other uploaded files a button to use them instead."""
    upload, names = UPLOAD_KINDS[kind], [mark.name for mark in marks]
    several, key = kind in ("specs", "trace"), f"missing-{kind}"
    st.file_uploader(
        f"Upload {plain(_listed(names))}: {upload.noun} ({upload.source})",
        type=upload.endings,
        max_upload_size=upload.most,
        accept_multiple_files=several,
        key=key,
        on_change=_store_missing,
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
            on_click=_use_instead,
            args=(kind, wanted, other),
            key=f"instead-{kind}-{other.digest}",
        )


def _store_missing(kind: Kind, key: str) -> None:
    """Store files uploaded in place of missing ones, and read the address again if it names them.

    A mark without a digest fits the first file of its name.
    """
    session, refused, others = st.session_state, "", []
    wanted = {mark.digest: mark.name for mark in in_use(kind)}
    for file in _files_of(key):
        digest = mark_of("", file.getvalue(), kind != "trace").digest
        try:
            mark = store_upload(kind, file, wanted.get(digest))
        except InputError as error:
            refused = refused_words(error)
            continue
        named = next((each for each in in_use(kind) if each == Mark(mark.name, "")), None)
        if named:
            _use_instead(kind, named, mark)
        elif digest not in wanted:
            others.append(mark)
    _note(_REFUSED, (kind, key), refused)
    _note(_OTHERS, kind, others)
    if kind == "trace":  # the address has the job's options, which the trace must not replace
        session[TAKEN] = in_use(kind)
    session.seen = None  # read the address again: names of hardware in it may be known now


def _use_instead(kind: Kind, wanted: Mark, other: Mark) -> None:
    """Use another file than the one an address names, and read the address again with its mark.

    Other names in the address, such as hardware in the file, may be known now.
    """
    use(kind, [other if mark == wanted else mark for mark in in_use(kind)])
    st.query_params[file_marks.parameter(kind)] = file_marks.marks_text(in_use(kind))
    st.session_state.seen = None


def _drop_missing(page: str) -> None:
    """Stop using the missing files of a page."""
    for kind, marks in session_hardware.missing(page).items():
        use(kind, [mark for mark in in_use(kind) if mark not in marks])
    history.note_action()


def _listed(names: Sequence[str]) -> str:
    """Return names as a phrase, long ones shortened.

    >>> _listed(["a.toml"]), _listed(["a.toml", "b.toml", "c.toml"])
    ('a.toml', 'a.toml, b.toml and c.toml')
    """
    short = [name if len(name) <= 60 else f"{name[:57]}..." for name in names]
    return short[0] if len(short) == 1 else f"{', '.join(short[:-1])} and {short[-1]}"
