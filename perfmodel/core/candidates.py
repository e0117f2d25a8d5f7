"""Limit on the candidates that one request may predict: searches and sweeps count theirs before they start.

The HTTP service answers strangers.  A search crosses every option that a request leaves open, so a short
request can mean millions of candidates.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar


class TooManyCandidates(Exception):
    """A request has more candidates than its limit.

    Not an ``InputError``: a search catches those for one candidate and goes on with the next.
    """

    def __init__(self, requested: int, most: int) -> None:
        """Store the number of candidates requested, a lower bound, and the limit."""
        super().__init__(f"{requested:,} candidates; at most {most:,}")
        self.requested, self.most = requested, most


class _Allowance:
    """The limit of one request, and the candidates it has tried so far."""

    def __init__(self, most: int) -> None:
        self.most, self.tried = most, 0


_ALLOWANCE: ContextVar[_Allowance | None] = ContextVar("candidates", default=None)


@contextmanager
def at_most(candidates: int) -> Iterator[None]:
    """Limit the candidates that searches and sweeps try inside the ``with`` block, in this thread and task.

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
    """Count candidates that the caller tries now against the limit of the request.

    Raises
    ------
    TooManyCandidates : together with earlier ones, more than the limit
    """
    allowance = _ALLOWANCE.get()
    if allowance is not None:
        will_try((count,))
        allowance.tried += count


def will_try(counts: Iterable[int]) -> None:
    """Check candidates that the caller will try later against the limit, before it tries the first.

    Parameters
    ----------
    counts : candidates of each part of the search; read only where the request has a limit

    Raises
    ------
    TooManyCandidates : together with earlier ones, more than the limit
    """
    allowance = _ALLOWANCE.get()
    if allowance is None:
        return
    requested = allowance.tried + sum(counts)
    if requested > allowance.most:
        raise TooManyCandidates(requested, allowance.most)
