"""Protection against web pages: only the service's own host names and origins are accepted."""

from __future__ import annotations

from starlette.types import ASGIApp, Receive, Scope, Send

from perfmodel.interfaces.service.refusal import CLOSE, Refusal
from perfmodel.interfaces.service.settings import Settings


class OwnOrigin:
    """Refuse requests to another host name, and requests from pages of another origin.

    A page can let its own host name resolve to 127.0.0.1 and read answers as its own (DNS rebinding); the
    ``Host`` header shows that name.  Other pages cannot read answers, but can make the service calculate;
    their ``Origin`` header is not the service's own.
    """

    def __init__(self, app: ASGIApp, settings: Settings) -> None:
        self.app = app
        self.hosts = settings.hosts
        self.origins = frozenset(origin.rstrip("/").lower().encode() for origin in settings.cors_origin)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass on a request, or answer 421 or 403."""
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        host = origin = None
        for name, value in scope["headers"]:
            if name == b"host":
                host = value.lower() if host is None else b""  # two of them: neither is trusted
            elif name == b"origin":
                origin = value.lower()
        if self.hosts is not None and _name_of(host) not in self.hosts:
            detail = f"this host is not served here; address {', '.join(sorted(self.hosts))}"
            await Refusal(421, f"{detail}, or start the service with --allowed-host", CLOSE).answer(send)
        elif origin is not None and origin not in self.origins and origin.partition(b"://")[2] != host:
            detail = "pages of this origin may not call the service; start it with --cors-origin"
            await Refusal(403, detail, CLOSE).answer(send)
        else:
            await self.app(scope, receive, send)


def _name_of(host: bytes | None) -> str:
    """Return the host name of a ``Host`` header, without its port.

    >>> _name_of(b"localhost:8080"), _name_of(b"[::1]:8080"), _name_of(None)
    ('localhost', '[::1]', '')
    """
    text = (host or b"").decode("latin-1")
    name, colon, port = text.rpartition(":")
    return name if colon and port.isdecimal() else text
