"""Escapes untrusted text for Streamlit, which then shows it literally and not as Markdown.

Paths of the user's own files are shortened to their names, without the server's folder.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

from app.session_hardware import without_folder
from perfmodel.core.sentences import NO_BREAK, beside_its_number

_MARKS = re.compile(r"([\\`*_\[\]<>$~!|&]|:(?=[A-Za-z]))|^([ \t]*\d*)([#+=.)-])(?=[\s#=-])", re.MULTILINE)
"""Matches characters with a meaning in Markdown: anywhere, or at the start of a line."""
_JOINED = re.compile(r"(?<=:)(?=//|[\w+-]+:|material/)|(?<=[wW]{3})(?=\.)|(?=@[\w-]+\.)")
"""Matches positions in addresses and emoji codes, which Streamlit recognises even if escaped."""
_BREAK = "\u2060"
"""The word joiner, which has no width; with it inside, an address is not recognised."""
_INTERVAL = re.compile(r"(?<=\d) (?=x\b|to \d)|(?<=\d to) (?=\d)|(?<=80\u00a0%:) (?=[\d$])")
"""Matches the spaces inside an interval, and between a number and its ``x``."""
_TO = re.compile(r"(?<=\d)-(?=[\d.,]*\d\u00a0)")
"""Matches the hyphen of a range with a unit."""


def unbroken(text: str) -> str:
    """Return text in which no line begins with the unit of a number or breaks an interval.

    >>> unbroken("8 x as fast (80 %: 1 to 9), 3-4 s").encode("ascii", "replace").decode()
    '8?x as fast (80?%:?1?to?9), 3?-?4?s'
    """
    return _INTERVAL.sub(NO_BREAK, _TO.sub(f"{_BREAK}-{_BREAK}", beside_its_number(text)))


def plain(text: str) -> str:
    r"""Return text escaped so that a page shows it literally.

    >>> plain("![x](y) of 8:red"), plain("1. #1")
    ('\\!\\[x\\](y) of 8\\:red', '1\\. #1')
    >>> plain("http://192.0.2.1") == "http:" + "\u2060" + "//192.0.2.1"
    True
    """
    joined = _JOINED.sub(_BREAK, unbroken(without_folder(text)))
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
        cells = [unbroken(row[name].replace("\n", " ")) for name in names]
        lines.append([cell.replace(" ", NO_BREAK) if len(cell) <= SHORT else cell for cell in cells])
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)
