"""How many candidates a request may try: counted before any is timed, wherever a search or a sweep begins.

The HTTP service answers strangers.  What they leave open is crossed, and a few words leave millions open.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar


class TooManyCandidates(Exception):
    """A request that would try more candidates than it may.

    No ``InputError``: those are what a search says of one candidate, and goes on with the next.
    """

    def __init__(self, asked: int, most: int) -> None:
        """Take how many it would try at least, and how many it may."""
        super().__init__(f"{asked:,} candidates; at most {most:,}")
        self.asked, self.most = asked, most


class _Allowance:
    """What one request may try, and has tried."""

    def __init__(self, most: int) -> None:
        self.most, self.tried = most, 0


_ALLOWANCE: ContextVar[_Allowance | None] = ContextVar("candidates", default=None)


@contextmanager
def at_most(candidates: int) -> Iterator[None]:
    """Let searches and sweeps try so many candidates in all, in this thread and task.

    >>> with at_most(10):
    ...     tries(8)
    ...     tries(8)
    Traceback (most recent call last):
    ...
    perfmodel.core.candidates.TooManyCandidates: 16 candidates; at most 10
    """
    token = _ALLOWANCE.set(_Allowance(candidates))
    try:
        yield
    finally:
        _ALLOWANCE.reset(token)


def tries(count: int) -> None:
    """Say that so many candidates are tried now.

    Raises
    ------
    TooManyCandidates : more than the request may try, with those before
    """
    allowance = _ALLOWANCE.get()
    if allowance is not None:
        will_try((count,))
        allowance.tried += count


def will_try(counts: Iterable[int]) -> None:
    """Say how many candidates will be tried in all, so that none is tried in vain.

    Without a limit nothing is counted.

    Raises
    ------
    TooManyCandidates : more than the request may try, with those before
    """
    allowance = _ALLOWANCE.get()
    if allowance is None:
        return
    asked = allowance.tried + sum(counts)
    if asked > allowance.most:
        raise TooManyCandidates(asked, allowance.most)
