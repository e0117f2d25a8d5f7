"""How a costly request ended, in the counts."""

from __future__ import annotations

import asyncio

from perfmodel.core.errors import InputError
from perfmodel.interfaces.service.bodies import ClientDisconnected
from perfmodel.interfaces.service.refusal import Refusal

TIMED_OUT = 504
"""The status of what took too long."""


class TimedOut(Refusal):
    """A request took longer than the settings allow."""


class CutOff(Refusal):
    """Two processes ended before they answered, by no limit of ours."""


class Failed(Exception):
    """A process of the pool met an error that nobody foresaw, and has logged it."""


class OutOfMemory(Refusal):
    """A request took more memory than the settings allow."""


_OUTCOMES: dict[type[BaseException], str] = {
    TimedOut: "timed out",
    OutOfMemory: "out of memory",
    CutOff: "cut off",
    ClientDisconnected: "client left",
    asyncio.CancelledError: "cancelled",
}
_BY_STATUS = {422: "bad input", 429: "refused"}


def outcome_of(error: BaseException) -> str:
    """Return how a request ended: refused for what it asks, by a limit, or by an error that nobody foresaw.

    >>> outcome_of(CutOff(503, "the calculation was cut off")), outcome_of(InputError()), outcome_of(Failed())
    ('cut off', 'bad input', 'error')
    """
    if getattr(error, "status", 0) == TIMED_OUT:  # of a stream, which says so itself at its end
        return "timed out"
    if isinstance(error, InputError):
        return "bad input"
    return _OUTCOMES.get(type(error)) or _BY_STATUS.get(getattr(error, "status_code", 0), "error")
