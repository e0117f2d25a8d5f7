"""Cheap work where it arrives, for a moment: what turns out to take longer is broken off."""

from __future__ import annotations

import signal
import threading
from collections.abc import Callable
from types import FrameType

MOMENT = 0.2
"""Seconds of processor time for which everybody else may be kept waiting.

A prediction takes a thousandth of it, the first of a network or machine, whose files are read, up to a third.
"""


class _TooLong(BaseException):
    """No ``Exception``, so that nothing on the way takes it for an error of the work."""


class _Clock:
    """The timer of the process, and whether anything is being timed: late signals break nothing off."""

    running = False
    rang = False

    def broken_off(self, number: int, frame: FrameType | None) -> None:
        if self.running:
            self.rang = True
            raise _TooLong


_clock = _Clock()


def quickly(function: Callable[[str, bytes], bytes], name: str, body: bytes) -> bytes | None:
    """Return what a function returns, or None if that takes longer than a moment.

    It is broken off between two steps of Python, so it must leave nothing half done that others see.  In
    another thread than the first, where Python delivers no signals, it runs to its end.
    """
    if threading.current_thread() is not threading.main_thread():
        return function(name, body)
    if signal.getsignal(signal.SIGPROF) != _clock.broken_off:
        signal.signal(signal.SIGPROF, _clock.broken_off)
    try:
        try:
            _clock.running, _clock.rang = True, False
            # again and again, should a finaliser swallow the first
            signal.setitimer(signal.ITIMER_PROF, MOMENT, MOMENT)
            return function(name, body)
        finally:
            _clock.running = False
    except BaseException:
        if _clock.rang:  # compiled code on the way may have made an error of its own of it, as orjson does
            return None
        raise
    finally:
        _clock.running = False
        signal.setitimer(signal.ITIMER_PROF, 0)
