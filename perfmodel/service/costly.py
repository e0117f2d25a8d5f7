"""What a process of the pool calculates: a whole answer, or one in parts."""

from __future__ import annotations

import os
from collections.abc import Iterator
from functools import cache

from perfmodel.service import commands
from perfmodel.service.settings import Settings, of_environment
from perfmodel.service.shares import Share
from perfmodel.service.streams import stream_of


def answer(name: str, body: bytes) -> bytes | Iterator[bytes]:
    """Return the answer of a command; where its name is followed by a form, in parts of that form.

    Where a share of a batch follows, that share of the answer.

    Raises
    ------
    Refused : the body is not what the command takes
    """
    command, _, form = name.partition(" ")
    allowed = _settings()
    if share := Share.named(form):
        return commands.answer(command, body, allowed.candidates, share)
    if form:
        return stream_of(form, body, allowed.seconds, allowed.candidates)
    return commands.answer(command, body, allowed.candidates)


@cache
def _settings() -> Settings:
    """Return the settings of the pool, which every process of it is started with."""
    return of_environment(os.environ)
