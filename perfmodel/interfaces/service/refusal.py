"""Refusals by a limit: a status and one sentence, as application/problem+json."""

from __future__ import annotations

from collections.abc import Mapping

from starlette.exceptions import HTTPException
from starlette.types import Send

from perfmodel.interfaces.service.problems import MEDIA_TYPE, body_of, problem

AGAIN = {"retry-after": "1"}
"""Header with the seconds after which a client of a full service may retry."""
CLOSE = {"connection": "close"}
"""Header of a response that is sent before the request was read completely."""
NOTHING: Mapping[str, str] = {}


class Refusal(HTTPException):
    """A request that a limit refuses; ``detail`` names the limit and what would be accepted."""

    def __init__(self, status: int, detail: str, headers: Mapping[str, str] = NOTHING) -> None:
        super().__init__(status, detail, dict(headers))

    def body(self) -> bytes:
        """Return the problem document as JSON (RFC 9457).

        >>> Refusal(408, "too slow").body()
        b'{"type": "about:blank", "title": "Request Timeout", "status": 408, "detail": "too slow"}'
        """
        return body_of(problem(self.status_code, self.detail))

    async def answer(self, send: Send) -> None:
        """Send the problem document as the response."""
        await answer(send, self.status_code, self.body(), MEDIA_TYPE, self.headers or NOTHING)


async def answer(
    send: Send, status: int, body: bytes, kind: str, headers: Mapping[str, str] = NOTHING
) -> None:
    """Send a complete response."""
    head = {"content-type": kind, "content-length": str(len(body)), **headers}
    encoded = [(name.encode("latin-1"), value.encode("latin-1")) for name, value in head.items()]
    await send({"type": "http.response.start", "status": status, "headers": encoded})
    await send({"type": "http.response.body", "body": body})
