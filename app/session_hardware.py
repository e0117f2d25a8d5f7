"""A user's own files, stored for the session: hardware, profile, calibration, measured times, traces."""

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

LEARNED = "learned"
"""Folder of what was learned from a table of own runs, next to the table and under its name."""
LONGEST_NAME = 120
"""Most bytes of a file's name; file systems allow 255."""


def folder() -> Path:
    """Return the session's folder of files, which is removed with the session."""
    session = st.session_state
    if "folder" not in session:
        session.folder = tempfile.TemporaryDirectory(prefix="perfmodel-app-")
    return Path(session.folder.name)


def without_folder(message: str) -> str:
    """Return a message with paths in the session's folder shortened to file names."""
    return folder_remover()(message)


def folder_remover() -> Callable[[str], str]:
    """Return ``without_folder`` of this session as a function that works outside of it."""
    if "folder" not in st.session_state:
        return str
    mine = str(folder())
    inside = re.compile(rf"{re.escape(mine)}/(?:own/(?:network/\w+/[^/]+|\w+/\w+(?:/{LEARNED})?)/)?")
    return lambda message: inside.sub("", message)


def own_name(uploaded: str, otherwise: str) -> str:
    """Return a safe file name for an uploaded file, as close to its own as possible.

    Parameters
    ----------
    uploaded : name from the browser
    otherwise : name to use if that is none

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
    """Return the path at which the session stores a file, whether it has it or not."""
    name = own_name(mark.name, kind)
    parent = folder() / "own" / kind / mark.digest
    if kind == "network":  # a config.json is named by its folder
        parent /= name.rpartition(".")[0] or name
    return parent / name


def keep(kind: Kind, name: str, content: bytes) -> Mark:
    """Store a file in the session; return its mark."""
    mark = mark_of(own_name(name, kind), content)
    file = place(kind, mark)
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_bytes(content)
    return mark


def learned(mark: Mark) -> Path:
    """Return the path of what was learned from a table of own runs; pages use it as the file of the table."""
    file = place("calibration", mark)
    return file.parent / LEARNED / file.name


def keep_learned(mark: Mark, text: str) -> None:
    """Store what was learned from a table of own runs."""
    learned(mark).parent.mkdir(parents=True, exist_ok=True)
    learned(mark).write_text(text, "utf-8")


SEEN = "seen-traces"
"""Session key: mark of an uploaded trace -> its content, as ``read_trace`` returns it."""


def keep_traces_in_use() -> None:
    """Remove the contents of traces that are no longer in use."""
    session = st.session_state
    session[SEEN] = {mark: held for mark, held in session.get(SEEN, {}).items() if mark in in_use("trace")}


def has(kind: Kind, mark: Mark) -> bool:
    """Whether the session has the file of a mark."""
    if kind == "trace":
        return mark in st.session_state.get(SEEN, {})
    return bool(mark.digest) and "folder" in st.session_state and place(kind, mark).is_file()


def missing(page: str) -> dict[Kind, list[Mark]]:
    """Return the marks of files that a page's answer needs and the session lacks, by kind."""
    lacking = {kind: [mark for mark in in_use(kind) if not has(kind, mark)] for kind in USED.get(page, ())}
    return {kind: marks for kind, marks in lacking.items() if marks}


def files(kind: Kind) -> list[Path]:
    """Return the paths of the files of a kind that are in use and stored."""
    held = [mark for mark in in_use(kind) if has(kind, mark)]
    if kind == "calibration":
        return [learned(mark) if learned(mark).is_file() else place(kind, mark) for mark in held]
    return [place(kind, mark) for mark in held]


def catalogue() -> Catalogue:
    """Return the catalogue of built-in hardware and the session's own, which takes precedence."""
    own = tuple(specs())
    if not own:
        return Catalogue.built_in()
    if st.session_state.get("catalogue", (None,))[0] != own:
        st.session_state.catalogue = (own, Catalogue(own))
    result: Catalogue = st.session_state.catalogue[1]
    return result


def specs() -> list[Path]:
    """Return the paths of the session's own spec files, each named by the spec's id."""
    return sorted(files("specs"), key=lambda file: file.name)


def tables() -> dict[str, Any] | None:
    """Return the session's own hardware as tables by kind and id, for a service; None without any."""
    own = catalogue()
    result: dict[str, Any] = {}
    for file in specs():
        if (kind := own.kind_of(file.stem)) is not None:
            spec = own.spec(kind, file.stem)
            result.setdefault(kind, {})[spec.id] = spec.model_dump(mode="json", exclude_defaults=True)
    return result or None


def profile() -> str | None:
    """Return the path of the session's profile; None if none is in use."""
    return next(map(str, files("profile")), None)


def calibration() -> str | None:
    """Return the path of the session's own calibration; None if none is in use."""
    return next(map(str, files("calibration")), None)


def own_files(page: str = "predict") -> dict[str, str]:
    """Return the options of a scenario that name the session's own files, with paths, as a page uses them."""
    named = {"profile": profile(), "calibration": calibration()}
    return {name: path for name, path in named.items() if path is not None and name in USED.get(page, ())}


def own_texts() -> tuple[str, ...]:
    """Return the texts of the session's own hardware, profile and calibration, for keys of caches."""
    texts = [*specs(), *map(Path, own_files().values())]
    return tuple(file.read_text("utf-8") for file in texts)


def own_names() -> dict[str, str]:
    """Return ``own_files`` with file names in place of paths."""
    return {name: Path(path).name for name, path in own_files().items()}


def catalogue_words(start: str = "") -> str:
    """Return Python code of the session's catalogue, after ``start``; "" if it has no hardware of its own."""
    names = [file.name for file in specs()]
    return f"{start}Catalogue({names!r})" if names else ""


def law_of(file: Path) -> Empirical:
    """Return the empirical distribution of the measured times in a file.

    Raises
    ------
    InputError : the file has no times
    """
    law = distribution("empirical", file=file)
    assert isinstance(law, Empirical)
    return replace(law, source=file.name)


def sample() -> Empirical | None:
    """Return the empirical distribution of the session's own times, read once; None without any."""
    file = next(iter(files("times")), None)
    if file is None:
        return None
    if st.session_state.get("sample", (None,))[0] != file:
        st.session_state["sample"] = (file, law_of(file))
    result: Empirical = st.session_state["sample"][1]
    return result
