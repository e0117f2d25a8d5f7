"""Connections: so many at once, heads bounded in size and time, no waiting for who stops reading."""

from __future__ import annotations

import asyncio
from collections import Counter
from typing import Any

from starlette.types import ASGIApp, Receive, Scope, Send
from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

from perfmodel.service.logs import event
from perfmodel.service.metrics import Metrics
from perfmodel.service.observe import CUT_OFF
from perfmodel.service.refusal import AGAIN, CLOSE, Refusal
from perfmodel.service.settings import Settings

MOST_HEAD = 32_768
"""Bytes of the first line and the headers of a request."""
PROBES = 16
"""Connections beyond those of the settings, so that probes are answered while all others calculate."""
SAID_EVERY = 1.0
"""Seconds whose closed connections are logged in one line."""
WIRE = 8
"""Bytes on the wire for each byte of a body, at most: one in a chunk of its own takes six."""
_FULL = (
    b"HTTP/1.1 503 Service Unavailable\r\ncontent-length: 0\r\nconnection: close\r\n"
    b"retry-after: %b\r\n\r\n" % AGAIN["retry-after"].encode()
)
_LONG_HEAD = b"HTTP/1.1 431 Request Header Fields Too Large\r\ncontent-length: 0\r\nconnection: close\r\n\r\n"


class Heads:
    """Refuse a long head that came at once; ``BoundedConnection`` refuses one whose end has not come."""

    def __init__(self, app: ASGIApp) -> None:
        self.app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Let a request pass, or answer 431."""
        if scope["type"] == "http":
            size = len(scope.get("raw_path") or scope["path"]) + len(scope["query_string"])
            if size + sum(len(name) + len(value) for name, value in scope["headers"]) > MOST_HEAD:
                await Refusal(431, f"the head is longer than {MOST_HEAD:,} bytes", CLOSE).answer(send)
                return
        await self.app(scope, receive, send)


class Connections:
    """What the connections of a server share: which wait for a request, and why others were closed."""

    def __init__(self, metrics: Metrics) -> None:
        self.metrics = metrics
        self.waiting: dict[BoundedConnection, None] = {}
        """Those without a request, the one that has waited longest first."""
        self._unsaid: Counter[str] = Counter()

    def closed(self, reason: str, client: str | None) -> None:
        """Count a connection that is closed, and log all of a second in one line."""
        self.metrics.add("perfmodel_connections_closed_total", reason=reason)
        if not self._unsaid:
            asyncio.get_running_loop().call_later(SAID_EVERY, self._say, client)
        self._unsaid[reason] += 1

    def _say(self, client: str | None) -> None:
        event("connections closed", "warning", reasons=dict(self._unsaid), first_client=client)
        self._unsaid.clear()


class BoundedConnection(HttpToolsProtocol):
    """One connection of uvicorn's, which bounds neither heads nor how long one takes to come."""

    def __init__(self, *arguments: Any, **options: Any) -> None:
        super().__init__(*arguments, **options)
        self.settings: Settings = self.config.loaded_app.settings
        self.others: Connections = self.config.loaded_app.connections
        self._deadline: asyncio.TimerHandle | None = None
        self._received = 0

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """Take a connection; of one too many, close that which has waited longest, or refuse the new one."""
        super().connection_made(transport)
        if len(self.connections) > self.settings.connections + PROBES:
            if self.others.waiting:
                next(iter(self.others.waiting))._cut("made room")
            else:
                transport.write(_FULL)
                self._close("no room")
                return
        self.others.waiting[self] = None
        self._within(self.settings.head_seconds, "slow head")

    def connection_lost(self, exc: Exception | None) -> None:
        """Forget a connection."""
        self._in_time()
        self.others.waiting.pop(self, None)
        if self.cycle is not None and self.cycle.response_started and not self.cycle.response_complete:
            self.cycle.scope["state"][CUT_OFF] = True
        super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        """Read on, unless the head of a request is too long, or takes too long from here."""
        if self.transport.is_closing():
            return
        before = self.cycle
        in_body = before is not None and before.more_body and not before.response_complete
        super().data_received(data)
        if self.transport.is_closing():
            self._within(self.settings.head_seconds)
            return
        cycle = self.cycle
        if cycle is not before or (in_body and not cycle.more_body):  # a head, or a body, has ended
            self._received = 0
            self._in_time()
            self.others.waiting.pop(self, None)
            return
        self._received += len(data)
        answered = cycle is None or cycle.response_complete
        most = MOST_HEAD + (WIRE * self.settings.body_bytes if in_body else 0)
        if self._received > most:
            if answered:
                self.transport.write(_LONG_HEAD)
            self._close("long head" if answered else "long body")
        elif answered and self._deadline is None:
            self._within(self.settings.head_seconds, "slow head")

    def on_header(self, name: bytes, value: bytes) -> None:
        """Keep a header; not one that follows the body, of which nobody has use or an end."""
        if self.cycle is None or self.cycle.scope is not self.scope:
            super().on_header(name, value)

    def on_response_complete(self) -> None:
        """Count the next head from its first byte."""
        self._received = 0
        super().on_response_complete()
        if self.transport.is_closing():
            self._within(self.settings.head_seconds)
        elif self.cycle.response_complete:
            self.others.waiting[self] = None

    def pause_writing(self) -> None:
        """Wait a while for a client that has stopped reading."""
        super().pause_writing()
        self._within(self.settings.body_seconds, "slow reader")

    def resume_writing(self) -> None:
        """Go on with a client that reads again."""
        self._in_time()
        super().resume_writing()

    def timeout_keep_alive_handler(self) -> None:
        """Close an idle connection, with what its client has not read."""
        self.transport.abort()

    def _close(self, reason: str) -> None:
        """Close the connection when its client has read what was sent, but not later than that may take."""
        self.others.waiting.pop(self, None)
        self.others.closed(reason, self.client and self.client[0])
        self.transport.close()
        self._within(self.settings.head_seconds)

    def _cut(self, reason: str | None) -> None:
        """Close the connection at once."""
        self.others.waiting.pop(self, None)
        if reason:
            self.others.closed(reason, self.client and self.client[0])
        self.transport.abort()

    def _within(self, seconds: float, reason: str | None = None) -> None:
        self._in_time()
        self._deadline = self.loop.call_later(seconds, self._cut, reason)

    def _in_time(self) -> None:
        if self._deadline is not None:
            self._deadline.cancel()
            self._deadline = None
