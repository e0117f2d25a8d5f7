"""A user's own files, kept for the session: hardware, a profile, a calibration, measured times."""

from __future__ import annotations

import re
import tempfile
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import streamlit as st

from perfmodel.calibration import calibrated
from perfmodel.equations.distribution import Empirical
from perfmodel.equations.distributions import distribution
from perfmodel.errors import InputError
from perfmodel.specs.store import Catalogue

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
    inside = re.compile(
        rf"{re.escape(mine)}/(?:specs/|calibration/|times/|profiles/\d+/|networks/[^/]+/[^/]+/)?"
    )
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


def catalogue() -> Catalogue:
    """Return the built-in hardware, with the session's own over it."""
    return st.session_state.get("catalogue") or Catalogue.built_in()


def specs() -> list[Path]:
    """Return the session's own spec files."""
    return sorted((folder() / "specs").glob("*.toml")) if "folder" in st.session_state else []


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
    if "folder" not in st.session_state or not st.session_state.get("use-profile", True):
        return None
    name = st.session_state.get("profile-name")
    return None if name is None else str(folder() / "profiles" / name)


def calibration() -> str | None:
    """Return the file of the session's own calibration, where one was handed over."""
    name = st.session_state.get("calibration-name")
    return None if name is None else str(folder() / "calibration" / name)


def take_calibration(content: bytes, name: str) -> None:
    """Take a file of ``perfmodel calibrate --data`` for every page that predicts.

    Raises
    ------
    InputError : a file that is none
    """
    file = folder() / "calibration" / own_name(name, "mine.json")
    file.parent.mkdir(exist_ok=True)
    file.write_bytes(content)
    try:
        calibrated(str(file))
    except InputError as error:
        file.unlink()
        forget_calibration()
        raise InputError(str(error).replace(f"{file.parent}/", "")) from None
    st.session_state["calibration-name"] = file.name


def forget_calibration() -> None:
    """Predict again by what comes along."""
    st.session_state.pop("calibration-name", None)


def own_files() -> dict[str, str]:
    """Return the options of a scenario that name files of the session's own."""
    files = {"profile": profile(), "calibration": calibration()}
    return {name: path for name, path in files.items() if path is not None}


def own_texts() -> tuple[str, ...]:
    """Return what is in the session's own hardware, profile and calibration: with it a question is whole."""
    files = [*specs(), *map(Path, own_files().values())]
    return tuple(file.read_text("utf-8") for file in files)


def own_names() -> dict[str, str]:
    """Return the same by the names that their owner knows."""
    return {name: Path(path).name for name, path in own_files().items()}


def take_sample(content: bytes | None, name: str = "") -> None:
    """Take a file of measured times as the law of a worker's, or forget the one before.

    Raises
    ------
    InputError : no times in it
    """
    st.session_state.pop("sample", None)
    if content is None:
        return
    file = folder() / "times" / own_name(name, "times.csv")
    file.parent.mkdir(exist_ok=True)
    file.write_bytes(content)
    try:
        law = distribution("empirical", file=file)
    finally:
        file.unlink()
    assert isinstance(law, Empirical)
    st.session_state["sample"] = replace(law, source=file.name)


def sample() -> Empirical | None:
    """Return the law of the session's own times."""
    return st.session_state.get("sample")
