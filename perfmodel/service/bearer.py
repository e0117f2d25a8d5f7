"""Bearer tokens: who may ask at all, where the service says so."""

from __future__ import annotations

from contextvars import ContextVar
from hashlib import sha256
from hmac import compare_digest

from starlette.types import ASGIApp, Receive, Scope, Send

from perfmodel.service.refusal import CLOSE, Refusal

OWNER: ContextVar[str] = ContextVar("OWNER", default="")
"""Name of the token that the request at hand came with."""


class Bearer:
    """Refuse requests without one of the tokens; the time a refusal takes says nothing of the tokens."""

    def __init__(self, app: ASGIApp, tokens: tuple[bytes, ...]) -> None:
        self.app = app
        self.digests = tuple(sha256(token).digest() for token in tokens)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Let a request pass, or answer 401."""
        if scope["type"] != "http" or not self.digests or self._knows(scope["headers"]):
            await self.app(scope, receive, send)
            return
        headers = {"www-authenticate": "Bearer", **CLOSE}
        await Refusal(401, "send a token: Authorization: Bearer TOKEN", headers).answer(send)

    def _knows(self, headers: list[tuple[bytes, bytes]]) -> bool:
        values = [value for name, value in headers if name == b"authorization"]
        kind, _, token = values[0].partition(b" ") if len(values) == 1 else (b"", b"", b"")
        given = sha256(token.strip()).digest()
        # every token is compared, also after one that fits
        fits = [compare_digest(given, digest) for digest in self.digests]
        return kind.lower() == b"bearer" and any(fits)
