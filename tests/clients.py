"""A service of this process on a loopback address, and a client of it."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest

from perfmodel.interfaces.client import Client


@contextmanager
def served(**options: Any) -> Iterator[Client]:
    """Give a client of a service that runs until the block ends; without uvicorn the test is skipped."""
    uvicorn = pytest.importorskip("uvicorn")
    from perfmodel.interfaces.service.application import application

    server = uvicorn.Server(uvicorn.Config(application(), port=0, log_level="error"))
    thread = threading.Thread(target=server.run, daemon=True)
    thread.start()
    deadline = time.monotonic() + 60
    while not server.started:
        assert thread.is_alive()
        assert time.monotonic() < deadline
        time.sleep(0.01)
    port = server.servers[0].sockets[0].getsockname()[1]
    yield Client(f"http://127.0.0.1:{port}", **options)
    server.should_exit = True
    thread.join(10)
