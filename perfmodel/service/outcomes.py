"""How a costly request ended, in the counts."""

from __future__ import annotations

import asyncio

from perfmodel.service.bodies import ClientDisconnected
from perfmodel.service.refusal import Refusal

TIMED_OUT = 504
"""The status of what took too long."""


class TimedOut(Refusal):
    """A request took longer than the settings allow."""


class CutOff(Refusal):
    """Two processes ended before they answered, by no limit of ours."""


class OutOfMemory(Refusal):
    """A request took more memory than the settings allow."""


_OUTCOMES: dict[type[BaseException], str] = {
    TimedOut: "timed out",
    OutOfMemory: "out of memory",
    CutOff: "cut off",
    ClientDisconnected: "client left",
    asyncio.CancelledError: "cancelled",
}


def outcome_of(error: BaseException) -> str:
    """Return how a request ended; what is no limit's is an error of the request's own.

    >>> outcome_of(CutOff(503, "the calculation was cut off")), outcome_of(ValueError())
    ('cut off', 'error')
    """
    if getattr(error, "status", 0) == TIMED_OUT:  # of a stream, which says so itself at its end
        return "timed out"
    return _OUTCOMES.get(type(error), "error")
