"""Logs as lines of JSON on standard error; of requests neither bodies nor tokens nor query strings."""

from __future__ import annotations

import json
import logging
import sys
import time
from typing import TextIO

LONGEST_PATH = 200
"""Characters of a request's path in a log."""
_outputs: list[TextIO] = []
"""Streams that events are written to; none until a process sets one."""


def to_standard_error() -> None:
    """Write events, and messages of the server, to standard error as lines of JSON."""
    _outputs[:] = [sys.stderr]
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(_Lines())
    for name in ("uvicorn.error", "asyncio"):
        logger = logging.getLogger(name)
        logger.handlers, logger.propagate = [handler], False
        logger.setLevel(logging.WARNING)


def event(name: str, level: str = "info", **fields: object) -> None:
    """Log an event with its fields; not through ``logging``, which is slow per request."""
    if _outputs:
        line = json.dumps({"time": _timestamp(time.time()), "level": level, "event": name, **fields})
        _outputs[0].write(f"{line}\n")
        _outputs[0].flush()


class _Lines(logging.Formatter):
    """Formatter of other messages as lines of JSON."""

    def format(self, record: logging.LogRecord) -> str:
        """Return the line; a traceback is a text in it."""
        line = {"time": _timestamp(record.created), "level": record.levelname.lower(), "event": "message"}
        line["message"] = record.getMessage()
        if record.exc_info:
            line["traceback"] = self.formatException(record.exc_info)
        return json.dumps(line)


def _timestamp(seconds: float) -> str:
    """Return a time since the epoch [s] in ISO 8601 format, to milliseconds.

    >>> _timestamp(1.5)
    '1970-01-01T00:00:01.500Z'
    """
    whole = int(seconds)
    return f"{time.strftime('%Y-%m-%dT%H:%M:%S', time.gmtime(whole))}.{int((seconds - whole) * 1000):03d}Z"
