"""The layers around the application, in order; ``Protected`` has all of them."""

from __future__ import annotations

from collections.abc import Sequence

from starlette.middleware.cors import CORSMiddleware
from starlette.routing import BaseRoute, Match
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from perfmodel.interfaces.service.bearer import Bearer
from perfmodel.interfaces.service.bodies import Bodies
from perfmodel.interfaces.service.heads import Heads
from perfmodel.interfaces.service.health import Counted, Health
from perfmodel.interfaces.service.metrics import Metrics
from perfmodel.interfaces.service.observe import Observed
from perfmodel.interfaces.service.origin import OwnOrigin
from perfmodel.interfaces.service.pool import Pool
from perfmodel.interfaces.service.settings import Settings
from perfmodel.interfaces.service.tokens import Tokens


class Protected:
    """The application with the layers that enforce its limits; its pool starts and ends with it.

    Parameters
    ----------
    app : the application
    pool : that its costly routes use, or None
    """

    def __init__(
        self, app: ASGIApp, settings: Settings, pool: Pool | None = None, metrics: Metrics | None = None
    ) -> None:
        self.settings, self.pool = settings, pool
        self.metrics = metrics or Metrics()
        if pool is not None:
            pool.metrics = self.metrics
        routes = getattr(app, "routes", ())
        layer: ASGIApp = Bodies(app, settings, self.metrics, lambda scope: _routed(scope, routes))
        layer = Bearer(Counted(layer, self.metrics), Tokens(settings.token_file))
        if settings.cors_origin:  # before tokens: preflight requests of browsers carry none
            layer = CORSMiddleware(
                layer,
                allow_origins=settings.cors_origin,
                allow_methods=("GET", "POST"),
                allow_headers=("authorization", "content-type", "if-none-match", "x-request-id"),
                expose_headers=("etag", "x-request-id", "retry-after"),
            )
        layer = OwnOrigin(Health(layer, self.unready, self.crowded), settings)
        paths = frozenset(route.path for route in routes)
        self.app = Observed(Heads(layer), self.metrics, settings.access_log, paths, settings.body_seconds)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request, or start and end with the server."""
        if scope["type"] == "lifespan":
            await self._live(scope, receive, send)
        elif scope["type"] == "http":
            await self.app(scope, receive, send)
        else:
            await send({"type": "websocket.close", "code": 1008})

    def unready(self) -> str | None:
        """Return why the service cannot take requests; None if it can."""
        return None if self.pool is None or self.pool.ready else "no process of the pool is ready"

    def crowded(self) -> bool:
        """Return whether more requests are in flight than the settings allow."""
        return self.app.in_flight > self.settings.connections

    async def _live(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Start the pool before the application, and end it after."""
        if self.pool is not None:
            await self.pool.start()

        async def receive_after_us() -> Message:
            message = await receive()
            if message["type"] == "lifespan.shutdown":  # when the application says it has ended, all ends
                await self._end()
            return message

        try:
            await self.app(scope, receive_after_us, send)
        finally:
            await self._end()

    async def _end(self) -> None:
        """Close the pool, if it is running."""
        if self.pool is not None and self.pool.ready:
            await self.pool.close()


def _routed(scope: Scope, routes: Sequence[BaseRoute]) -> bool:
    """Return whether a route matches a request; an application without routes matches all."""
    return not routes or any(route.matches(scope)[0] is Match.FULL for route in routes)
