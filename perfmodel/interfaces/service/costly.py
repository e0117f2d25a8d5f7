"""What a process of the pool does: it answers one request after another, within its memory."""

from __future__ import annotations

import contextlib
import gc
import math
import os
import signal
import sys
import traceback
from collections.abc import Callable, Sequence
from typing import Any

from pebble import CONSTS

from perfmodel.core.errors import InputError
from perfmodel.interfaces.service import commands
from perfmodel.interfaces.service.logs import event, to_standard_error
from perfmodel.interfaces.service.outcomes import Failed
from perfmodel.interfaces.service.problems import Refused
from perfmodel.interfaces.service.settings import Settings
from perfmodel.interfaces.service.shares import WHOLE, Share
from perfmodel.interfaces.service.streams import stream_of

MOST_REPLY = 100_000_000
"""Bytes of an answer."""
RARELY = 50_000
"""Objects allocated, less those freed, between two collections of garbage."""
GRACE = 5
"""Seconds beyond the time limit after which a process ends itself: the service, which would have, is gone."""
Function = Callable[..., Any]
PIPE_SECONDS = 10.0
"""Time that a process may hold the pipe it shares: one that was killed there would hold it for ever."""


def prepare(memory_bytes: int, nice: int) -> None:
    """Get a new process ready: what its memory may hold, and who comes before it."""
    CONSTS.channel_lock_timeout = PIPE_SECONDS
    os.setsid()  # signals of a terminal are for the service, which ends its processes when they are done
    signal.signal(signal.SIGTERM, signal.SIG_DFL)
    os.dup2(sys.stderr.fileno(), sys.stdout.fileno())
    to_standard_error()
    gc.freeze()
    gc.set_threshold(RARELY, 10, 10)
    with contextlib.suppress(OSError):
        os.nice(nice)
    _limit_memory(memory_bytes)


def answer(settings: Settings, name: str, body: bytes, share: Share = WHOLE) -> bytes:
    """Return the answer of a command, of a batch its share.

    Raises
    ------
    Refused : the body is not what the command takes
    """
    return commands.answer(name, body, settings.candidates, share)


def stream(settings: Settings, name: str, body: bytes, form: str, path: str) -> bytes:
    """Write the answer of a command in parts to a pipe; return nothing more."""
    with open(path, "wb") as pipe:
        for part in stream_of(form, body, settings.seconds, settings.candidates):
            pipe.write(part)
            pipe.flush()
    return b""


def calculate(function: Function, settings: Settings, *arguments: Any) -> bytes:
    """Return what a function does, or raise what can travel to another process.

    Raises
    ------
    MemoryError : it met the limit
    InputError : what is wrong with the request
    Failed : an error that nobody foresaw, which is logged here
    """
    signal.alarm(math.ceil(settings.seconds) + GRACE)
    try:
        whole: bytes = function(settings, *arguments)
        if len(whole) > MOST_REPLY:
            raise Refused(f"the answer would be longer than {MOST_REPLY:,} bytes; ask for less")
        return whole
    except Exception as error:
        raise _travelling(error, arguments[0]) from None
    finally:
        signal.alarm(0)


def together(function: Function, settings: Settings, asked: Sequence[tuple[str, bytes]]) -> list[Any]:
    """Return what a function answers to each of several requests, or the error in its place."""
    answers: list[Any] = []
    for name, body in asked:
        try:
            answers.append(calculate(function, settings, name, body))
        except Exception as error:
            answers.append(error)
    return answers


def nothing() -> None:
    """What a process answers that lives."""


def _travelling(error: Exception, name: str) -> Exception:
    # a command has put the lack of memory into words
    if isinstance(error, MemoryError) or isinstance(error.__context__, MemoryError):
        return MemoryError()
    if isinstance(error, RecursionError):
        return Refused("nested too deeply")
    if isinstance(error, Refused):
        return error
    if isinstance(error, InputError):
        return error
    event("calculation failed", "error", command=name, traceback=traceback.format_exc())
    return Failed(f"{type(error).__name__}: {error}")


def _limit_memory(memory_bytes: int) -> None:
    """Have allocations beyond the limit fail, in this process alone; where the system cannot, nothing is."""
    try:
        import resource
    except ImportError:
        return
    for kind in (resource.RLIMIT_DATA, resource.RLIMIT_CORE):
        most = memory_bytes if kind == resource.RLIMIT_DATA else 0
        with contextlib.suppress(OSError, ValueError):
            resource.setrlimit(kind, (most, most))
