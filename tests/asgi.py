"""Calls an ASGI application in this process: no socket, no other package."""

from __future__ import annotations

import asyncio
import json
import threading
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any


@dataclass
class Answer:
    """What an application sent."""

    status_code: int
    headers: dict[str, str]
    content: bytes

    def json(self) -> Any:
        return json.loads(self.content)


class Caller:
    """Sends requests to an application, all of a thread in one event loop: a new one costs half an answer."""

    def __init__(self, app: Any) -> None:
        self.app = app
        self._here = threading.local()

    def get(self, path: str, headers: Mapping[str, str] | None = None) -> Answer:
        return self.send("GET", path, b"", headers or {})

    def post(
        self,
        path: str,
        *,
        json: Any = None,
        content: bytes | None = None,
        headers: Mapping[str, str] | None = None,
    ) -> Answer:
        body = _written(json) if content is None else content
        return self.send("POST", path, body, {"content-type": "application/json", **(headers or {})})

    def send(self, method: str, path: str, body: bytes, headers: Mapping[str, str]) -> Answer:
        if not hasattr(self._here, "loop"):
            self._here.loop = asyncio.new_event_loop()
        answer: Answer = self._here.loop.run_until_complete(_called(self.app, method, path, body, headers))
        return answer


def _written(value: Any) -> bytes:
    return json.dumps(value).encode()


async def _called(app: Any, method: str, path: str, body: bytes, headers: Mapping[str, str]) -> Answer:
    path, _, query = path.partition("?")
    scope = {
        "type": "http",
        "asgi": {"version": "3.0", "spec_version": "2.3"},
        "http_version": "1.1",
        "method": method,
        "scheme": "http",
        "path": path,
        "raw_path": path.encode(),
        "root_path": "",
        "query_string": query.encode(),
        "headers": [(name.lower().encode(), value.encode()) for name, value in headers.items()],
        "client": ("127.0.0.1", 1),
        "server": ("127.0.0.1", 80),
        "state": {},
    }
    waiting = [{"type": "http.request", "body": body, "more_body": False}]
    sent: list[dict[str, Any]] = []

    async def receive() -> dict[str, Any]:
        if waiting:
            return waiting.pop()
        await asyncio.Event().wait()  # the caller stays
        raise AssertionError

    async def send(message: dict[str, Any]) -> None:
        sent.append(message)

    await asyncio.wait_for(app(scope, receive, send), 120)
    start, *rest = sent
    return Answer(
        start["status"],
        {name.decode(): value.decode() for name, value in start["headers"]},
        b"".join(message.get("body", b"") for message in rest),
    )
