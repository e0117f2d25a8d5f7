"""Bearer tokens: access to the service, if it requires tokens."""

from __future__ import annotations

from contextvars import ContextVar
from hashlib import sha256
from hmac import compare_digest

from starlette.types import ASGIApp, Receive, Scope, Send

from perfmodel.interfaces.service.refusal import CLOSE, Refusal
from perfmodel.interfaces.service.tokens import Tokens

TOKEN = "token"
"""Key in the state of a request for the name of its token."""
OWNER: ContextVar[str] = ContextVar("OWNER", default="")
"""Name of the token of the current request."""


class Bearer:
    """Refuse requests without a valid token; the response time reveals nothing about the tokens."""

    def __init__(self, app: ASGIApp, tokens: Tokens) -> None:
        self.app, self.tokens = app, tokens

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Let a request pass, or answer 401."""
        if scope["type"] != "http" or self.tokens.path is None:
            await self.app(scope, receive, send)
            return
        owner = self._owner(scope["headers"])
        if owner is not None:
            scope.setdefault("state", {})[TOKEN] = owner
            OWNER.set(owner)
            await self.app(scope, receive, send)
            return
        headers = {"www-authenticate": "Bearer", **CLOSE}
        await Refusal(401, "send a token: Authorization: Bearer TOKEN", headers).answer(send)

    def _owner(self, headers: list[tuple[bytes, bytes]]) -> str | None:
        """Return the name of a request's token; None where it has no known one."""
        values = [value for name, value in headers if name == b"authorization"]
        kind, _, token = values[0].partition(b" ") if len(values) == 1 else (b"", b"", b"")
        given = sha256(token.strip()).digest()
        # every token is compared, even after a match
        fits = [name for digest, name in self.tokens.names.items() if compare_digest(given, digest)]
        return fits[0] if fits and kind.lower() == b"bearer" else None
