"""Observation of requests: an id, a line in the log, counts and times."""

from __future__ import annotations

import asyncio
import re
import secrets
from collections.abc import Collection
from time import perf_counter

from starlette.types import ASGIApp, Message, Receive, Scope, Send

from perfmodel.interfaces.service.bearer import TOKEN
from perfmodel.interfaces.service.bodies import Unfinished
from perfmodel.interfaces.service.logs import LONGEST_PATH, event
from perfmodel.interfaces.service.metrics import Metrics

OWN_PATHS = frozenset({"/healthz", "/readyz", "/metrics"})
_ID = re.compile(rb"[A-Za-z0-9._-]{1,64}")
ABANDONED = 499
"""Status, in log and counts, of a request whose client left or was cut off before the answer ended."""
PIECE = 65_536
"""Bytes of an answer that are sent at once; each piece has a time limit, the whole answer has none."""


class Observed:
    """Give each request an id, or keep its own, and log and count how it ended.

    Parameters
    ----------
    access_log : whether to log each request
    paths : routes that are counted by their own names
    seconds : time that a client may take to read a piece of its answer
    """

    def __init__(
        self,
        app: ASGIApp,
        metrics: Metrics,
        access_log: bool,
        paths: Collection[str] = (),
        seconds: float = 10.0,
    ) -> None:
        self.app, self.metrics, self.access_log, self.seconds = app, metrics, access_log, seconds
        self.paths = OWN_PATHS.union(paths)
        self.in_flight = 0

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass a request on, and count it when it has ended."""
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        brought = next((value for name, value in scope["headers"] if name == b"x-request-id"), b"")
        name = brought if _ID.fullmatch(brought) else secrets.token_hex(8).encode()
        status = ABANDONED
        start = perf_counter()

        async def send_with_id(message: Message) -> None:
            nonlocal status
            if message["type"] == "http.response.start":
                status = message["status"]
                headers = [(b"x-request-id", name), (b"x-content-type-options", b"nosniff")]
                message = {**message, "headers": [*message.get("headers", ()), *headers]}
            elif len(message.get("body", b"")) > PIECE:
                message = await self._all_but_last(message, send)
            await send(message)

        self._now(1)
        try:
            await self.app(scope, receive, send_with_id)
        except Unfinished:
            status = ABANDONED
        finally:
            self._now(-1)
            self._count(scope, name.decode(), status, perf_counter() - start)

    def _now(self, more: int) -> None:
        """Add to the number of requests in flight."""
        self.in_flight += more
        self.metrics.in_flight.set(self.in_flight)

    async def _all_but_last(self, message: Message, send: Send) -> Message:
        """Send a long body in pieces, except the last, which is returned.

        Raises
        ------
        Unfinished : the client has stopped reading
        """
        body = message["body"]
        last = (len(body) - 1) // PIECE * PIECE
        for start in range(0, last, PIECE):
            try:
                async with asyncio.timeout(self.seconds):
                    await send({**message, "body": body[start : start + PIECE], "more_body": True})
            except TimeoutError:
                raise Unfinished from None
            await asyncio.sleep(0)  # let other requests run
        return {**message, "body": body[last:]}

    def _count(self, scope: Scope, name: str, status: int, seconds: float) -> None:
        """Count and log a request that has ended."""
        route = scope["path"] if scope["path"] in self.paths else _route_of(scope)
        self.metrics.requests.labels(route, str(status)).inc()
        self.metrics.seconds.labels(route).observe(seconds)
        if self.access_log and not (scope["path"] in OWN_PATHS and status < 400):
            client = scope.get("client")
            event(
                "request",
                id=name,
                method=scope["method"],
                path=scope["path"][:LONGEST_PATH],
                status=status,
                milliseconds=round(seconds * 1e3, 2),
                client=client[0] if client else None,
                **({"token": owner} if (owner := scope.get("state", {}).get(TOKEN)) else {}),
            )


def _route_of(scope: Scope) -> str:
    """Return the route that matched, so that arbitrary paths do not add labels to the metrics."""
    route = getattr(scope.get("route"), "path", None)
    if route is None and scope.get("endpoint") is not None and not scope.get("path_params"):
        route = scope["path"]
    return str(route or "other")
