"""What an orchestrator asks: alive, ready, and how it goes."""

from __future__ import annotations

import json
from collections.abc import Callable

from starlette.types import ASGIApp, Receive, Scope, Send

from perfmodel.interfaces.service.metrics import KIND, Metrics
from perfmodel.interfaces.service.refusal import AGAIN, CLOSE, Refusal, answer


class Health:
    """Answer /healthz and /readyz, which need no token and say yes or no, however many others are in flight.

    Parameters
    ----------
    unready : returns why no requests should come here, or None
    crowded : returns whether requests are refused because there are too many
    """

    def __init__(self, app: ASGIApp, unready: Callable[[], str | None], crowded: Callable[[], bool]) -> None:
        self.app, self.unready, self.crowded = app, unready, crowded

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer, pass the request on, or refuse it with 503."""
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
    """Answer /metrics, which stands behind the token as all else."""

    def __init__(self, app: ASGIApp, metrics: Metrics) -> None:
        self.app, self.metrics = app, metrics

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer, or pass the request on."""
        if scope["type"] != "http" or scope["path"] != "/metrics":
            await self.app(scope, receive, send)
        elif scope["method"] not in ("GET", "HEAD"):
            await _only_get(send)
        else:
            await answer(send, 200, self.metrics.text(), KIND)


async def _only_get(send: Send) -> None:
    await Refusal(405, "expected GET", {"allow": "GET, HEAD"}).answer(send)
