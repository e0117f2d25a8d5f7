"""The server below the layers: address, uvicorn, signals."""

from __future__ import annotations

import gc
import os
import signal
import socket
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from types import FrameType
from typing import Any

import uvicorn

from perfmodel.core.errors import refusal
from perfmodel.interfaces.service.heads import MOST_HEAD
from perfmodel.interfaces.service.metrics import FOLDER
from perfmodel.interfaces.service.protect import Protected
from perfmodel.interfaces.service.settings import Settings

ENDINGS = (signal.SIGTERM, signal.SIGINT)
"""Signals that end the service in order."""
BACKLOG = 512
"""Connections that the system queues until they are accepted."""
SENT_AHEAD = 131_072
"""Bytes of an answer that the system buffers for a client (Linux: twice as many); by default up to 4 MB."""
RARELY = 50_000
"""Allocations, less deallocations, between two garbage collections."""
PROBES = 16
"""Connections in addition to those of the settings, so that probes are answered under full load."""
HANGS = 60
"""Time after which a worker process that does not respond is killed [s]."""
SPARE_FILES = 200
"""Open files in addition to connections."""


def options_of(settings: Settings) -> dict[str, Any]:
    """Return the options of uvicorn for the settings."""
    return {
        "http": "h11",  # the one of uvicorn's whose heads are bounded
        "h11_max_incomplete_event_size": MOST_HEAD,
        "ws": "none",
        "loop": "asyncio",
        "lifespan": "on",
        "interface": "asgi3",
        "backlog": BACKLOG,
        "limit_concurrency": settings.connections + PROBES,
        "log_config": None,
        "access_log": False,
        "server_header": False,
        "timeout_keep_alive": max(1, int(settings.idle_seconds)),
        "timeout_graceful_shutdown": max(1, int(settings.drain_seconds)),
    }


def server_of(app: Protected) -> uvicorn.Server:
    """Return the server of an application."""
    return uvicorn.Server(uvicorn.Config(app, **options_of(app.settings)))


def run(app: Protected, taken: socket.socket) -> None:
    """Answer requests in this process until a signal ends it.

    Raises
    ------
    InputError : the server could not start
    """
    gc.collect()
    gc.freeze()  # present objects stay and need not be scanned again
    gc.set_threshold(RARELY, 10, 10)
    try:
        with _signals_end_in_order():
            server_of(app).run([taken])
    except SystemExit:
        raise refusal("service.not_started") from None


def run_workers(factory: str, settings: Settings, taken: socket.socket) -> None:
    """Run processes that answer on a socket, each with its own pool, until a signal ends them all.

    Parameters
    ----------
    factory : ``MODULE:FUNCTION`` that returns the application of a process
    settings : of the service
    taken : bound socket
    """
    before = {name: os.environ.get(name) for name in (FOLDER, *settings.handed_down())}
    with tempfile.TemporaryDirectory(prefix="perfmodel-serve-") as folder, _signals_end_in_order():
        os.environ.update(settings.handed_down() | {FOLDER: folder})
        try:
            uvicorn.run(
                factory,
                factory=True,
                fd=taken.fileno(),
                workers=settings.workers,
                timeout_worker_healthcheck=HANGS,
                **options_of(settings),
            )
        finally:
            for name, value in before.items():
                os.environ.pop(name, None)
                if value is not None:
                    os.environ[name] = value


@contextmanager
def _signals_end_in_order() -> Iterator[None]:
    """Keep this process alive when uvicorn, at its end, raises the received signal again."""
    before = {number: signal.signal(number, _nothing) for number in ENDINGS}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def bound(host: str, port: int) -> socket.socket:
    """Return a listening socket.

    Raises
    ------
    InputError : an address that is not of this machine, or in use
    """
    try:
        family, kind, protocol, _, place = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0]
        taken = socket.socket(family, kind, protocol)
        try:
            taken.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            taken.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, SENT_AHEAD)  # connections inherit both
            taken.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            taken.bind(place)
            taken.listen(BACKLOG)
        except OSError:
            taken.close()
            raise
    except (OSError, UnicodeError) as error:
        reason = getattr(error, "strerror", None) or error
        raise refusal("service.address", host=host, port=port, reason=reason) from None
    taken.setblocking(False)
    return taken


def _nothing(number: int, frame: FrameType | None) -> None:
    """Ignore a signal."""


def allow_files(connections: int) -> None:
    """Raise this process's limit on open files, as far as allowed; with fewer, it takes fewer connections."""
    with suppress(ImportError, OSError, ValueError):
        import resource

        soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
        wanted = connections + SPARE_FILES
        most = wanted if hard == resource.RLIM_INFINITY else min(wanted, hard)
        if soft != resource.RLIM_INFINITY and soft < most:
            resource.setrlimit(resource.RLIMIT_NOFILE, (most, hard))
