"""An answer goes on as long as its client reads steadily; one that was cut off is never counted as whole."""

from __future__ import annotations

import socket
import time
from collections.abc import Iterator
from contextlib import contextmanager

import pytest

pytest.importorskip("fastapi")

from perfmodel.interfaces.service.settings import Settings
from tests.serving import Served, comes, parsed, rest_of, serving

WHOLE = 50_000_000
"""Bytes of the answer to ``/long``."""


@contextmanager
def long_answer(**seconds: float) -> Iterator[tuple[Served, socket.socket]]:
    """Ask for a long answer, of which nothing is read yet."""
    with serving(Settings(access_log=False, **seconds)) as served, served.connect() as taken:
        taken.sendall(b"GET /long HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\n\r\n")
        assert comes(lambda: bool(served.tiny.bodies))
        yield served, taken


def test_a_steady_slow_reader_is_not_cut_off():
    """It takes 800 kB in each second, and has to take a piece of 64 kB."""
    with long_answer(body_seconds=1) as (served, taken):
        parts = []
        for _ in range(40):
            time.sleep(0.05)
            parts.append(taken.recv(40_000))
        parts.append(rest_of(taken))
        assert len(parsed(b"".join(parts))[2]) == WHOLE
        assert comes(lambda: ended(served, 200))


def test_who_stops_reading_is_cut_off_and_counted_so():
    with long_answer(body_seconds=0.4) as (served, taken):
        assert comes(lambda: ended(served, 499))
        assert len(rest_of(taken)) < WHOLE


def ended(served: Served, status: int) -> bool:
    """Whether the one request that there was is counted with a status, and with no other."""
    (family,) = (each for each in served.app.metrics.registry.collect() if each.name == "perfmodel_requests")
    return [each.labels for each in family.samples] == [{"route": "other", "status": str(status)}]
