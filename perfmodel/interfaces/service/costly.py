"""Functions that run in the processes of the pool, one request after another, within a memory limit."""

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
"""Largest answer [B]."""
RARELY = 50_000
"""Allocations, less deallocations, between two garbage collections."""
GRACE = 5
"""Time beyond the limit after which a process ends itself, since the service no longer exists [s]."""
Function = Callable[..., Any]
PIPE_SECONDS = 10.0
"""Longest wait for the shared pipe [s]: a process that was killed while using it would block it for ever."""


def prepare(memory_bytes: int, nice: int) -> None:
    """Set up a new process: memory limit, priority, signals and output."""
    CONSTS.channel_lock_timeout = PIPE_SECONDS
    # signals of a terminal are for the service, which ends its processes when they are done; not a session of
    # their own: Linux shares processors between sessions first, whatever their niceness
    os.setpgrp()
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
    Refused : a body that is not valid for the command
    """
    return commands.answer(name, body, settings.candidates, share)


def stream(settings: Settings, name: str, body: bytes, form: str, path: str) -> bytes:
    """Write the answer of a command in parts to a named pipe; return nothing further."""
    with open(path, "wb") as pipe:
        for part in stream_of(name, form, body, settings.seconds, settings.candidates):
            pipe.write(part)
            pipe.flush()
    return b""


def calculate(function: Function, settings: Settings, *arguments: Any) -> bytes:
    """Return the result of a function, or raise an error that can be sent to another process.

    Raises
    ------
    MemoryError : the memory limit was reached
    InputError : an invalid request
    Failed : an unexpected error, which is logged here
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


def together(function: Function, settings: Settings, requests: Sequence[tuple[str, bytes]]) -> list[Any]:
    """Return the answer of a function to each of several requests, or the error in its place."""
    answers: list[Any] = []
    for name, body in requests:
        try:
            answers.append(calculate(function, settings, name, body))
        except Exception as error:
            answers.append(error)
    return answers


def nothing() -> None:
    """Do nothing, to check that a process is alive."""


def _travelling(error: Exception, name: str) -> Exception:
    """Return an error that can be sent to another process, with unexpected ones logged."""
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
    """Limit the memory of this process, so that allocations fail beyond it; no effect where unsupported."""
    try:
        import resource
    except ImportError:
        return
    for kind in (resource.RLIMIT_DATA, resource.RLIMIT_CORE):
        most = memory_bytes if kind == resource.RLIMIT_DATA else 0
        with contextlib.suppress(OSError, ValueError):
            resource.setrlimit(kind, (most, most))
