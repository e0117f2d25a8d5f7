"""A user's own files, kept for the session: hardware, a profile, a calibration, measured times."""

from __future__ import annotations

import re
import tempfile
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import streamlit as st

from app.file_marks import USED, Kind, Mark, in_use, mark_of
from perfmodel.equations.distribution import Empirical
from perfmodel.equations.distributions import distribution
from perfmodel.hardware.catalogue.store import Catalogue

LONGEST_NAME = 120
"""Bytes of a file's name; a system of files takes 255."""


def folder() -> Path:
    """Return the session's folder of files; it goes when the session does."""
    session = st.session_state
    if "folder" not in session:
        session.folder = tempfile.TemporaryDirectory(prefix="perfmodel-app-")
    return Path(session.folder.name)


def without_folder(message: str) -> str:
    """Return a message about a file as its owner knows the file."""
    return folder_remover()(message)


def folder_remover() -> Callable[[str], str]:
    """Return ``without_folder`` of this session, which may be called outside of it."""
    if "folder" not in st.session_state:
        return str
    mine = str(folder())
    inside = re.compile(rf"{re.escape(mine)}/(?:own/(?:network/\w+/[^/]+|\w+/\w+)/)?")
    return lambda message: inside.sub("", message)


def own_name(uploaded: str, otherwise: str) -> str:
    """Return what a file is called, as its owner knows it, where that names a file of a folder.

    Parameters
    ----------
    uploaded : as the browser says it
    otherwise : where that is no name

    >>> own_name("my times.csv", "times.csv"), own_name("../../Zeiten.csv", "times.csv")
    ('my times.csv', 'Zeiten.csv')
    >>> own_name("..", "times.csv"), own_name("a" * 200 + ".csv", "times.csv")[-8:]
    ('times.csv', 'aaaa.csv')
    """
    last = re.split(r"[/\\]", uploaded)[-1]
    stem, dot, ending = "".join(each for each in last if each.isprintable()).strip().rpartition(".")
    room = LONGEST_NAME - len(dot + ending)
    name = stem.encode()[: max(room, 0)].decode(errors="ignore") + dot + ending[:LONGEST_NAME]
    return otherwise if not name.strip(".") else name


def place(kind: Kind, mark: Mark) -> Path:
    """Return where the session keeps a file, if it has it, by the name that its owner knows."""
    name = own_name(mark.name, kind)
    parent = folder() / "own" / kind / mark.digest
    if kind == "network":  # which is called by its folder where it is config.json
        parent /= name.rpartition(".")[0] or name
    return parent / name


def keep(kind: Kind, name: str, content: bytes) -> Mark:
    """Keep a file for the session; return its mark."""
    mark = mark_of(own_name(name, kind), content)
    file = place(kind, mark)
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_bytes(content)
    return mark


SEEN = "seen-traces"
"""In the session: mark of a trace that was handed over -> what it holds."""


def keep_traces_in_use() -> None:
    """Drop what traces hold that are not in use: others were handed over."""
    session = st.session_state
    session[SEEN] = {mark: held for mark, held in session.get(SEEN, {}).items() if mark in in_use("trace")}


def has(kind: Kind, mark: Mark) -> bool:
    """Whether the session has a file, by this name."""
    if kind == "trace":
        return mark in st.session_state.get(SEEN, {})
    return bool(mark.digest) and "folder" in st.session_state and place(kind, mark).is_file()


def missing(page: str) -> dict[Kind, list[Mark]]:
    """Return the files that the answer of a page uses and the session lacks."""
    lacking = {kind: [mark for mark in in_use(kind) if not has(kind, mark)] for kind in USED.get(page, ())}
    return {kind: marks for kind, marks in lacking.items() if marks}


def files(kind: Kind) -> list[Path]:
    """Return the files of a kind that are in use and here."""
    return [place(kind, mark) for mark in in_use(kind) if has(kind, mark)]


def catalogue() -> Catalogue:
    """Return the built-in hardware, with the session's own over it."""
    own = tuple(specs())
    if not own:
        return Catalogue.built_in()
    if st.session_state.get("catalogue", (None,))[0] != own:
        st.session_state.catalogue = (own, Catalogue(own))
    result: Catalogue = st.session_state.catalogue[1]
    return result


def specs() -> list[Path]:
    """Return the session's own spec files, each called by the id of what it describes."""
    return sorted(files("specs"), key=lambda file: file.name)


def tables() -> dict[str, Any] | None:
    """Return the session's own hardware as a service takes it: tables by kind and id; None without any."""
    own = catalogue()
    result: dict[str, Any] = {}
    for file in specs():
        if (kind := own.kind_of(file.stem)) is not None:
            spec = own.spec(kind, file.stem)
            result.setdefault(kind, {})[spec.id] = spec.model_dump(mode="json", exclude_defaults=True)
    return result or None


def profile() -> str | None:
    """Return the file of the session's profile, where a trace was calibrated on and is in use."""
    return next(map(str, files("profile")), None)


def calibration() -> str | None:
    """Return the file of the session's own calibration, where one was handed over and is in use."""
    return next(map(str, files("calibration")), None)


def own_files(page: str = "predict") -> dict[str, str]:
    """Return the options of a scenario that name files of the session's own, of those that a page uses."""
    named = {"profile": profile(), "calibration": calibration()}
    return {name: path for name, path in named.items() if path is not None and name in USED[page]}


def own_texts() -> tuple[str, ...]:
    """Return what is in the session's own hardware, profile and calibration: with it a question is whole."""
    texts = [*specs(), *map(Path, own_files().values())]
    return tuple(file.read_text("utf-8") for file in texts)


def own_names() -> dict[str, str]:
    """Return the same by the names that their owner knows."""
    return {name: Path(path).name for name, path in own_files().items()}


def catalogue_words(start: str = "") -> str:
    """Return the session's own hardware as an argument in Python, after ``start``; nothing without any."""
    names = [file.name for file in specs()]
    return f"{start}Catalogue({names!r})" if names else ""


def law_of(file: Path) -> Empirical:
    """Return the law of measured times.

    Raises
    ------
    InputError : no times in it
    """
    law = distribution("empirical", file=file)
    assert isinstance(law, Empirical)
    return replace(law, source=file.name)


def sample() -> Empirical | None:
    """Return the law of the session's own times, read once."""
    file = next(iter(files("times")), None)
    if file is None:
        return None
    if st.session_state.get("sample", (None,))[0] != file:
        st.session_state["sample"] = (file, law_of(file))
    result: Empirical = st.session_state["sample"][1]
    return result
