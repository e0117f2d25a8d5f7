"""Bodies of requests: read completely, with limits on size, time and nesting, before they are parsed."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from contextvars import ContextVar

from starlette.types import ASGIApp, Message, Receive, Scope, Send

from perfmodel.interfaces.service.metrics import Metrics
from perfmodel.interfaces.service.nesting import nests_deeper
from perfmodel.interfaces.service.refusal import AGAIN, CLOSE, Refusal
from perfmodel.interfaces.service.settings import Settings

LINGER = 1.0
"""Time for which the rest of a refused body is read, so that its sender reads the answer [s]."""
DROPPED = 4
"""Bytes of a refused body that are read at most, as a multiple of the largest body."""
CLIENT_LEAVES: ContextVar[Callable[[], Awaitable[None]] | None] = ContextVar("CLIENT_LEAVES", default=None)
"""Function that returns when the client of the current request disconnects; costly work then stops."""


class Bodies:
    """Read the body of a request; refuse one that is too long, slow, compressed, not JSON or too deep."""

    def __init__(
        self,
        app: ASGIApp,
        settings: Settings,
        metrics: Metrics,
        routed: Callable[[Scope], bool] = lambda scope: True,
    ) -> None:
        """Take the application, and a function that returns whether one of its routes matches a request."""
        self.app, self.settings, self.metrics, self.routed = app, settings, metrics, routed
        self.buffered = 0

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass on a request with its complete body, or answer 400, 408, 413, 415 or 503."""
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        body = _Body(self, receive)
        try:
            refusal = _refusal_of_head(scope["headers"], self.settings.body_bytes)
            if any(name == b"expect" for name, _ in scope["headers"]):  # it waits before sending its body
                if refusal is not None:
                    await refusal.answer(send)
                    return
                if not self.routed(scope):
                    await self.app(scope, body.replay, _closing(send))
                    return
            try:
                if refusal is None:
                    await self._read(body)
                    refusal = _refusal_of_head(scope["headers"], self.settings.body_bytes, bool(body.size))
                if refusal is None and nests_deeper(body.whole, self.settings.nesting):
                    refusal = Refusal(400, f"brackets nest deeper than {self.settings.nesting}")
            except Refusal as error:
                refusal = error
            if refusal is not None:
                await body.drop()
                await refusal.answer(send)
                return
            CLIENT_LEAVES.set(body.client_leaves)
            await self.app(scope, body.replay, send)
        except ClientDisconnected:
            return
        finally:
            self.hold(-body.counted)

    def hold(self, more: int) -> None:
        """Add to the number of buffered bytes; negative to subtract."""
        self.buffered += more
        self.metrics.buffered.set(self.buffered)

    async def _read(self, body: _Body) -> None:
        """Read the body within the time limit; a slow one is refused."""
        try:
            async with asyncio.timeout(self.settings.body_seconds):
                while body.more:
                    await body.chunk()
        except TimeoutError:
            raise Refusal(408, f"the body took longer than {self.settings.body_seconds:g} s", CLOSE) from None


class ClientDisconnected(BaseException):
    """The client has disconnected.

    Not an ``Exception``, like the error of a cancelled task: there is nobody to send an error to.
    """


class Unfinished(BaseException):
    """A response that has begun cannot be completed; the connection is closed, so that its reader notices.

    Not an ``Exception``: no other response can be sent any more.
    """


class _Body:
    """The body of one request while it is received."""

    def __init__(self, limits: Bodies, receive: Receive) -> None:
        self.limits, self.receive = limits, receive
        self.chunks: list[bytes] = []
        self.size = self.counted = 0
        self.more, self.replayed = True, False

    @property
    def whole(self) -> bytes:
        """The complete body, once it has been read."""
        if len(self.chunks) > 1:
            self.chunks = [b"".join(self.chunks)]
        return self.chunks[0] if self.chunks else b""

    async def chunk(self) -> None:
        """Read the next part.

        Raises
        ------
        Refusal : the body, or all bodies together, are too long
        """
        part = await self._next()
        settings = self.limits.settings
        self.size += len(part)
        if self.size > settings.body_bytes:
            raise _too_long(settings.body_bytes)
        if self.limits.buffered + len(part) > settings.buffered_bytes:
            raise Refusal(503, "too many bodies at once; try again", {**AGAIN, **CLOSE})
        self.counted += len(part)
        self.limits.hold(len(part))
        if part:
            self.chunks.append(part)

    async def _next(self) -> bytes:
        """Return the next part as received."""
        message = await self.receive()
        if message["type"] != "http.request":
            raise ClientDisconnected
        self.more = message.get("more_body", False)
        part: bytes = message.get("body", b"")
        return part

    async def drop(self) -> None:
        """Read on for a while without keeping anything: closing with unread bytes would lose the response."""
        self.chunks.clear()
        most = DROPPED * self.limits.settings.body_bytes
        try:
            async with asyncio.timeout(LINGER):
                while self.more and most > 0:
                    most -= len(await self._next())
        except TimeoutError:
            return

    async def replay(self) -> Message:
        """Return the complete body as one part to the application, then wait until the client disconnects."""
        if not self.replayed:
            self.replayed = True
            return {"type": "http.request", "body": self.whole, "more_body": False}
        return await self.receive()

    async def client_leaves(self) -> None:
        """Return when the client has disconnected."""
        while (await self.receive())["type"] != "http.disconnect":
            pass


def _refusal_of_head(headers: list[tuple[bytes, bytes]], most: int, has_body: bool = False) -> Refusal | None:
    """Return the refusal of a request whose headers are invalid for its body; None where they are valid.

    Parameters
    ----------
    most : largest body [B]
    has_body : whether there is a body, which is known when it was read or has a length
    """
    kind = b""
    if {b"content-length", b"transfer-encoding"} <= {name for name, _ in headers}:
        return Refusal(400, "the length of the body is said in two ways", CLOSE)
    for name, value in headers:
        if name == b"content-encoding" and value.strip().lower() not in (b"", b"identity"):
            accepted = {"accept-encoding": "identity", **CLOSE}
            return Refusal(415, "packed bodies are not read; send it as it is", accepted)
        if name == b"content-length" and not (value.isdigit() and len(value) < 16 and int(value) <= most):
            return _too_long(most)
        if name == b"content-length" and int(value):
            has_body = True
        if name == b"content-type":
            kind = value.partition(b";")[0].strip().lower()
    if has_body and kind != b"application/json":
        return Refusal(415, "expected Content-Type: application/json", CLOSE)
    return None


def _closing(send: Send) -> Send:
    """Return a function that sends a response and closes the connection.

    Otherwise the unread body would be taken for the next request.
    """

    async def send_and_close(message: Message) -> None:
        if message["type"] == "http.response.start":
            message = {**message, "headers": [*message.get("headers", ()), (b"connection", b"close")]}
        await send(message)

    return send_and_close


def _too_long(most: int) -> Refusal:
    """Return the refusal of a body that is too long."""
    return Refusal(413, f"the body is longer than {most:,} bytes", CLOSE)
