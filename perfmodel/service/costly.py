"""What a process of the pool calculates: a whole answer, or one in parts."""

from __future__ import annotations

import math
from collections.abc import Iterator

from perfmodel.service import commands
from perfmodel.service.streams import stream_of


def answer(name: str, body: bytes) -> bytes | Iterator[bytes]:
    """Return the answer of a command; where its name is followed by a form, in parts of that form.

    The time limit is the pool's.

    Raises
    ------
    Refused : the body is not what the command takes
    """
    command, _, form = name.partition(" ")
    return stream_of(form, body, math.inf) if form else commands.answer(command, body)
