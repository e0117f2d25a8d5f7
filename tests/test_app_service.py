"""``perfmodel app --server``: pages ask the service, say the same, and show what is wrong as a message."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import pytest

from perfmodel.interfaces.cli.app import SERVER
from perfmodel.interfaces.client import Client, connection
from tests.clients import served
from tests.test_app import errors, opened, sound, words

PAGES: dict[str, tuple[dict[str, str], set[str]]] = {
    "predict": ({"gpus": "8", "recipe": "stock"}, {"predict"}),
    "scale": ({"gpus": "1,8", "strategies": "parameter-server"}, {"predict"}),
    "compare": ({"gpus": "8", "b-gpus": "16"}, {"compare", "predict"}),
    "sensitivity": ({"gpus": "8"}, {"sensitivity", "predict"}),
    "plan": ({"instance": "p3.16xlarge", "epochs": "1", "max-gpus": "8"}, {"plan"}),
    "fleets": ({"machine": "dgx-1v", "machines": "2", "workload": "resnet50"}, {"plan"}),
    "quote": ({"gpus": "8", "value": "4000"}, {"check-quote"}),
    "communication": ({"ranks": "16", "algorithms": "NCCL's choice,ring,tree"}, {"collective"}),
    "stragglers": ({"workers": "4", "k": "2"}, {"stragglers"}),
    "trace": ({"gpus": "2"}, {"predict"}),
    "fits": ({"gpus": "8", "workload": "llama-3-8b", "node": "dgx-h100"}, {"fits"}),
    "diagnose": ({"gpus": "8", "measured": "400ms"}, {"diagnose"}),
    "transformers": (
        {"workload": "llama-3-8b", "gpus": "16", "global-batch-size": "64", "node": "dgx-h100"},
        {"layouts", "predict"},
    ),
}
"""A question of each page that computes, and what it asks the service."""


@pytest.fixture(scope="module")
def client() -> Iterator[Client]:
    with served() as client:
        yield client


@pytest.fixture
def asked(monkeypatch) -> set[str]:
    """Commands that clients ask."""
    names: set[str] = set()
    post = connection.Connection.post

    def noted(self: Any, command: str, content: bytes) -> bytes:
        names.add(command)
        return post(self, command, content)

    monkeypatch.setattr(connection.Connection, "post", noted)
    monkeypatch.setattr(connection, "LONGEST_WAIT", 0.01)
    return names


@contextmanager
def answering(status: int, body: dict[str, Any]) -> Iterator[str]:
    """Give the address of a service that answers every request alike."""

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            self.rfile.read(int(self.headers["content-length"]))
            content = json.dumps(body).encode()
            self.send_response(status)
            self.send_header("content-length", str(len(content)))
            self.send_header("retry-after", "0.1")
            self.end_headers()
            self.wfile.write(content)

        def log_message(self, *_: object) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    try:
        yield f"http://127.0.0.1:{server.server_port}"
    finally:
        server.shutdown()
        server.server_close()


@pytest.mark.parametrize("page", PAGES)
def test_a_page_says_of_a_service_what_it_says_alone(page, client, asked, monkeypatch):
    query, commands = PAGES[page]
    test = opened(page, **query)
    here = words(test)
    assert not asked
    assert not test.error
    monkeypatch.setenv(SERVER, client.url)
    sound(test.run())
    assert asked == commands
    assert words(test) == here


@pytest.mark.any_version
@pytest.mark.parametrize("page", PAGES)
@pytest.mark.parametrize(
    ("status", "body"),
    [(422, {"detail": "this is wrong"}), (429, {"detail": "this is full"}), (503, {"detail": "this ends"})],
)
def test_what_a_service_refuses_is_a_message(page, status, body, asked, monkeypatch):
    test = opened(page, **PAGES[page][0])
    with answering(status, body) as url:
        monkeypatch.setenv(SERVER, url)
        sound(test.run())
    assert body["detail"] in errors(test)


@pytest.mark.any_version
@pytest.mark.parametrize("page", PAGES)
def test_a_service_that_is_down_is_a_message(page, monkeypatch):
    with answering(200, {}) as url:
        pass
    test = opened(page, **PAGES[page][0])
    monkeypatch.setenv(SERVER, url)
    sound(test.run())
    assert "no answer" in errors(test)


def test_a_log_of_ones_own_is_sent_to_the_service(client, asked, monkeypatch):
    test = opened("diagnose", gpus="8")
    file = ("train.log", b"Iter #0: 300.0 img/sec per GPU\nIter #1: 301.0 img/sec per GPU\n", "text/plain")
    sound(test.file_uploader(key="measured-file").set_value([file]).run())
    here = words(test)
    assert "Measured: log of " in here
    monkeypatch.setenv(SERVER, client.url)
    sound(test.run())
    assert asked == {"diagnose"}
    assert words(test) == here
