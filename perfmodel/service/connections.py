"""Connections: so many at once, heads bounded in size and time, no waiting for who stops reading."""

from __future__ import annotations

import asyncio
import sys
from collections import Counter
from contextlib import suppress
from typing import Any

from starlette.types import ASGIApp, Receive, Scope, Send
from uvicorn.protocols.http.flow_control import FlowControl
from uvicorn.protocols.http.httptools_impl import STATUS_LINE, HttpToolsProtocol

from perfmodel.service.logs import event
from perfmodel.service.metrics import Metrics
from perfmodel.service.observe import FLOW
from perfmodel.service.problems import MEDIA_TYPE
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
LEAST_TAKEN = 100_000
"""Bytes of an answer that its client takes in ``--body-seconds``, or is closed."""
_LONG_HEAD = Refusal(431, f"the head is longer than {MOST_HEAD:,} bytes", CLOSE)
_FULL = Refusal(503, "all connections are taken; try again", {**AGAIN, **CLOSE})
_NO_HTTP = Refusal(400, "this is no request of HTTP/1.1", CLOSE)


class Heads:
    """Refuse a long head that came at once; ``BoundedConnection`` refuses one whose end has not come."""

    def __init__(self, app: ASGIApp) -> None:
        self.app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Let a request pass, or answer 431."""
        if scope["type"] == "http":
            size = len(scope.get("raw_path") or scope["path"]) + len(scope["query_string"])
            if size + sum(len(name) + len(value) for name, value in scope["headers"]) > MOST_HEAD:
                await _LONG_HEAD.answer(send)
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


class Flow(FlowControl):
    """Whether writing waits for the client, and whether the connection ended before all was sent."""

    cut_off = False


class BoundedConnection(HttpToolsProtocol):
    """One connection of uvicorn's, which bounds neither heads nor how long one takes to come.

    Writing is paused while the transport holds a byte, so what is paused has not all been sent.  The clock of
    ``_deadline`` is that of a slow reader while it is, and else that of the next head.
    """

    flow: Flow

    def __init__(self, *arguments: Any, **options: Any) -> None:
        super().__init__(*arguments, **options)
        self.settings: Settings = self.config.loaded_app.settings
        self.others: Connections = self.config.loaded_app.connections
        self._deadline: asyncio.TimerHandle | None = None
        self._received = 0

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """Take a connection; of one too many, close that which has waited longest, or refuse the new one."""
        super().connection_made(transport)
        self.flow = Flow(transport)
        transport.set_write_buffer_limits(high=0)
        if len(self.connections) > self.settings.connections + PROBES:
            if self.others.waiting:
                next(iter(self.others.waiting))._cut("made room")
            else:
                transport.write(_written(_FULL))
                self._close("no room")
                return
        self._await_head()

    def connection_lost(self, exc: Exception | None) -> None:
        """Forget a connection."""
        self._in_time()
        self.others.waiting.pop(self, None)
        self.flow.cut_off = self.flow.write_paused or not self._is_answered
        super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        """Read on, unless the head of a request is too long, or takes too long from here."""
        if self.transport.is_closing():
            return
        before = self.cycle
        in_body = before is not None and before.more_body and not before.response_complete
        super().data_received(data)
        if self.transport.is_closing():
            return
        cycle = self.cycle
        if cycle is not before or (in_body and not cycle.more_body):  # a head, or a body, has ended
            self._received = 0
            if not self.flow.write_paused:
                self._in_time()
            self.others.waiting.pop(self, None)
            return
        self._received += len(data)
        answered = self._is_answered
        most = MOST_HEAD + (WIRE * self.settings.body_bytes if in_body else 0)
        if self._received > most:
            if answered:
                self.transport.write(_written(_LONG_HEAD))
            self._close("long head" if answered else "long body")
        elif answered and self._deadline is None:
            self._within(self.settings.head_seconds, "slow head")

    def on_message_begin(self) -> None:
        """Begin a request, which learns from its scope how much of its answer has left."""
        super().on_message_begin()
        self.scope["state"][FLOW] = self.flow

    def on_url(self, url: bytes) -> None:
        """Take a part of an address; of one that is too long what is refused: its parser fails on 64 kB."""
        super().on_url(url)
        if len(self.url) > MOST_HEAD:
            path = self.url if self.url.startswith(b"/") else b"/" + self.url
            self.url = path[: MOST_HEAD + 2].replace(b"#", b"/")

    def on_header(self, name: bytes, value: bytes) -> None:
        """Keep a header; not one that follows the body, of which nobody has use or an end."""
        if self.cycle is None or self.cycle.scope is not self.scope:
            super().on_header(name, value)

    def on_response_complete(self) -> None:
        """Count the next head from its first byte."""
        self._received = 0
        super().on_response_complete()
        self._await_head()

    def send_400_response(self, msg: str) -> None:
        """Refuse what cannot be parsed."""
        self.transport.write(_written(_NO_HTTP))
        self.transport.close()

    def pause_writing(self) -> None:
        """Wait for the client as long as it goes on reading."""
        super().pause_writing()
        self._in_time()
        self._look_later(self._unsent())

    def resume_writing(self) -> None:
        """Go on when all that was written has left."""
        self._in_time()
        super().resume_writing()
        self._await_head()

    @property
    def _is_answered(self) -> bool:
        return self.cycle is None or self.cycle.response_complete

    def _await_head(self) -> None:
        """Start the clock of the next head, if all of the last answer has left."""
        if self.transport.is_closing() or not self._is_answered:
            return
        self._unset_keepalive_if_required()
        if self.flow.write_paused:
            return
        self.others.waiting[self] = None
        if self.cycle is None or self._received:
            self._within(self.settings.head_seconds, "slow head")
        else:
            self.timeout_keep_alive_task = self.loop.call_later(
                self.timeout_keep_alive, self.timeout_keep_alive_handler
            )

    def _look_later(self, unsent: int) -> None:
        self._deadline = self.loop.call_later(self.settings.body_seconds, self._look, unsent)

    def _look(self, before: int) -> None:
        """Cut off a client that has taken too little since the last look."""
        unsent = self._unsent()
        if before - unsent < LEAST_TAKEN:
            self._cut("slow reader")
        else:
            self._look_later(unsent)

    def _unsent(self) -> int:
        """Bytes that the transport holds, or, where it says so, the system until the client has them."""
        return self.transport.get_write_buffer_size() + _queued(self.transport.get_extra_info("socket"))

    def _close(self, reason: str) -> None:
        """Close the connection when its client has read what was sent."""
        self.others.waiting.pop(self, None)
        self.others.closed(reason, self.client and self.client[0])
        self.transport.close()

    def _cut(self, reason: str) -> None:
        """Close the connection at once."""
        self.others.waiting.pop(self, None)
        self.others.closed(reason, self.client and self.client[0])
        self.transport.abort()

    def _within(self, seconds: float, reason: str) -> None:
        self._in_time()
        self._deadline = self.loop.call_later(seconds, self._cut, reason)

    def _in_time(self) -> None:
        if self._deadline is not None:
            self._deadline.cancel()
            self._deadline = None


def _written(refusal: Refusal) -> bytes:
    """Return a refusal as the answer of a connection that has no request to pass on."""
    body = refusal.body()
    head = {"content-type": MEDIA_TYPE, "content-length": len(body), **(refusal.headers or {})}
    lines = "".join(f"{name}: {value}\r\n" for name, value in head.items())
    return STATUS_LINE[refusal.status_code] + f"{lines}\r\n".encode() + body


def _queued(taken: Any) -> int:
    """Return the bytes of a socket that its peer has not acknowledged; 0 where the system does not say."""
    with suppress(ImportError, AttributeError, OSError):
        from fcntl import ioctl
        from termios import TIOCOUTQ

        return int.from_bytes(ioctl(taken.fileno(), TIOCOUTQ, bytes(4)), sys.byteorder)
    return 0
