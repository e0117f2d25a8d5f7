"""What becomes of each request: an id, a line in the log, counts and times."""

from __future__ import annotations

import asyncio
import re
import secrets
from collections.abc import Collection
from time import perf_counter

from starlette.types import ASGIApp, Message, Receive, Scope, Send

from perfmodel.service.logs import LONGEST_PATH, event
from perfmodel.service.metrics import Metrics

OWN_PATHS = frozenset({"/healthz", "/readyz", "/metrics"})
_ID = re.compile(rb"[A-Za-z0-9._-]{1,64}")
ABANDONED = 499
"""The status, in log and counts, of a request whose client left, or was cut off, before it had its answer."""
FLOW = "perfmodel.flow"
"""Key of the state of a scope: whether all that was written has left, or the connection was cut off."""
PIECE = 65_536
"""Bytes of an answer that are sent at once, so that its client may take as long as it goes on reading."""


class Observed:
    """Give each request an id, or keep the one it brings, and say how it ended."""

    def __init__(self, app: ASGIApp, metrics: Metrics, access_log: bool, paths: Collection[str] = ()) -> None:
        self.app, self.metrics, self.access_log = app, metrics, access_log
        self.paths = OWN_PATHS.union(paths)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass a request on, and count it when it has ended, however it ended."""
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        brought = next((value for name, value in scope["headers"] if name == b"x-request-id"), b"")
        name = brought if _ID.fullmatch(brought) else secrets.token_hex(8).encode()
        flow = scope.get("state", {}).get(FLOW)
        status = ABANDONED
        start = perf_counter()

        async def send_with_id(message: Message) -> None:
            nonlocal status
            if message["type"] == "http.response.start":
                status = message["status"]
                headers = [(b"x-request-id", name), (b"x-content-type-options", b"nosniff")]
                message = {**message, "headers": [*message.get("headers", ()), *headers]}
            elif len(body := message.get("body", b"")) > PIECE:
                last = (len(body) - 1) // PIECE * PIECE
                for start in range(0, last, PIECE):
                    await send({**message, "body": body[start : start + PIECE], "more_body": True})
                    await asyncio.sleep(0)  # others come first, and so does news that the client has left
                    if flow and flow.cut_off:
                        return
                message = {**message, "body": body[last:]}
            await send(message)
            if flow:
                await flow.drain()  # what has not left may yet be cut off

        gauges = self.metrics.gauges
        gauges["perfmodel_requests_in_flight"] = gauges.get("perfmodel_requests_in_flight", 0) + 1
        try:
            await self.app(scope, receive, send_with_id)
        finally:
            gauges["perfmodel_requests_in_flight"] -= 1
            status = ABANDONED if flow and flow.cut_off else status
            self._count(scope, name.decode(), status, perf_counter() - start)

    def _count(self, scope: Scope, name: str, status: int, seconds: float) -> None:
        route = scope["path"] if scope["path"] in self.paths else _route_of(scope)
        self.metrics.add("perfmodel_requests_total", route=route, status=str(status))
        self.metrics.observe("perfmodel_request_seconds", seconds, route=route)
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
            )


def _route_of(scope: Scope) -> str:
    """Return the route that answered: as many as there are routes, whatever paths strangers try."""
    route = getattr(scope.get("route"), "path", None)
    if route is None and scope.get("endpoint") is not None and not scope.get("path_params"):
        route = scope["path"]
    return str(route or "other")
