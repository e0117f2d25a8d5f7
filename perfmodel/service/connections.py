"""Connections: so many at once, heads bounded in size and time, no waiting for who stops reading."""

from __future__ import annotations

import asyncio
from typing import Any

from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

from perfmodel.service.refusal import AGAIN
from perfmodel.service.settings import Settings

MOST_HEAD = 32_768
"""Bytes of the first line and the headers of a request."""
WIRE = 8
"""Bytes on the wire for each byte of a body, at most: one in a chunk of its own takes six."""
_FULL = (
    b"HTTP/1.1 503 Service Unavailable\r\ncontent-length: 0\r\nconnection: close\r\n"
    b"retry-after: %b\r\n\r\n" % AGAIN["retry-after"].encode()
)
_LONG_HEAD = b"HTTP/1.1 431 Request Header Fields Too Large\r\ncontent-length: 0\r\nconnection: close\r\n\r\n"


class BoundedConnection(HttpToolsProtocol):
    """One connection of uvicorn's, which bounds neither heads nor how long one takes to come."""

    def __init__(self, *arguments: Any, **options: Any) -> None:
        super().__init__(*arguments, **options)
        self.settings: Settings = self.config.loaded_app.settings
        self._deadline: asyncio.TimerHandle | None = None
        self._received = 0

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """Take a connection, or refuse one too many."""
        super().connection_made(transport)
        if len(self.connections) > self.settings.connections:
            transport.write(_FULL)
            transport.close()
        self._within(self.settings.head_seconds)

    def connection_lost(self, exc: Exception | None) -> None:
        """Forget a connection."""
        self._in_time()
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
            return
        self._received += len(data)
        answered = cycle is None or cycle.response_complete
        most = MOST_HEAD + (WIRE * self.settings.body_bytes if in_body else 0)
        if self._received > most:
            if answered:
                self.transport.write(_LONG_HEAD)
            self.transport.close()
            self._within(self.settings.head_seconds)
        elif answered and self._deadline is None:
            self._within(self.settings.head_seconds)

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

    def pause_writing(self) -> None:
        """Wait a while for a client that has stopped reading."""
        super().pause_writing()
        self._within(self.settings.body_seconds)

    def resume_writing(self) -> None:
        """Go on with a client that reads again."""
        self._in_time()
        super().resume_writing()

    def timeout_keep_alive_handler(self) -> None:
        """Close an idle connection, with what its client has not read."""
        self.transport.abort()

    def _within(self, seconds: float) -> None:
        self._in_time()
        self._deadline = self.loop.call_later(seconds, self.transport.abort)

    def _in_time(self) -> None:
        if self._deadline is not None:
            self._deadline.cancel()
            self._deadline = None
