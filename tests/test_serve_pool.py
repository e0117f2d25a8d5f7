"""Costly work: bounded in time, memory and number, ended when nobody waits for it, lost with no process."""

from __future__ import annotations

import asyncio
import json
import os
import signal
import time
from collections.abc import Awaitable, Callable, Coroutine
from dataclasses import replace
from typing import Any

import pytest

pytest.importorskip("fastapi")

from perfmodel.core.errors import InputError
from perfmodel.interfaces.service import cheap, costly
from perfmodel.interfaces.service.bearer import OWNER
from perfmodel.interfaces.service.bodies import CLIENT_LEAVES, ClientDisconnected
from perfmodel.interfaces.service.metrics import Metrics
from perfmodel.interfaces.service.outcomes import Failed
from perfmodel.interfaces.service.pool import Pool
from perfmodel.interfaces.service.problems import Refused
from perfmodel.interfaces.service.refusal import Refusal
from perfmodel.interfaces.service.settings import Settings
from perfmodel.interfaces.service.streams import NDJSON
from tests.serving import PATIENCE, Served, calculate, comes, sample, serving

pytestmark = pytest.mark.any_version  # processes and asyncio; test_serve asks a service of any version
SETTINGS = Settings(pool=2, queue=2, seconds=20, memory_bytes=300_000_000, access_log=False)


def with_pool(test: Callable[[Pool], Coroutine[Any, Any, None]], settings: Settings = SETTINGS) -> Metrics:
    async def run() -> Metrics:
        pool = Pool(settings, answer=calculate)
        await pool.start()
        try:
            async with asyncio.timeout(3 * PATIENCE):
                await test(pool)
        finally:
            await pool.close()
        return pool.metrics

    return asyncio.run(run())


def outcomes(metrics: Metrics) -> dict[str, float]:
    (family,) = (each for each in metrics.registry.collect() if each.name == "perfmodel_pool")
    return {each.labels["outcome"]: each.value for each in family.samples}


def runs(metrics: Metrics) -> float:
    return sample(metrics, "perfmodel_pool_running")


def waits(metrics: Metrics) -> float:
    return sample(metrics, "perfmodel_pool_waiting")


async def until(wanted: Callable[[], bool]) -> None:
    """Wait until something is true."""
    async with asyncio.timeout(PATIENCE):
        while not wanted():
            await asyncio.sleep(0.01)


def is_gone(process: int) -> bool:
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return True
    return False


async def processes_of(pool: Pool) -> set[int]:
    """Return the processes of a pool of two that nobody else asks."""
    found: set[int] = set()
    async with asyncio.timeout(PATIENCE):
        while len(found) < 2:
            some = await asyncio.gather(*(pool.run("nap", b"{}") for _ in range(2)))
            found |= {json.loads(each)["process"] for each in some}
    return found


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
        with pytest.raises(InputError, match="wrong, and what would be right"):
            await pool.run("wrong", b"")
        with pytest.raises(Failed, match="JSONDecodeError: Expecting value"):
            await pool.run("who", b"no JSON")
        with pytest.raises(Failed, match="Odd: it says"):
            await pool.run("odd", b"")
        assert await process_of(pool)

    assert outcomes(with_pool(test)) == {"answered": 2, "bad input": 1, "error": 2}


def test_what_takes_too_long_is_ended_and_its_process_replaced():
    async def test(pool: Pool) -> None:
        before = await processes_of(pool)
        pool.settings = replace(SETTINGS, seconds=0.5)
        start = time.monotonic()
        slow = [refusal_of(pool.run("sleep", b'{"seconds": 60}')) for _ in range(2)]
        refusals = await asyncio.gather(*slow)
        assert time.monotonic() - start < PATIENCE
        pool.settings = SETTINGS  # what is to be answered has time
        assert {refusal.status_code for refusal in refusals} == {504}
        assert "0.5 s" in refusals[0].detail
        assert await process_of(pool) not in before
        await until(lambda: all(map(is_gone, before)))

    assert outcomes(with_pool(test))["timed out"] == 2


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
        before = await processes_of(pool)
        work = [asyncio.create_task(pool.run("sleep-once", body)) for body in long]
        work += [asyncio.create_task(pool.run("who", b"")) for _ in range(2)]
        await until(lambda: all(file.exists() for file in files))
        for process in before:
            os.kill(process, signal.SIGKILL)
        answers = [json.loads(answer) for answer in await asyncio.gather(*work)]
        assert answers[:2] == ["second", "second"]
        assert all("process" in answer for answer in answers[2:])

    assert outcomes(with_pool(test))["lost"] == 2


