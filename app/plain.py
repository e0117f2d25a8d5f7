"""Shows untrusted text letter by letter, never as Markdown, which could link or load something.

Files of a session's own are named as their owner knows them, without the server's folder.
"""

from __future__ import annotations

import re

from app.session_hardware import without_folder

_MARKS = re.compile(r"([\\`*_\[\]<>$~!|&]|:(?=[A-Za-z]))|^([ \t]*\d*)([#+=.)-])(?=[\s#=-])", re.MULTILINE)
"""What Markdown gives a meaning to: anywhere, or at the start of a line."""
_JOINED = re.compile(r"(?<=:)(?=//|[\w+-]+:|material/)|(?<=[wW]{3})(?=\.)|(?=@[\w-]+\.)")
"""Where the browser takes text for an address or an emoji even if every mark is escaped."""
_BREAK = "\u2060"
"""The word joiner, which has no width: an address with it in it is none."""


def plain(text: str) -> str:
    r"""Return text that a page shows letter by letter.

    >>> plain("![x](y) of 8:red"), plain("1. #1")
    ('\\!\\[x\\](y) of 8\\:red', '1\\. #1')
    >>> plain("http://192.0.2.1") == "http:" + "\u2060" + "//192.0.2.1"
    True
    """
    joined = _JOINED.sub(_BREAK, without_folder(text))
    return _MARKS.sub(lambda mark: f"\\{mark[1]}" if mark[1] else f"{mark[2]}\\{mark[3]}", joined)
