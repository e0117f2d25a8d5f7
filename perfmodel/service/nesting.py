"""How deep brackets nest in JSON, before a parser that would call itself for each."""

from __future__ import annotations

import numpy as np

_SQUARE = bytes.maketrans(b"{}", b"[]")
_OTHERS = bytes(set(range(256)) - set(b'[]{}"'))
_STEPS = np.zeros(256, np.int8)
_STEPS[[ord("["), ord("]")]] = 1, -1


def nests_deeper(body: bytes, deepest: int) -> bool:
    """Return whether brackets nest deeper than a limit, in time linear in the length of the body.

    Brackets in texts do not count.  Of a body that is no JSON, the part that a parser reads before it finds
    that out is counted exactly.

    >>> nests_deeper(b'{"a": [1, [2]]}', 3), nests_deeper(b'{"a": [1, [2]]}', 2), nests_deeper(b'["[[["]', 1)
    (False, True, False)
    """
    if body.count(b"[") + body.count(b"{") <= deepest:
        return False
    unescaped = body.replace(b"\\\\", b"").replace(b'\\"', b"")  # every quote left begins or ends a text
    marks = np.frombuffer(unescaped.translate(_SQUARE, _OTHERS), np.uint8)
    outside = ~np.cumsum(marks == ord('"'), dtype=np.uint8) & 1
    depths = np.cumsum(_STEPS[marks] * outside.view(np.int8), dtype=np.int32)
    return bool(depths.max(initial=0) > deepest)
