"""Shows untrusted text letter by letter, never as Markdown, which could link or load something.

Files of a session's own are named as their owner knows them, without the server's folder.
"""

from __future__ import annotations

import re

from app.session_hardware import without_folder

_MARKS = re.compile(r"([\\`*_\[\]<>$~!|]|:(?=//)|\.(?<=www\.))")


def plain(text: str) -> str:
    r"""Return text that a page shows letter by letter.

    >>> plain("![x](http://192.0.2.1/x.png)")
    '\\!\\[x\\](http\\://192.0.2.1/x.png)'
    """
    return _MARKS.sub(r"\\\1", without_folder(text))
