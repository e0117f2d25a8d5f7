"""Escapes untrusted text for Streamlit, which then shows it literally and not as Markdown.

Paths of the user's own files are shortened to their names, without the server's folder.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

from app.session_hardware import without_folder
from perfmodel.core.sentences import beside_its_number

_MARKS = re.compile(r"([\\`*_\[\]<>$~!|&]|:(?=[A-Za-z]))|^([ \t]*\d*)([#+=.)-])(?=[\s#=-])", re.MULTILINE)
"""Matches characters with a meaning in Markdown: anywhere, or at the start of a line."""
_JOINED = re.compile(r"(?<=:)(?=//|[\w+-]+:|material/)|(?<=[wW]{3})(?=\.)|(?=@[\w-]+\.)")
"""Matches positions in addresses and emoji codes, which Streamlit recognises even if escaped."""
_BREAK = "\u2060"
"""The word joiner, which has no width; with it inside, an address is not recognised."""


def plain(text: str) -> str:
    r"""Return text escaped so that a page shows it literally.

    >>> plain("![x](y) of 8:red"), plain("1. #1")
    ('\\!\\[x\\](y) of 8\\:red', '1\\. #1')
    >>> plain("http://192.0.2.1") == "http:" + "\u2060" + "//192.0.2.1"
    True
    """
    joined = _JOINED.sub(_BREAK, beside_its_number(without_folder(text)))
    return _MARKS.sub(lambda mark: f"\\{mark[1]}" if mark[1] else f"{mark[2]}\\{mark[3]}", joined)


SHORT = 12
"""Most characters of a cell that is not broken into lines."""


def markdown(rows: Sequence[Mapping[str, str]], right: Sequence[str] = ()) -> str:
    """Return rows of texts, which may have links, as a table in Markdown.

    Parameters
    ----------
    rows : column -> text, escaped by ``plain`` where somebody else wrote it; all with the same columns
    right : columns that end at the right

    >>> print(markdown([{"number": "peak", "value": "125"}], right=["value"]))
    | number | value |
    | --- | --: |
    | peak | 125 |
    """
    names = [*rows[0]]
    lines = [names, ["--:" if name in right else "---" for name in names]]
    for row in rows:
        cells = [beside_its_number(row[name].replace("\n", " ")) for name in names]
        lines.append([cell.replace(" ", "\u00a0") if len(cell) <= SHORT else cell for cell in cells])
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)
