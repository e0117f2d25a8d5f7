"""Heads of requests, limited in size."""

from __future__ import annotations

from starlette.types import ASGIApp, Receive, Scope, Send

from perfmodel.interfaces.service.refusal import CLOSE, Refusal

MOST_HEAD = 32_768
"""Largest head of a request: first line and headers [B]."""


class Heads:
    """Refuse a long head that arrived at once; uvicorn refuses an incomplete one."""

    def __init__(self, app: ASGIApp) -> None:
        self.app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass on a request, or answer 431."""
        if scope["type"] == "http":
            size = len(scope.get("raw_path") or scope["path"]) + len(scope["query_string"])
            if size + sum(len(name) + len(value) for name, value in scope["headers"]) > MOST_HEAD:
                await Refusal(431, f"the head is longer than {MOST_HEAD:,} bytes", CLOSE).answer(send)
                return
        await self.app(scope, receive, send)
