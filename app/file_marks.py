"""Marks of a user's files in the address of a page: kind, name and digest.

An address does not contain the files.  Whoever opens it without them must not get the answer to another
question, so it names them: ``own-calibration=mine.json~1f2e3d4c``.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Literal, NamedTuple

import streamlit as st

Kind = Literal["specs", "calibration", "profile", "network", "quote", "times", "trace", "measured", "runs"]
USED: dict[str, tuple[Kind, ...]] = {
    **dict.fromkeys(
        ("predict", "scale", "compare", "sensitivity", "fits"), ("specs", "calibration", "profile")
    ),
    "diagnose": ("specs", "calibration", "profile", "measured"),
    **dict.fromkeys(("plan", "fleets"), ("specs", "calibration")),
    "quote": ("specs", "calibration", "quote"),
    "transformers": ("specs", "network"),
    "runs": ("specs", "runs"),
    "communication": ("specs",),
    "hardware": ("specs",),
    **dict.fromkeys(("compression", "downpour", "servers"), ("specs",)),
    "stragglers": ("times",),
    "trace": ("specs", "calibration", "profile", "trace"),
}
"""Page -> kinds of files that its answers use."""
DIGITS = 8
"""Hexadecimal digits of a digest; two different files share one with a probability of 1 in 4e9."""
_PREFIX, _BETWEEN = "own-", "~"
_MARK = re.compile(rf"(.+?){_BETWEEN}([0-9a-f]{{{DIGITS}}})(?:,|$)")
_IN_USE, _EMPTIED = "own-in-use", "own-emptied"


class Mark(NamedTuple):
    """Name and digest of one file."""

    name: str
    digest: str
    """Of the content; empty if an address has only a name."""


def mark_of(name: str, content: bytes, is_text: bool = True) -> Mark:
    """Return the mark of a file; the digest of a text ignores line ends and trailing blanks.

    >>> mark_of("a.json", b"{}"), mark_of("b.json", b"{} \\r\\n").digest == mark_of("a.json", b"{}").digest
    (Mark(name='a.json', digest='44136fa3'), True)
    """
    if is_text:
        content = b"\n".join(line.rstrip() for line in content.splitlines()).strip()
    return Mark(name, hashlib.sha256(content).hexdigest()[:DIGITS])


def marks_text(marks: Iterable[Mark]) -> str:
    """Return marks as text for an address.

    >>> marks_text([Mark("my gpu.toml", "0123abcd"), Mark("b.toml", "44136fa3")])
    'my gpu.toml~0123abcd,b.toml~44136fa3'
    >>> marks_text(read_marks("mine.json"))
    'mine.json'
    """
    return ",".join(f"{mark.name}{_BETWEEN}{mark.digest}" if mark.digest else mark.name for mark in marks)


def read_marks(text: str) -> tuple[Mark, ...]:
    """Return the marks in the text of an address; any other text is a file name without a digest.

    >>> read_marks("my gpu.toml~0123abcd,b.toml~44136fa3")
    (Mark(name='my gpu.toml', digest='0123abcd'), Mark(name='b.toml', digest='44136fa3'))
    >>> read_marks("mine.json"), read_marks("")
    ((Mark(name='mine.json', digest=''),), ())
    """
    marks = [Mark(*match.groups()) for match in _MARK.finditer(text)]
    whole = marks_text(marks) == text
    return tuple(marks) if whole else (Mark(text, ""),)


def parameter(kind: Kind) -> str:
    """Return the name of the query parameter for a kind of file."""
    return f"{_PREFIX}{kind}"


def in_use(kind: Kind) -> tuple[Mark, ...]:
    """Return the marks of the files of a kind in use, whether the session has them or not."""
    result: tuple[Mark, ...] = st.session_state.get(_IN_USE, {}).get(kind, ())
    return result


def use(kind: Kind, marks: Sequence[Mark], empties: bool = True) -> None:
    """Use exactly these files of a kind from now on.

    Parameters
    ----------
    kind, marks : of the files
    empties : whether to empty the upload field, which holds other files
    """
    session = st.session_state
    session[_IN_USE] = {**session.get(_IN_USE, {}), kind: tuple(marks)}
    if empties:
        session[_EMPTIED] = {**session.get(_EMPTIED, {}), kind: times_emptied(kind) + 1}


def times_emptied(kind: Kind) -> int:
    """Return how often the upload field of a kind was emptied; the number is part of the widget's key."""
    return int(st.session_state.get(_EMPTIED, {}).get(kind, 0))


def parameters(page: str) -> set[str]:
    """Return the query parameters for files in the address of a page."""
    return {parameter(kind) for kind in USED.get(page, ())}


def take_address(page: str) -> None:
    """Use exactly the files that the current address of a page names."""
    for kind in USED.get(page, ()):
        marks = read_marks(",".join(st.query_params.get_all(parameter(kind))))
        if marks != in_use(kind):
            use(kind, marks)


def query_of(page: str) -> dict[str, str]:
    """Return the query parameters of a page for the files in use, with their texts."""
    return {parameter(kind): marks_text(in_use(kind)) for kind in USED.get(page, ()) if in_use(kind)}


def go_to(page: str, query: Mapping[str, str]) -> None:
    """Switch to a page with a query and the files in use; a network in the query replaces an uploaded one."""
    marks = query_of(page)
    if "workload" in query:
        marks.pop(parameter("network"), None)
    st.switch_page(f"views/{page}.py", query_params={**query, **marks})


def examples(of: Mapping[str, tuple[str, Mapping[str, str]]]) -> None:
    """Draw a button for each example: question -> the page that answers it, and its query."""
    with st.container(horizontal=True):
        for question, (page, query) in of.items():
            if st.button(question, key=f"preset-{question}"):
                go_to(page, query)
