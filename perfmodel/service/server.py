"""The server under the layers: an address, uvicorn, signals."""

from __future__ import annotations

import gc
import signal
import socket
from contextlib import suppress
from types import FrameType

import uvicorn

from perfmodel.errors import InputError
from perfmodel.service.connections import BoundedConnection
from perfmodel.service.protect import Protected

ENDINGS = (signal.SIGTERM, signal.SIGINT)
"""Signals that end the service in order."""
BACKLOG = 512
"""Connections that the system holds until they are taken."""
SENT_AHEAD = 131_072
"""Bytes of an answer that the system holds for a client (Linux: twice as many); by default up to 4 MB."""
RARELY = 50_000
"""Objects allocated, less those freed, between two collections of garbage."""
SPARE_FILES = 200
"""Files that are open besides connections."""


class _Server(uvicorn.Server):
    """A server that says when it begins to end, and for which a signal is an order, not its own end."""

    def handle_exit(self, sig: int, frame: FrameType | None) -> None:
        self.config.loaded_app.draining = True
        super().handle_exit(sig, frame)


def server_of(app: Protected) -> uvicorn.Server:
    """Return the server of an application, which bounds its connections."""
    settings = app.settings
    config = uvicorn.Config(
        app=app,
        http=BoundedConnection,
        ws="none",
        loop="asyncio",
        lifespan="on",
        interface="asgi3",
        backlog=BACKLOG,
        log_config=None,
        access_log=False,
        proxy_headers=False,
        server_header=False,
        timeout_keep_alive=max(1, int(settings.idle_seconds)),
        timeout_graceful_shutdown=max(1, int(settings.drain_seconds)),
    )
    return _Server(config)


def run(app: Protected, taken: socket.socket) -> None:
    """Answer requests in this process until a signal ends it.

    Raises
    ------
    InputError : it could not start
    """
    server = server_of(app)
    # uvicorn raises the signal it was sent once more when it has ended: by then there is nothing left to do
    before = {number: signal.signal(number, _nothing) for number in ENDINGS}
    gc.collect()
    gc.freeze()  # what is there now stays, and need not be looked through again
    gc.set_threshold(RARELY, 10, 10)
    try:
        server.run([taken])
    except SystemExit:
        raise InputError("the service could not start; its log says why") from None
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def bound(host: str, port: int) -> socket.socket:
    """Return a socket that listens.

    Raises
    ------
    InputError : the address is not one of this machine, or taken
    """
    try:
        family, kind, protocol, _, place = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0]
        taken = socket.socket(family, kind, protocol)
        try:
            taken.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            taken.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, SENT_AHEAD)  # connections inherit it
            taken.bind(place)
            taken.listen(BACKLOG)
        except OSError:
            taken.close()
            raise
    except (OSError, UnicodeError) as error:
        reason = getattr(error, "strerror", None) or error
        raise InputError(f"cannot listen on {host}, port {port}: {reason}; try another --port") from None
    taken.setblocking(False)
    return taken


def _nothing(number: int, frame: FrameType | None) -> None:
    """Take a signal and go on."""


def allow_files(connections: int) -> None:
    """Let this process open as many files as it may need; where it may not, it takes fewer connections."""
    with suppress(ImportError, OSError, ValueError):
        import resource

        soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
        wanted = connections + SPARE_FILES
        most = wanted if hard == resource.RLIM_INFINITY else min(wanted, hard)
        if soft != resource.RLIM_INFINITY and soft < most:
            resource.setrlimit(resource.RLIMIT_NOFILE, (most, hard))
