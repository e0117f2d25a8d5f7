"""Context manager of an evaluation on traced numbers."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from perfmodel.core.tracing.numeric_node import numeric_result
from perfmodel.core.tracing.tracing import TRACE, Trace


@contextmanager
def tracing() -> Iterator[Trace]:
    """Record the formulas that make traced numbers, and bypass caches, inside the ``with`` block."""
    trace = Trace(numeric_result)
    token = TRACE.set(trace)
    try:
        yield trace
    finally:
        TRACE.reset(token)
        trace.running.clear()
