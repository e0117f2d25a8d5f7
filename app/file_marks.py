"""Which files of one's own an answer uses, as the address of a page marks them: by kind, name and digest.

An address holds no file.  Who opens it without the files must not get the answer to another question, so it
names them: ``own-calibration=mine.json~1f2e3d4c``.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Literal, NamedTuple

import streamlit as st

Kind = Literal["specs", "calibration", "profile", "network", "quote", "times", "trace"]
USED: dict[str, tuple[Kind, ...]] = {
    **dict.fromkeys(("predict", "scale", "compare", "sensitivity"), ("specs", "calibration", "profile")),
    "plan": ("specs", "calibration"),
    "quote": ("specs", "calibration", "quote"),
    "transformers": ("specs", "network"),
    "communication": ("specs",),
    "hardware": ("specs",),
    **dict.fromkeys(("compression", "downpour", "servers"), ("specs",)),
    "stragglers": ("times",),
    "trace": ("specs", "calibration", "profile", "trace"),
}
"""Pages -> what their answers use."""
DIGITS = 8
"""Of a digest: files that differ by chance have the same once in four thousand million."""
_PREFIX, _BETWEEN = "own-", "~"
_MARK = re.compile(rf"(.+?){_BETWEEN}([0-9a-f]{{{DIGITS}}})(?:,|$)")
_IN_USE, _EMPTIED = "own-in-use", "own-emptied"


class Mark(NamedTuple):
    """What an address says of one file."""

    name: str
    digest: str
    """Of what is in it; empty where an address says none."""


def mark_of(name: str, content: bytes, is_text: bool = True) -> Mark:
    """Return the mark of a file; of a text without what editors and systems change at the ends of lines.

    >>> mark_of("a.json", b"{}"), mark_of("b.json", b"{} \\r\\n").digest == mark_of("a.json", b"{}").digest
    (Mark(name='a.json', digest='44136fa3'), True)
    """
    if is_text:
        content = b"\n".join(line.rstrip() for line in content.splitlines()).strip()
    return Mark(name, hashlib.sha256(content).hexdigest()[:DIGITS])


def written(marks: Iterable[Mark]) -> str:
    """Return what an address says of files.

    >>> written([Mark("my gpu.toml", "0123abcd"), Mark("b.toml", "44136fa3")])
    'my gpu.toml~0123abcd,b.toml~44136fa3'
    """
    return ",".join(f"{mark.name}{_BETWEEN}{mark.digest}" for mark in marks)


def read(text: str) -> tuple[Mark, ...]:
    """Return the files that an address names; of a text that is no mark, a file of that name.

    >>> read("my gpu.toml~0123abcd,b.toml~44136fa3")
    (Mark(name='my gpu.toml', digest='0123abcd'), Mark(name='b.toml', digest='44136fa3'))
    >>> read("mine.json"), read("")
    ((Mark(name='mine.json', digest=''),), ())
    """
    marks = [Mark(*match.groups()) for match in _MARK.finditer(text)]
    whole = written(marks) == text
    return tuple(marks) if whole else (Mark(text, ""),)


def parameter(kind: Kind) -> str:
    """Return the query parameter of a kind of file."""
    return f"{_PREFIX}{kind}"


def in_use(kind: Kind) -> tuple[Mark, ...]:
    """Return the files of a kind that answers use, or would if the session had them."""
    result: tuple[Mark, ...] = st.session_state.get(_IN_USE, {}).get(kind, ())
    return result


def use(kind: Kind, marks: Sequence[Mark], empties: bool = True) -> None:
    """Use these files of a kind from now on, and no others.

    Parameters
    ----------
    empties : whether the field that files are handed over in is emptied, as it holds others
    """
    session = st.session_state
    session[_IN_USE] = {**session.get(_IN_USE, {}), kind: tuple(marks)}
    if empties:
        session[_EMPTIED] = {**session.get(_EMPTIED, {}), kind: emptied(kind) + 1}


def emptied(kind: Kind) -> int:
    """Return how often the field of a kind was emptied; a field that was is another field."""
    return int(st.session_state.get(_EMPTIED, {}).get(kind, 0))


def parameters(page: str) -> set[str]:
    """Return the query parameters by which the address of a page names files."""
    return {parameter(kind) for kind in USED.get(page, ())}


def take_address(page: str) -> None:
    """Use the files that the address of a page names, and no others of the kinds that it could name."""
    for kind in USED.get(page, ()):
        marks = read(",".join(st.query_params.get_all(parameter(kind))))
        if marks != in_use(kind):
            use(kind, marks)


def said(page: str) -> dict[str, str]:
    """Return what the address of a page says of files."""
    return {parameter(kind): written(in_use(kind)) for kind in USED.get(page, ()) if in_use(kind)}


def go(page: str, query: Mapping[str, str]) -> None:
    """Go to a page that answers with the files in use; a network of the query takes a file's place."""
    marks = said(page)
    if "workload" in query:
        marks.pop(parameter("network"), None)
    st.switch_page(f"views/{page}.py", query_params={**query, **marks})
