"""Costly work: bounded in time, memory and number, ended when nobody waits for it, lost with no process."""

from __future__ import annotations

import asyncio
import json
import os
import signal
import time
from collections.abc import Awaitable, Callable, Coroutine
from contextlib import suppress
from dataclasses import replace
from typing import Any

import pytest

pytest.importorskip("fastapi")

from perfmodel.errors import InputError
from perfmodel.service import pool as pool_module
from perfmodel.service.bodies import CLIENT_LEAVES, ClientDisconnected
from perfmodel.service.metrics import Metrics
from perfmodel.service.outcomes import Failed
from perfmodel.service.pool import Pool
from perfmodel.service.refusal import Refusal
from perfmodel.service.settings import Settings
from tests.serving import PATIENCE, Served, comes, serving

TARGET = "tests.serving:calculate"
SETTINGS = Settings(pool=2, queue=2, seconds=20, memory_bytes=300_000_000, access_log=False)


@pytest.fixture(autouse=True)
def _importable(monkeypatch):
    """Let the processes of the pool import the tests; otherwise no folder of the caller is looked in."""
    monkeypatch.setenv("PYTHONPATH", os.getcwd())


def with_pool(
    test: Callable[[Pool], Coroutine[Any, Any, None]], settings: Settings = SETTINGS, target: str = TARGET
) -> Metrics:
    async def run() -> Metrics:
        pool = Pool(settings, target=target)
        await pool.start()
        try:
            async with asyncio.timeout(3 * PATIENCE):
                await test(pool)
        finally:
            await pool.close()
        assert not [worker for worker in pool._all if worker.alive]
        return pool.metrics

    return asyncio.run(run())


def outcomes(metrics: Metrics) -> dict[str, float]:
    return {
        key.split('"')[1]: value
        for key, value in metrics.series.items()
        if key.startswith("perfmodel_pool_total")
    }


async def until(wanted: Callable[[], bool]) -> None:
    """Wait until something is true."""
    async with asyncio.timeout(PATIENCE):
        while not wanted():
            await asyncio.sleep(0.01)


async def process_of(pool: Pool) -> int:
    return int(json.loads(await pool.run("who", b""))["process"])


async def refusal_of(work: Awaitable[bytes]) -> Refusal:
    with pytest.raises(Refusal) as caught:
        await work
    return caught.value


def test_answers_come_from_other_processes_that_give_way():
    async def test(pool: Pool) -> None:
        answer = json.loads(await pool.run("print", b"{}"))
        assert answer["process"] != os.getpid()
        assert answer["nice"] == min(19, os.nice(0) + 10)
        many = await asyncio.gather(*(pool.run("who", b"") for _ in range(4)))
        assert len({json.loads(one)["process"] for one in many}) == 2
        with pytest.raises(InputError, match="wrong, and what would be right"):
            await pool.run("wrong", b"")
        with pytest.raises(Failed, match="JSONDecodeError: Expecting value"):
            await pool.run("who", b"no JSON")

    metrics = with_pool(test)
    assert outcomes(metrics) == {"answered": 5, "bad input": 1, "error": 1}
    assert metrics.series["perfmodel_pool_starts_total"] == 2


def test_what_takes_too_long_is_ended_and_its_process_replaced():
    async def test(pool: Pool) -> None:
        before = {worker.process.pid for worker in pool._all}
        pool.settings = replace(SETTINGS, seconds=0.5)
        start = time.monotonic()
        slow = [refusal_of(pool.run("sleep", b'{"seconds": 60}')) for _ in range(2)]
        refusals = await asyncio.gather(*slow)
        assert time.monotonic() - start < PATIENCE
        pool.settings = SETTINGS  # what is to be answered has time
        assert {refusal.status_code for refusal in refusals} == {504}
        assert "0.5 s" in refusals[0].detail
        assert await process_of(pool) not in before
        await asyncio.gather(*pool._ending)
        for process in before:
            with pytest.raises(ProcessLookupError):
                os.kill(process, 0)

    assert outcomes(with_pool(test)) == {"timed out": 2, "answered": 1}


