"""Starts the service: sockets, processes, signals."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

from perfmodel.service.application import application
from perfmodel.service.logs import event, to_standard_error
from perfmodel.service.metrics import Metrics
from perfmodel.service.pool import Pool
from perfmodel.service.protect import Protected
from perfmodel.service.server import allow_files, bound, run
from perfmodel.service.settings import Settings
from perfmodel.service.siblings import siblings
from perfmodel.service.tags import package_digest


def protected(settings: Settings, counts: Path | None = None) -> Protected:
    """Return the application behind its limits, with a pool of its own."""
    package_digest()  # before code or data may change
    pool = Pool(settings)
    return Protected(application(settings, pool.run, pool.stream), settings, pool, Metrics(counts))


def serve(settings: Settings, listening: Callable[[str], None]) -> None:
    """Answer requests until SIGTERM or SIGINT; those in flight then finish.

    Parameters
    ----------
    listening : is called with the address once it is taken

    Raises
    ------
    InputError : the address cannot be listened on; the tokens cannot be read
    """
    settings.tokens()
    taken = bound(settings.host, settings.port)
    allow_files(settings.connections)
    to_standard_error()
    port = taken.getsockname()[1]
    host = f"[{settings.host}]" if ":" in settings.host else settings.host
    listening(f"http://{host}:{port}")
    event("listening", host=settings.host, port=port, workers=settings.workers, process=os.getpid())
    if settings.workers == 1:
        run(protected(settings), taken)
    else:
        siblings(settings, taken)
    event("ended", process=os.getpid())
