"""How deep brackets nest in JSON, before a parser that would call itself for each."""

from __future__ import annotations

import re

_TEXT = re.compile(rb'"[^"\\]*(?:\\.[^"\\]*)*"', re.DOTALL)
_SQUARE = bytes.maketrans(b"{}", b"[]")
_OTHERS = bytes(set(range(256)) - set(b"[]{}"))


def nests_deeper(body: bytes, deepest: int) -> bool:
    """Whether brackets nest deeper than so many, or so many are left over without their other half.

    Each round takes away the innermost pairs, so that there are as many rounds as levels.

    >>> nests_deeper(b'{"a": [1, [2]]}', 3), nests_deeper(b'{"a": [1, [2]]}', 2), nests_deeper(b'["[[["]', 1)
    (False, True, False)
    """
    if body.count(b"[") + body.count(b"{") <= deepest:
        return False
    brackets = _TEXT.sub(b"", body).translate(_SQUARE, _OTHERS)
    for _ in range(deepest):
        if not brackets:
            return False
        brackets = brackets.replace(b"[]", b"")
    return len(brackets) > 0
