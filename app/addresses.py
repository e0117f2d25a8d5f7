"""Middleware in front of Streamlit: serves each page at its address, and redirects all other addresses.

Streamlit itself answers at any address and finds in the browser that it has no such page; at an address of
more than one segment it draws nothing.  It also probes below each page's address for its own server.  This
middleware tells the browser the app's base address, and redirects unknown addresses to the page ``unknown``.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import urlencode

import streamlit
from starlette.responses import HTMLResponse, RedirectResponse, Response

from app.menu import FIRST, MORE, PAGES, UNKNOWN

if TYPE_CHECKING:
    from starlette.types import ASGIApp, Receive, Scope, Send

STATIC = Path(streamlit.__file__).with_name("static")
FILES = {file.name for file in STATIC.iterdir() if file.is_file()} - {"index.html"}
CORE = "_stcore"
FOLDERS = {CORE, "component", "media", "static"}
"""Folders below the root that Streamlit serves."""
KNOWN = {name for name, _ in (FIRST, *PAGES, *MORE)} | {UNKNOWN}
_WHERE_THE_APP_RUNS = (
    "<script>window.__streamlit = { BACKEND_BASE_URL: new URL('./', location.href).href };</script>"
)
"""Script that sets the app's base address as the browser sees it, also behind a proxy with a path prefix."""


class Addresses:
    """ASGI middleware: answers requests for pages and passes all others to the app."""

    def __init__(self, app: ASGIApp) -> None:
        self.app = app
        self.base = (streamlit.config.get_option("server.baseUrlPath") or "").strip("/")
        shown = (STATIC / "index.html").read_text("utf-8")
        self.shown = shown.replace("<head>", f"<head>{_WHERE_THE_APP_RUNS}", 1)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one request."""
        answer = None
        if scope["type"] == "http" and scope["method"] in ("GET", "HEAD"):
            query = scope["query_string"].decode("latin-1")
            answer = self.answer(scope["path"], scope.get("raw_path"), query)
        await (answer or self.app)(scope, receive, send)

    def answer(self, path: str, as_sent: bytes | None, query: str) -> Response | None:
        """Return the page or a redirect to the right address; None if Streamlit should answer.

        Parameters
        ----------
        path, as_sent : of the request, decoded, and as it was sent if known
        query : of the request, without the question mark
        """
        start = f"/{self.base}" if self.base else ""
        if not path.startswith(f"{start}/"):
            return None
        steps = [step for step in path.removeprefix(start).split("/") if step]
        if self._is_streamlits(steps):
            return None
        # an encoded slash separates segments here, but not in the browser that resolves a relative address
        depth = (as_sent or path.encode()).count(b"/") - 1 - start.count("/")
        query_text = f"?{query}" if query else ""
        if not steps or (len(steps) == 1 and steps[0] in KNOWN):
            if not depth:
                return HTMLResponse(self.shown, headers={"Cache-Control": "no-cache"})
            return RedirectResponse(f"{'../' * depth}{''.join(steps)}{query_text}")
        wanted = urlencode({"address": f"/{'/'.join(steps)}{query_text}"})
        return RedirectResponse(f"{'../' * depth or './'}{UNKNOWN}?{wanted}")

    @staticmethod
    def _is_streamlits(steps: list[str]) -> bool:
        """Whether an address is Streamlit's own: a static file, or a probe for its server."""
        if len(steps) < 2:
            return steps[:1] != [] and steps[0] in FILES
        return steps[0] in FOLDERS or CORE in steps
