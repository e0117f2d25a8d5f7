"""Logs as lines of JSON on standard error: of requests neither bodies nor tokens nor query strings."""

from __future__ import annotations

import json
import logging
import sys
import time

LONGEST_PATH = 200
"""Letters of a request's path in a log."""
LOG = logging.getLogger("perfmodel.service")


class _Lines(logging.Formatter):
    """A record as one line of JSON."""

    def format(self, record: logging.LogRecord) -> str:
        """Return the line; a traceback is a text in it."""
        moment = time.strftime("%Y-%m-%dT%H:%M:%S", time.gmtime(record.created))
        line = {"time": f"{moment}.{int(record.msecs):03d}Z", "level": record.levelname.lower()}
        fields = getattr(record, "fields", None)
        line |= fields if fields is not None else {"message": record.getMessage()}
        if record.exc_info:
            line["traceback"] = self.formatException(record.exc_info)
        return json.dumps(line)


def to_standard_error() -> None:
    """Write what the service and its server say to standard error, as lines of JSON."""
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(_Lines())
    for name in (LOG.name, "uvicorn.error", "asyncio"):
        logger = logging.getLogger(name)
        logger.handlers, logger.propagate = [handler], False
        logger.setLevel(logging.INFO if name == LOG.name else logging.WARNING)


def event(name: str, level: int = logging.INFO, **fields: object) -> None:
    """Log what happened, with its figures."""
    if LOG.isEnabledFor(level):
        LOG.log(level, name, extra={"fields": {"event": name, **fields}})
