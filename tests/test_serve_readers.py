"""An answer goes on as long as its client reads steadily; one that was cut off is never counted as whole."""

from __future__ import annotations

import socket
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress

import pytest

pytest.importorskip("fastapi")

from perfmodel.service import observe, server
from perfmodel.service.settings import Settings
from tests.serving import Served, comes, parsed, rest_of, serving

WHOLE = 50_000_000
"""Bytes of the answer to ``/long``."""
SOON = 0.4
"""Seconds that a limit of time is."""
ENDINGS = pytest.mark.parametrize("ending", ["close", "keep-alive"])


@contextmanager
def long_answer(ending: str, **seconds: float) -> Iterator[tuple[Served, socket.socket]]:
    """Ask for a long answer, of which nothing is read yet."""
    with serving(Settings(access_log=False, **seconds)) as served, served.connect() as taken:
        taken.sendall(f"GET /long HTTP/1.1\r\nhost: localhost\r\nconnection: {ending}\r\n\r\n".encode())
        assert comes(lambda: bool(served.tiny.bodies))
        yield served, taken


@pytest.fixture
def at_once(monkeypatch):
    """Give answers to the transport in one piece, so that they are complete long before they have left."""
    monkeypatch.setattr(observe, "PIECE", WHOLE)


def counted(served: Served, name: str) -> float:
    return served.app.metrics.series.get(name, 0)


def ended(served: Served, status: int) -> bool:
    """Whether the one request that there was is counted with a status, and with no other."""
    total = "perfmodel_requests_total{"
    counts = {name: count for name, count in served.app.metrics.series.items() if name.startswith(total)}
    return counts == {f'{total}route="other",status="{status}"}}': 1}


@pytest.mark.parametrize(
    "held",
    [
        server.SENT_AHEAD,
        pytest.param(
            2_000_000, marks=pytest.mark.skipif(sys.platform != "linux", reason="says what was taken")
        ),
    ],
)
def test_a_steady_slow_reader_is_not_cut_off(monkeypatch, held):
    """It takes 800 kB in each second, and has to take 100 kB, whatever the system holds for it."""
    monkeypatch.setattr(server, "SENT_AHEAD", held)
    with long_answer("close", body_seconds=1) as (served, taken):
        parts = []
        for _ in range(40):
            time.sleep(0.05)
            parts.append(taken.recv(40_000))
        parts.append(rest_of(taken))
        assert len(parsed(b"".join(parts))[2]) == WHOLE
        assert comes(lambda: ended(served, 200))


@ENDINGS
def test_what_has_not_left_is_waited_for_although_the_answer_is_complete(at_once, ending):
    with long_answer(ending, head_seconds=SOON, idle_seconds=1) as (served, taken):
        time.sleep(1.5)  # beyond both
        assert not served.app.connections.waiting  # nor does it make room for others
        assert not ended(served, 200)
        assert len(parsed(rest_of(taken))[2]) == WHOLE
        assert comes(lambda: ended(served, 200))


@ENDINGS
def test_a_complete_answer_that_is_cut_off_is_counted_so(at_once, ending):
    with long_answer(ending, body_seconds=SOON) as (served, taken):
        assert comes(lambda: not served.connections)
        assert len(rest_of(taken)) < WHOLE
        assert comes(lambda: ended(served, 499))
        assert counted(served, 'perfmodel_connections_closed_total{reason="slow reader"}') == 1


def test_a_slow_reader_does_not_stay_by_sending_another_request():
    with long_answer("keep-alive", body_seconds=1) as (served, taken):
        time.sleep(0.3)  # by then writing waits for it
        with suppress(OSError):  # of a busy machine already closed
            taken.sendall(b"GET / HTTP/1.1\r\nhost: localhost\r\n\r\n")
        assert comes(lambda: not served.connections, 10)
