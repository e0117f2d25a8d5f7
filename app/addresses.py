"""Which page an address asks for, before Streamlit sees it: every address ends in a page of ours.

Streamlit serves itself at any address, and finds out in the browser that it has no page of that name; at an
address of more than one step it draws nothing.  It also asks below the address of each page whether it
runs there, in vain.  Here a page comes with the place where the app runs, and what is no page leads to the
one that says so.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import urlencode

import streamlit
from starlette.responses import HTMLResponse, RedirectResponse, Response

from app.menu import MORE, PAGES, UNKNOWN

if TYPE_CHECKING:
    from starlette.types import ASGIApp, Receive, Scope, Send

STATIC = Path(streamlit.__file__).with_name("static")
FILES = {file.name for file in STATIC.iterdir() if file.is_file()} - {"index.html"}
CORE = "_stcore"
FOLDERS = {CORE, "component", "media", "static"}
"""What below the root is Streamlit's own."""
KNOWN = {name for name, _ in (*PAGES, *MORE)} | {UNKNOWN}
_WHERE_THE_APP_RUNS = (
    "<script>window.__streamlit = { BACKEND_BASE_URL: new URL('./', location.href).href };</script>"
)
"""As the browser sees it, whatever stands before the app's own addresses on the way there."""


class Addresses:
    """Answers what asks for a page; hands everything else on."""

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
        """Return the page itself, or the way to the right one; None of what is no page's address."""
        start = f"/{self.base}" if self.base else ""
        if not path.startswith(f"{start}/"):
            return None
        steps = [step for step in path.removeprefix(start).split("/") if step]
        if self._is_streamlits(steps):
            return None
        # an encoded slash is a step of the path, but none for the browser that follows a relative address
        depth = (as_sent or path.encode()).count(b"/") - 1 - start.count("/")
        asked = f"?{query}" if query else ""
        if not steps or (len(steps) == 1 and steps[0] in KNOWN):
            if not depth:
                return HTMLResponse(self.shown, headers={"Cache-Control": "no-cache"})
            return RedirectResponse(f"{'../' * depth}{''.join(steps)}{asked}")
        wanted = urlencode({"address": f"/{'/'.join(steps)}{asked}"})
        return RedirectResponse(f"{'../' * depth or './'}{UNKNOWN}?{wanted}")

    @staticmethod
    def _is_streamlits(steps: list[str]) -> bool:
        """Whether it is Streamlit's own, or where it looks for itself if nobody says where it runs."""
        if len(steps) < 2:
            return steps[:1] != [] and steps[0] in FILES
        return steps[0] in FOLDERS or CORE in steps
