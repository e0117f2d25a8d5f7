"""One piece of work, in a process of its own: a question's file in, an answer's file out."""

from __future__ import annotations

import contextlib
import math
import os
import pickle
import signal
from pathlib import Path
from typing import Any

from perfmodel.core.errors import InputError

NICE = 5
"""Pages, which the app draws itself, come first."""
GRACE = 5
"""Seconds beyond the longest time after which a process ends itself: the app, which would have, is gone."""


def main(question: str, result: str, longest: str, memory: str) -> None:
    """Answer a question's file within a time [s] and a memory [B]."""
    _limit(float(longest), int(memory))
    work(question, result)


def work(question: str, result: str) -> None:
    """Answer a question's file: whether it is an answer, and that or what is wrong with the question."""
    call, arguments = pickle.loads(Path(question).read_bytes())  # written by the app
    answer: tuple[bool, Any]
    try:
        answer = True, call(*arguments)
    except InputError as error:
        answer = False, error
    except MemoryError:
        answer = False, InputError("it takes more memory than one question may: ask for less at once")
    written = Path(f"{result}.partial")
    written.write_bytes(pickle.dumps(answer))
    written.replace(result)


def _limit(longest: float, memory: int) -> None:
    """Bound this process, as far as the system can."""
    if hasattr(signal, "alarm"):
        signal.alarm(math.ceil(longest) + GRACE)
    with contextlib.suppress(OSError, AttributeError):
        os.nice(NICE)
    try:
        import resource
    except ImportError:
        return
    with contextlib.suppress(OSError, ValueError):
        resource.setrlimit(resource.RLIMIT_DATA, (memory, memory))