def test_what_takes_too_much_memory_is_refused_and_the_next_is_answered():
    async def test(pool: Pool) -> None:
        refusal = await refusal_of(pool.run("fill", b'{"bytes": 400000000}'))
        assert (refusal.status_code, "300,000,000 bytes" in refusal.detail) == (422, True)
        assert await pool.run("fill", b'{"bytes": 100000000}') == b"100000000"

    assert outcomes(with_pool(test)) == {"out of memory": 1, "answered": 1}


def test_a_killed_process_loses_nothing_and_answers_nothing_twice(tmp_path):
    body = json.dumps({"file": str(tmp_path / "once")}).encode()

    async def test(pool: Pool) -> None:
        assert await pool.run("die-once", body) == b'"second"'
        refusal = await refusal_of(pool.run("die", b""))
        assert refusal.status_code == 503
        assert refusal.headers is not None
        assert refusal.headers["retry-after"] == "1"
        assert await process_of(pool)

    assert outcomes(with_pool(test)) == {"answered": 2, "cut off": 1, "lost": 3}


def test_processes_killed_from_outside_are_replaced(tmp_path):
    files = [tmp_path / "first", tmp_path / "second"]
    long = [json.dumps({"file": str(file)}).encode() for file in files]

    async def test(pool: Pool) -> None:
        work = [asyncio.create_task(pool.run("sleep-once", body)) for body in long]
        work += [asyncio.create_task(pool.run("who", b"")) for _ in range(2)]
        await until(lambda: all(file.exists() for file in files))
        for worker in list(pool._all):
            os.kill(worker.process.pid, signal.SIGKILL)
        answers = [json.loads(answer) for answer in await asyncio.gather(*work)]
        assert answers[:2] == ["second", "second"]
        assert all("process" in answer for answer in answers[2:])
        idle = list(pool._all)
        for worker in idle:
            os.kill(worker.process.pid, signal.SIGKILL)
        await until(lambda: not any(worker.alive for worker in idle))
        assert await process_of(pool)

    assert outcomes(with_pool(test)) == {"answered": 5, "lost": 2}


def test_one_that_died_while_it_waited_is_not_one_that_was_lost():
    async def test(pool: Pool) -> None:
        for worker in list(pool._all):
            os.kill(worker.process.pid, signal.SIGKILL)
            with suppress(ChildProcessError):  # before the pool's loop hears of it
                os.waitid(os.P_PID, worker.process.pid, os.WEXITED | os.WNOWAIT)
        assert await process_of(pool)

    assert outcomes(with_pool(test)) == {"answered": 1}


def test_signals_for_the_whole_group_leave_the_work_be():
    async def test(pool: Pool) -> None:
        work = [asyncio.create_task(pool.run("sleep", b'{"seconds": 0.3}')) for _ in range(2)]
        await asyncio.sleep(0.1)
        for worker in list(pool._all):
            os.kill(worker.process.pid, signal.SIGINT)
            os.kill(worker.process.pid, signal.SIGTERM)
        assert len(await asyncio.gather(*work)) == 2

    assert with_pool(test).series["perfmodel_pool_starts_total"] == 2


def test_the_queue_is_bounded():
    async def test(pool: Pool) -> None:
        running = [asyncio.create_task(pool.run("sleep", b'{"seconds": 15}')) for _ in range(2)]
        waiting = [asyncio.create_task(pool.run("who", b"")) for _ in range(2)]
        gauges = pool.metrics.gauges
        await until(lambda: gauges.get("perfmodel_pool_waiting") == gauges.get("perfmodel_pool_running") == 2)
        refusal = await refusal_of(pool.run("who", b""))
        assert refusal.status_code == 429
        assert refusal.headers == {"retry-after": "1"}
        for work in running:
            work.cancel()
        assert len(await asyncio.gather(*waiting)) == 2
        assert gauges["perfmodel_pool_running"] == 0

    assert outcomes(with_pool(test)) == {"answered": 2, "refused": 1, "cancelled": 2}


