"""Process that runs one computation: it reads a file with the call and writes one with the result."""

from __future__ import annotations

import contextlib
import math
import os
import pickle
import signal
from functools import partial
from pathlib import Path
from typing import Any

from perfmodel.core.errors import InputError
from perfmodel.core.progress import watched

NICE = 5
"""Niceness of the process, so that drawing pages has priority."""
PROGRESS = ".progress"
"""Suffix of the file that says how far a call is, beside that of its answer."""
GRACE = 5
"""Time after the limit at which a process ends itself [s], in case the app that should end it is gone."""


def main(question: str, result: str, longest: str, memory: str) -> None:
    """Run the call in a file under limits of time and memory.

    Parameters
    ----------
    question, result : paths of the file with the call, and of that to write
    longest, memory : limits [s], [B]
    """
    _limit(float(longest), int(memory))
    work(question, result)


def work(question: str, result: str) -> None:
    """Run the call in a file; write (True, result) or (False, InputError)."""
    call, arguments = pickle.loads(Path(question).read_bytes())  # written by the app
    answer: tuple[bool, Any]
    try:
        with watched(partial(_tell, Path(result).with_suffix(PROGRESS))):
            answer = True, call(*arguments)
    except InputError as error:
        answer = False, error
    except MemoryError:
        answer = False, InputError("it needs more memory than one request may use: request less at once")
    written = Path(f"{result}.partial")
    written.write_bytes(pickle.dumps(answer))
    written.replace(result)


def _tell(file: Path, done: int, total: int) -> None:
    """Write how far the call is, for the page that waits."""
    written = file.with_suffix(".partial-progress")
    written.write_text(f"{done:,} of {total:,}")
    written.replace(file)


def _limit(longest: float, memory: int) -> None:
    """Limit the time [s] and memory [B] of this process, as far as the system supports it."""
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
