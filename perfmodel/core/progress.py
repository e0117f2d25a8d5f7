"""How far a search is, told to whoever watches it: a terminal, a page.

Who computes tells it; who shows it says so around the call, and nothing is shown where nobody does.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import TypeAlias

Tell: TypeAlias = Callable[[int, int], object]
"""Takes how many were tried and how many there are; as many as there are at the end."""

_TELL: ContextVar[Tell | None] = ContextVar("tell", default=None)


@contextmanager
def watched(tell: Tell) -> Iterator[None]:
    """Call ``tell`` with the progress of searches inside the ``with`` block, in this thread and task.

    >>> with watched(lambda done, total: print(done, total)):
    ...     tried(3, 8)
    3 8
    >>> tried(4, 8)
    """
    token = _TELL.set(tell)
    try:
        yield
    finally:
        _TELL.reset(token)


def tried(done: int, total: int) -> None:
    """Tell that ``done`` of ``total`` were tried, to whoever watches."""
    tell = _TELL.get()
    if tell is not None:
        tell(done, total)