def test_work_ends_when_its_client_leaves():
    async def test(pool: Pool) -> None:
        left = asyncio.Event()
        CLIENT_LEAVES.set(left.wait)  # type: ignore[arg-type]
        before = {worker.process.pid for worker in pool._all}
        work = asyncio.create_task(pool.run("sleep", b'{"seconds": 15}'))
        await until(lambda: pool.metrics.gauges.get("perfmodel_pool_running") == 1)
        left.set()
        with pytest.raises(ClientDisconnected):
            await work
        CLIENT_LEAVES.set(None)
        await process_of(pool)
        assert len(before & {worker.process.pid for worker in pool._all}) == 1

    assert outcomes(with_pool(test)) == {"client left": 1, "answered": 1}


def test_an_answer_is_bounded(monkeypatch):
    monkeypatch.setattr(pool_module, "MOST_REPLY", 10)

    async def test(pool: Pool) -> None:
        assert (await refusal_of(pool.run("who", b""))).status_code == 422
        assert await pool.run("fill", b'{"bytes": 1}') == b"1"

    with_pool(test)


def test_a_pool_that_cannot_start_says_so():
    async def test(pool: Pool) -> None:
        raise AssertionError("it has started")

    with pytest.raises(Refusal, match="no process"):
        with_pool(test, target="tests.serving:nothing")


@pytest.fixture(scope="module")
def service():
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("PYTHONPATH", os.getcwd())
        pool = Pool(SETTINGS, target=TARGET)
        with serving(SETTINGS, pool=pool) as served:
            yield served


def test_a_client_that_hangs_up_frees_its_place(service: Served):
    request = b"POST /pool/sleep HTTP/1.1\r\nhost: localhost\r\ncontent-type: application/json\r\n"
    body = b'{"seconds": 60}'
    gauges = service.app.metrics.gauges
    held = [service.connect() for _ in range(4)]
    for taken in held:
        taken.sendall(request + b"content-length: %d\r\n\r\n" % len(body) + body)
    assert comes(lambda: gauges.get("perfmodel_pool_waiting") == 2)
    for taken in held:
        taken.close()
    assert comes(lambda: gauges["perfmodel_pool_running"] == 0)
    assert service.ask("/pool/who", b"{}")[0] == 200
    counts = outcomes(service.app.metrics)
    assert counts["client left"] >= 3
    assert comes(lambda: gauges["perfmodel_requests_in_flight"] == 0)
    assert service.app.metrics.series['perfmodel_requests_total{route="other",status="499"}'] >= 3


def test_readiness_follows_the_pool(service: Served):
    assert comes(lambda: service.answers("/readyz"))
    service.app.draining = True
    try:
        assert service.ask("/readyz")[0] == 503
        assert service.ask("/healthz")[0] == 200
    finally:
        service.app.draining = False


def test_parts_leave_as_they_are_calculated():
    async def test(pool: Pool) -> None:
        parts = await pool.stream("parts", b'{"parts": 3}')
        assert [part async for part in parts] == [b"0", b"1", b"2", b""]
        with pytest.raises(InputError, match="before the first"):
            await pool.stream("parts", b'{"parts": 0}')
        parts = await pool.stream("parts", b'{"parts": 1000000000}')
        assert await anext(parts) == b"0"
        assert pool.metrics.gauges["perfmodel_pool_running"] == 1
        await parts.aclose()  # type: ignore[attr-defined]
        assert pool.metrics.gauges["perfmodel_pool_running"] == 0
        assert await process_of(pool)

    assert outcomes(with_pool(test)) == {"answered": 2, "bad input": 1, "client left": 1}


def test_a_process_whose_answer_nobody_reads_ends():
    async def test(pool: Pool) -> None:
        parts = await pool.stream("parts", b'{"parts": 1000000000}')
        (worker,) = (each for each in pool._all if each.requests)
        assert worker.process.stdout is not None
        while not worker.process.stdout._paused:  # type: ignore[attr-defined]
            await asyncio.sleep(0.01)
        await worker.end()
        await parts.aclose()  # type: ignore[attr-defined]

    with_pool(test)


def test_parts_together_have_so_much_time():
    async def test(pool: Pool) -> None:
        # a busy machine may need all the time for the first part
        with pytest.raises(Refusal, match="longer than"):
            [part async for part in await pool.stream("parts", b'{"parts": 1000000000}')]

    assert outcomes(with_pool(test, replace(SETTINGS, seconds=0.5))) == {"timed out": 1}
