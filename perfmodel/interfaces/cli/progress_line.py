"""How far a search is, on one line of the terminal's error stream, which goes away at the end."""

from __future__ import annotations

import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager

from perfmodel.core.progress import watched

OFTEN = 0.2
"""Time between two writings of the line [s]."""
AFTER = 1.0
"""Time before the first: of shorter searches nothing is shown [s]."""


@contextmanager
def progress_line() -> Iterator[None]:
    """Show the progress of what runs inside the ``with`` block, where stderr is a terminal."""
    if not sys.stderr.isatty():
        yield
        return
    start = written = time.monotonic()

    def tell(done: int, total: int) -> None:
        nonlocal written
        now = time.monotonic()
        if done < total and (now - start < AFTER or now - written < OFTEN):
            return
        written = now
        words = f"{done:,} of {total:,} machines and sizes tried, {now - start:.0f} s" if done < total else ""
        sys.stderr.write(f"\r\x1b[K{words}")
        sys.stderr.flush()

    with watched(tell):
        yield