def test_processes_that_die_while_they_wait_cost_no_answer():
    async def test(pool: Pool) -> None:
        for _ in range(2):
            for process in await processes_of(pool):
                os.kill(process, signal.SIGKILL)
            assert await process_of(pool)

    assert set(outcomes(with_pool(test))) <= {"answered", "lost"}


def test_signals_of_a_terminal_leave_the_work_be():
    async def test(pool: Pool) -> None:
        assert all(os.getpgid(process) != os.getpgid(0) for process in await processes_of(pool))

    with_pool(test)


def test_the_queue_is_bounded():
    async def test(pool: Pool) -> None:
        running = [asyncio.create_task(pool.run("sleep", b'{"seconds": 15}')) for _ in range(2)]
        waiting = [asyncio.create_task(pool.run("who", b"")) for _ in range(2)]
        await until(lambda: waits(pool.metrics) == runs(pool.metrics) == 2)
        refusal = await refusal_of(pool.run("who", b""))
        assert refusal.status_code == 429
        assert refusal.headers == {"retry-after": "1"}
        for work in running:
            work.cancel()
        assert len(await asyncio.gather(*waiting)) == 2
        assert runs(pool.metrics) == 0

    assert outcomes(with_pool(test)) == {"answered": 2, "refused": 1, "cancelled": 2}


def test_work_ends_when_its_client_leaves():
    async def test(pool: Pool) -> None:
        left = asyncio.Event()
        CLIENT_LEAVES.set(left.wait)  # type: ignore[arg-type]
        before = await processes_of(pool)
        work = asyncio.create_task(pool.run("sleep", b'{"seconds": 15}'))
        await until(lambda: runs(pool.metrics) == 1)
        left.set()
        with pytest.raises(ClientDisconnected):
            await work
        CLIENT_LEAVES.set(None)
        await until(lambda: any(map(is_gone, before)))
        assert len(before & await processes_of(pool)) == 1

    assert outcomes(with_pool(test))["client left"] == 1


def test_tokens_take_turns():
    async def test(pool: Pool) -> None:
        order: list[str] = []

        async def ask(name: str, owner: str) -> None:
            OWNER.set(owner)
            await pool.run("sleep", b'{"seconds": 0.01}')
            order.append(name)

        running = [asyncio.create_task(pool.run("sleep", b'{"seconds": 15}')) for _ in range(2)]
        await until(lambda: pool.turns.free == 0)
        waiting = []
        for name, owner in (("a1", "a"), ("a2", "a"), ("a3", "a"), ("b1", "b"), ("b2", "b")):
            waiting.append(asyncio.create_task(ask(name, owner)))
            await asyncio.sleep(0)
        with pytest.raises(Refusal, match="too many"):  # of the token that has most of the queue
            await ask("a4", "a")
        last = asyncio.create_task(ask("c1", "c"))
        await asyncio.sleep(0)
        running[0].cancel()
        done = await asyncio.gather(*waiting, last, return_exceptions=True)
        running[1].cancel()
        assert [isinstance(each, Refusal) for each in done] == [False, False, True, False, False, False]
        assert order == ["a1", "b1", "c1", "a2", "b2"]

    assert outcomes(with_pool(test, replace(SETTINGS, queue=5)))["refused"] == 2


def test_a_pool_that_cannot_start_says_so(monkeypatch):
    monkeypatch.setattr(costly, "prepare", fails)

    async def test(pool: Pool) -> None:
        raise AssertionError("it has started")

    with pytest.raises(Refusal, match="no process"):
        with_pool(test)


