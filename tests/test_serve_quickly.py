"""Cheap work that is not: it is broken off where everybody waits for it, and answered elsewhere."""

from __future__ import annotations

import signal
import threading
import time

import pytest

pytest.importorskip("fastapi")

from perfmodel.service.commands import answer
from perfmodel.service.quickly import quickly


def endless(name: str, body: bytes) -> bytes:
    deadline = time.monotonic() + 120
    try:
        while time.monotonic() < deadline:
            try:
                sum(range(1000))
            except Exception:
                return b"taken for an error"
    finally:
        sum(range(1000))
    return b"to its end"


def refused(name: str, body: bytes) -> bytes:
    raise ValueError(name)


def test_what_takes_longer_than_a_moment_is_broken_off():
    start = time.process_time()
    assert quickly(endless, "", b"") is None
    assert time.process_time() - start < 1
    assert signal.getitimer(signal.ITIMER_PROF) == (0.0, 0.0)


def test_what_is_quick_is_answered_and_its_errors_are_its_own():
    assert quickly(lambda name, body: body, "", b"x") == b"x"
    with pytest.raises(ValueError, match="abc"):
        quickly(refused, "abc", b"")
    assert signal.getitimer(signal.ITIMER_PROF) == (0.0, 0.0)


def test_a_signal_that_compiled_code_made_an_error_of_its_own_of_is_one(monkeypatch):
    def wrapped(name: str, body: bytes) -> bytes:
        try:
            while True:
                pass
        except BaseException as error:
            raise TypeError("not serializable") from error

    monkeypatch.setattr("perfmodel.service.quickly.MOMENT", 0.01)
    assert quickly(wrapped, "", b"") is None
    with pytest.raises(ValueError, match="abc"):
        quickly(refused, "abc", b"")


def test_waiting_is_no_work():
    assert quickly(lambda name, body: time.sleep(0.1) or body, "", b"x") == b"x"  # type: ignore[func-returns-value]


def test_in_another_thread_it_runs_to_its_end():
    answers: list[bytes | None] = []
    thread = threading.Thread(target=lambda: answers.append(quickly(lambda name, body: body, "", b"x")))
    thread.start()
    thread.join()
    assert answers == [b"x"]


def test_predictions_that_were_broken_off_spoil_none_after_them(monkeypatch):
    body = b'{"workload": "inception-v3", "gpus": 64, "accelerator": "a100-sxm4-80gb"}'

    def many(name: str, body: bytes) -> bytes:
        return b"".join(answer(name, body.replace(b"64", str(gpus).encode())) for gpus in range(8, 5000))

    whole = answer("predict", body)
    for step in range(10):
        monkeypatch.setattr("perfmodel.service.quickly.MOMENT", 0.004 + step * 0.0007)
        assert quickly(many, "predict", body) is None
        assert answer("predict", body) == whole
