"""Shows untrusted text letter by letter, never as Markdown, which could link or load something."""

from __future__ import annotations

import re

_MARKS = re.compile(r"([\\`*_\[\]<>$~!|]|:(?=//)|\.(?<=www\.))")


def plain(text: str) -> str:
    r"""Return text that a page shows letter by letter.

    >>> plain("![x](http://192.0.2.1/x.png)")
    '\\!\\[x\\](http\\://192.0.2.1/x.png)'
    """
    return _MARKS.sub(r"\\\1", text)
