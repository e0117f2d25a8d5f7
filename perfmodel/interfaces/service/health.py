"""Health checks and metrics of the service."""

from __future__ import annotations

import json
from collections.abc import Callable

from starlette.types import ASGIApp, Receive, Scope, Send

from perfmodel.interfaces.service.metrics import KIND, Metrics
from perfmodel.interfaces.service.refusal import AGAIN, CLOSE, Refusal, answer


class Health:
    """Answer /healthz and /readyz without a token and under any load; refuse other requests while overloaded.

    Parameters
    ----------
    unready : function that returns why the service cannot take requests, or None
    crowded : function that returns whether there are too many requests
    """

    def __init__(self, app: ASGIApp, unready: Callable[[], str | None], crowded: Callable[[], bool]) -> None:
        self.app, self.unready, self.crowded = app, unready, crowded

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a health check, pass the request on, or refuse it with 503."""
        if scope["type"] != "http" or scope["path"] not in ("/healthz", "/readyz"):
            if scope["type"] == "http" and self.crowded():
                await Refusal(503, "too many requests at once; try again", {**AGAIN, **CLOSE}).answer(send)
            else:
                await self.app(scope, receive, send)
            return
        reason = self.unready() if scope["path"] == "/readyz" else None
        if scope["method"] not in ("GET", "HEAD"):
            await _only_get(send)
        elif reason:
            await Refusal(503, reason).answer(send)
        else:
            body = json.dumps({"status": "ready" if scope["path"] == "/readyz" else "ok"}).encode()
            await answer(send, 200, body, "application/json", {"cache-control": "no-store"})


class Counted:
    """Answer /metrics, which requires a token like other requests."""

    def __init__(self, app: ASGIApp, metrics: Metrics) -> None:
        self.app, self.metrics = app, metrics

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request for metrics, or pass it on."""
        if scope["type"] != "http" or scope["path"] != "/metrics":
            await self.app(scope, receive, send)
        elif scope["method"] not in ("GET", "HEAD"):
            await _only_get(send)
        else:
            await answer(send, 200, self.metrics.text(), KIND)


async def _only_get(send: Send) -> None:
    """Answer 405 to a method other than GET."""
    await Refusal(405, "expected GET", {"allow": "GET, HEAD"}).answer(send)
