"""Depth of nested brackets in JSON, checked before a recursive parser reads it."""

from __future__ import annotations

import numpy as np

_SQUARE = bytes.maketrans(b"{}", b"[]")
_OTHERS = bytes(set(range(256)) - set(b'[]{}"'))
_STEPS = bytes.maketrans(b'[]"', b"\x01\xff\x00")  # as int8: 1, -1 and 0


def nests_deeper(body: bytes, deepest: int) -> bool:
    """Return whether brackets nest deeper than a limit, in time linear in the length of the body.

    Brackets in texts do not count.  In a body that is not JSON, the count is exact for the part that a parser
    reads before it fails.

    >>> nests_deeper(b'{"a": [1, [2]]}', 3), nests_deeper(b'{"a": [1, [2]]}', 2), nests_deeper(b'["[[["]', 1)
    (False, True, False)
    """
    if body.count(b"[") + body.count(b"{") <= deepest:
        return False
    unescaped = body.replace(b"\\\\", b"").replace(b'\\"', b"")  # every quote left begins or ends a text
    marks = unescaped.translate(_SQUARE, _OTHERS)
    texts = np.cumsum(np.frombuffer(marks, np.uint8) == ord('"'), dtype=np.uint8) & 1  # 1 inside of one
    steps = np.frombuffer(marks.translate(_STEPS), np.int8) * (1 - texts.view(np.int8))
    return bool(np.cumsum(steps, dtype=np.int32).max(initial=0) > deepest)
