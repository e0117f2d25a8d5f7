"""A service on a loopback address in a thread of the test, and what strangers send to it."""

from __future__ import annotations

import asyncio
import json
import os
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Collection, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

from starlette.types import ASGIApp, Receive, Scope, Send

from perfmodel.core.errors import InputError
from perfmodel.interfaces.service.metrics import Metrics
from perfmodel.interfaces.service.pool import Pool
from perfmodel.interfaces.service.protect import Protected
from perfmodel.interfaces.service.refusal import answer
from perfmodel.interfaces.service.server import bound, server_of
from perfmodel.interfaces.service.settings import Settings

PATIENCE = 50.0
"""Seconds that a test waits for an answer."""


class Odd(Exception):
    """One that cannot be made again from its words alone, as another process would."""

    def __init__(self, one: int, other: int) -> None:
        super().__init__(f"it says {one} and {other}")


def calculate(settings: Settings, name: str, body: bytes) -> bytes:
    """What the processes of the pool of a test do, each by its name."""
    asked = json.loads(body or b"{}")
    if name == "sleep":
        time.sleep(asked["seconds"])
    elif name == "nap":
        time.sleep(0.1)
    elif name == "odd":
        raise Odd(1, 2)
    elif name == "fill":
        return str(len(bytearray(asked["bytes"]))).encode()
    elif name == "die":
        os.kill(os.getpid(), signal.SIGKILL)
    elif name in ("die-once", "sleep-once"):
        try:
            os.close(os.open(asked["file"], os.O_CREAT | os.O_EXCL))
        except FileExistsError:
            return b'"second"'
        if name == "die-once":
            os.kill(os.getpid(), signal.SIGKILL)
        time.sleep(60)
    elif name == "wrong":
        raise InputError("wrong, and what would be right")
    elif name == "print":
        print("not part of the answer")
    return json.dumps({"process": os.getpid(), "nice": os.nice(0)}).encode()


class Tiny:
    """An application that says what it was sent, and sends what is costly to its pool."""

    def __init__(self, pool: Pool | None = None) -> None:
        self.pool = pool
        self.bodies: list[bytes] = []

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "lifespan":
            while True:
                kind = (await receive())["type"]
                await send({"type": f"{kind}.complete"})
                if kind == "lifespan.shutdown":
                    return
        body = (await receive()).get("body", b"")
        self.bodies.append(body)
        if scope["path"].startswith("/pool/") and self.pool is not None:
            body = await self.pool.run(scope["path"].removeprefix("/pool/"), body)
        elif scope["path"] == "/long":
            body = b"x" * 50_000_000
        await answer(send, 200, body, "application/json")


class Served:
    """Where a service listens, and what it is made of."""

    def __init__(
        self, app: Protected, tiny: Any, address: tuple[str, int], connections: Collection[object] = ()
    ) -> None:
        self.app, self.tiny, self.address, self.connections = app, tiny, address, connections

    def connect(self) -> socket.socket:
        return socket.create_connection(self.address, PATIENCE)

    def raw(self, text: bytes) -> bytes:
        """Send bytes, and return all that comes until the connection is closed."""
        with self.connect() as taken:
            taken.sendall(text)
            return rest_of(taken)

    def ask(self, path: str, body: bytes = b"", **headers: str) -> tuple[int, dict[str, str], bytes]:
        """Send a request on a connection of its own, and return status, headers and body."""
        head = {"host": "localhost", "connection": "close"}
        if body:
            head |= {"content-type": "application/json", "content-length": str(len(body))}
        head |= {name.replace("_", "-"): value for name, value in headers.items()}
        lines = "".join(f"{name}: {value}\r\n" for name, value in head.items() if value)
        method = "POST" if body else "GET"
        return parsed(self.raw(f"{method} {path} HTTP/1.1\r\n{lines}\r\n".encode("latin-1") + body))

    def alive(self) -> bool:
        return self.answers("/healthz")

    def answers(self, path: str) -> bool:
        """Return whether it answers 200; not if it refuses, resets or forgets the connection."""
        try:
            text = self.raw(f"GET {path} HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\n\r\n".encode())
        except OSError:
            return False
        return bool(text) and parsed(text)[0] == 200


def sample(metrics: Metrics, name: str, **labels: str) -> float:
    """Return what is counted; 0 where nothing is."""
    return metrics.registry.get_sample_value(name, labels) or 0


def comes(wanted: Callable[[], bool], seconds: float = PATIENCE) -> bool:
    """Return whether something becomes true in so much time."""
    deadline = time.monotonic() + seconds
    while not wanted():
        if time.monotonic() > deadline:
            return False
        time.sleep(0.02)
    return True


def rest_of(taken: socket.socket) -> bytes:
    parts = []
    try:
        while part := taken.recv(65536):
            parts.append(part)
    except ConnectionResetError:
        pass
    return b"".join(parts)


def parsed(text: bytes) -> tuple[int, dict[str, str], bytes]:
    head, _, body = text.partition(b"\r\n\r\n")
    first, *lines = head.decode("latin-1").split("\r\n")
    headers = dict(line.split(": ", 1) for line in lines)
    return int(first.split()[1]), headers, body


@contextmanager
def serving(settings: Settings, app: ASGIApp | None = None, pool: Pool | None = None) -> Iterator[Served]:
    """Serve an application behind its limits on a free port until the block ends."""
    tiny = app or Tiny(pool)
    protected = Protected(tiny, settings, pool)
    server = server_of(protected)
    taken = bound(settings.host, 0)
    address = taken.getsockname()[:2]
    thread = threading.Thread(target=lambda: asyncio.run(server.serve([taken])), daemon=True)
    thread.start()
    try:
        assert comes(lambda: server.started or not thread.is_alive())
        assert thread.is_alive()
        yield Served(protected, tiny, address, server.server_state.connections)
    finally:
        server.should_exit = True
        thread.join(PATIENCE)
        assert not thread.is_alive(), "it did not end"


@contextmanager
def started(*words: str) -> Iterator[tuple[Served, subprocess.Popen[str], Callable[[], str]]]:
    """Start ``perfmodel serve`` on a free port, and wait until it is ready; the last given reads its log."""
    perfmodel = str(Path(sys.executable).with_name("perfmodel"))
    command = [perfmodel, "serve", "--port", "0", "--pool", "1", *words]
    # a file, because the service would wait for a reader of a pipe that is full
    with tempfile.TemporaryFile("w+") as log:
        process = subprocess.Popen(
            command, stdout=subprocess.PIPE, stderr=log, text=True, start_new_session=True
        )

        def logged() -> str:
            log.seek(0)
            return log.read()

        try:
            assert process.stdout is not None
            address = process.stdout.readline().rpartition("//")[2].strip().split(":")
            assert len(address) == 2, logged()
            served = Served(None, None, (address[0], int(address[1])))  # type: ignore[arg-type]
            assert comes(lambda: served.answers("/readyz"), 3 * PATIENCE), logged()
            yield served, process, logged
        finally:
            with suppress(ProcessLookupError):  # its processes too: one that is left keeps the pipe open
                os.killpg(process.pid, signal.SIGKILL)
            process.communicate()