def fails(memory_bytes: int, nice: int) -> None:
    raise OSError("a process that cannot start")


@pytest.fixture(scope="module")
def service():
    pool = Pool(SETTINGS, answer=calculate)
    with serving(SETTINGS, pool=pool) as served:
        yield served


def test_a_client_that_hangs_up_frees_its_place(service: Served):
    request = b"POST /pool/sleep HTTP/1.1\r\nhost: localhost\r\ncontent-type: application/json\r\n"
    body = b'{"seconds": 60}'
    metrics = service.app.metrics
    held = [service.connect() for _ in range(4)]
    for taken in held:
        taken.sendall(request + b"content-length: %d\r\n\r\n" % len(body) + body)
    assert comes(lambda: waits(metrics) == 2)
    for taken in held:
        taken.close()
    assert comes(lambda: runs(metrics) == 0)
    assert service.ask("/pool/who", b"{}")[0] == 200
    counts = outcomes(service.app.metrics)
    assert counts["client left"] >= 3
    assert comes(lambda: sample(metrics, "perfmodel_requests_in_flight") == 0)
    assert sample(metrics, "perfmodel_requests_total", route="other", status="499") >= 3


def test_readiness_follows_the_pool(service: Served):
    assert comes(lambda: service.answers("/readyz"))
    assert service.app.pool is not None
    service.app.pool.ready = False
    try:
        assert service.ask("/readyz")[0] == 503
        assert service.ask("/healthz")[0] == 200
    finally:
        service.app.pool.ready = True


ENDLESS = b'{"gpus": [%b], "local_batch_size": [%b], "columns": ["iteration_time"]}' % (
    b",".join(b"%d" % gpus for gpus in range(1, 2001)),
    b",".join(b"%d" % batch for batch in range(1, 2001)),
)
"""A sweep of more scenarios than any machine answers at once."""


def test_parts_leave_as_they_are_calculated():
    async def test(pool: Pool) -> None:
        parts = [part async for part in await pool.stream("sweep", b'{"gpus": [1, 2]}', NDJSON)]
        assert len(b"".join(parts).splitlines()) == 3
        with pytest.raises(InputError, match="gpus"):
            await pool.stream("sweep", b'{"gpus": [0]}', NDJSON)
        endless = await pool.stream("sweep", ENDLESS, NDJSON)
        assert (await anext(endless)).startswith(b'{"iteration_time":')
        assert runs(pool.metrics) == 1
        await endless.aclose()  # type: ignore[attr-defined]
        assert runs(pool.metrics) == 0
        assert await process_of(pool)

    assert outcomes(with_pool(test)) == {"answered": 2, "bad input": 1, "client left": 1}


def test_parts_together_have_so_much_time():
    async def test(pool: Pool) -> None:
        endless = await pool.stream("sweep", ENDLESS, NDJSON)
        await asyncio.sleep(3)  # a reader for whom the process waits
        with pytest.raises((Refusal, Refused), match="longer than"):
            [part async for part in endless]

    assert outcomes(with_pool(test, replace(SETTINGS, seconds=2))) == {"timed out": 1}


def test_cheap_requests_that_are_not_are_answered_like_costly_ones(monkeypatch):
    monkeypatch.setattr(cheap, "TIME_LIMIT", 0.3)

    async def test(pool: Pool) -> None:
        slow = b'{"gpus": 1000000, "servers": 1000000, "strategy": "async"}'
        quick = [b'{"gpus": %d}' % gpus for gpus in range(1, 9)]
        first, *others = (asyncio.create_task(pool.run("predict", body)) for body in (slow, *quick))
        for other in others:
            assert json.loads(await other)["iteration_time"] > 0
        assert (await refusal_of(first)).status_code == 504

    async def run() -> dict[str, float]:
        pool = Pool(replace(SETTINGS, seconds=1))
        await pool.start()
        try:
            await test(pool)
        finally:
            await pool.close()
        return outcomes(pool.metrics)

    assert asyncio.run(run()) == {"timed out": 1}
