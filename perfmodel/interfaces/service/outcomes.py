"""Outcomes of costly requests, for the metrics."""

from __future__ import annotations

import asyncio

from perfmodel.core.errors import InputError
from perfmodel.interfaces.service.bodies import ClientDisconnected
from perfmodel.interfaces.service.refusal import Refusal

TIMED_OUT = 504
"""Status of a request that took too long."""


class TimedOut(Refusal):
    """A request that took longer than the settings allow."""


class CutOff(Refusal):
    """A calculation whose process ended twice before it answered, for no limit of the service."""


class Failed(Exception):
    """An unexpected error in a process of the pool, which has logged it."""


class OutOfMemory(Refusal):
    """A request that took more memory than the settings allow."""


_OUTCOMES: dict[type[BaseException], str] = {
    TimedOut: "timed out",
    OutOfMemory: "out of memory",
    CutOff: "cut off",
    ClientDisconnected: "client left",
    asyncio.CancelledError: "cancelled",
}
_BY_STATUS = {422: "bad input", 429: "refused"}


def outcome_of(error: BaseException) -> str:
    """Return how a request ended: refused as invalid, stopped by a limit, or failed unexpectedly.

    >>> outcome_of(CutOff(503, "the calculation was cut off")), outcome_of(InputError()), outcome_of(Failed())
    ('cut off', 'bad input', 'error')
    """
    if getattr(error, "status", 0) == TIMED_OUT:  # a stream, whose last line reports it
        return "timed out"
    if isinstance(error, InputError):
        return "bad input"
    return _OUTCOMES.get(type(error)) or _BY_STATUS.get(getattr(error, "status_code", 0), "error")
