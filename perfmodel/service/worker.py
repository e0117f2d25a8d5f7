"""One process of the pool: ``python -m perfmodel.service.worker TARGET SECONDS BYTES``.

It reads requests from standard input, calculates one after another, and writes answers to what was its
standard output; whatever else is printed goes to standard error.  It ends with its input: with its parent.
"""

from __future__ import annotations

import contextlib
import gc
import math
import os
import pickle
import signal
import struct
import sys
import traceback
from collections.abc import Callable, Iterator
from importlib import import_module
from typing import BinaryIO

from perfmodel.errors import InputError
from perfmodel.service.logs import event, to_standard_error

READY, PART, ANSWER, ERROR, MEMORY = b"R", b"P", b"A", b"E", b"M"
"""What a message of a worker is."""
REQUEST = struct.Struct(">IQ")
"""Bytes of a command's name, bytes of its body."""
REPLY = struct.Struct(">cQ")
"""What it is, bytes that follow."""
NICE = 10
"""Predictions, which the parent answers itself, come first."""
RARELY = 50_000
"""Objects allocated, less those freed, between two collections of garbage."""
GRACE = 5
"""Seconds beyond the time limit after which a worker ends itself: its parent, which would have, is gone."""


def main(target: str, seconds: float, memory_bytes: int) -> None:
    """Answer until the input ends."""
    replies = os.fdopen(os.dup(sys.stdout.fileno()), "wb")
    os.dup2(sys.stderr.fileno(), sys.stdout.fileno())
    for number in (signal.SIGINT, signal.SIGTERM):  # a terminal and systemd send them to every process
        signal.signal(number, signal.SIG_IGN)
    to_standard_error()
    module, _, function = target.partition(":")
    answer = getattr(import_module(module), function)
    gc.collect()
    gc.freeze()
    gc.set_threshold(RARELY, 10, 10)
    with contextlib.suppress(OSError):  # only now: one that was killed is missed until it is back
        os.nice(NICE)
    _limit_memory(memory_bytes)
    _write(replies, READY, b"")
    while head := sys.stdin.buffer.read(REQUEST.size):
        name_size, body_size = REQUEST.unpack(head)
        name = sys.stdin.buffer.read(name_size).decode()
        body = sys.stdin.buffer.read(body_size)
        signal.alarm(math.ceil(seconds) + GRACE)
        kind, reply = _reply(answer, name, body, replies)
        signal.alarm(0)
        _write(replies, kind, reply)


def _reply(
    answer: Callable[[str, bytes], bytes | Iterator[bytes]], name: str, body: bytes, replies: BinaryIO
) -> tuple[bytes, bytes]:
    """Return how an answer ends; the parts of one that has parts are written before."""
    try:
        whole = answer(name, body)
        if isinstance(whole, bytes):
            return ANSWER, whole
        for part in whole:
            _write(replies, PART, part)
        return ANSWER, b""
    except MemoryError:
        return MEMORY, b""
    except RecursionError:
        from perfmodel.service.problems import Refused

        return ERROR, pickle.dumps(Refused("nested too deeply"))
    except Exception as error:
        if isinstance(error.__context__, MemoryError):  # which the command has put into words
            return MEMORY, b""
        if not isinstance(error, InputError):
            event("calculation failed", "error", command=name, traceback=traceback.format_exc())
        return ERROR, _pickled(error)


def _pickled(error: Exception) -> bytes:
    """Return an error for the parent to raise; one that cannot travel becomes a plain one with its words."""
    try:
        pickled = pickle.dumps(error)
        pickle.loads(pickled)
    except Exception:
        plain = InputError if isinstance(error, InputError) else RuntimeError
        pickled = pickle.dumps(plain(str(error)))
    return pickled


def _write(replies: BinaryIO, kind: bytes, reply: bytes) -> None:
    replies.write(REPLY.pack(kind, len(reply)))
    replies.write(reply)
    replies.flush()


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


if __name__ == "__main__":
    main(sys.argv[1], float(sys.argv[2]), int(sys.argv[3]))
