"""A bounded pool of processes for costly work, apart from the event loop that answers cheap requests.

What runs there calculates and changes nothing, so that a request whose process was killed may run again: it
is answered once, by whichever process comes to its end.
"""

from __future__ import annotations

import asyncio
import os
import pickle
import sys
from collections.abc import Coroutine
from contextlib import suppress
from typing import Any

from perfmodel.service.bodies import CLIENT_LEAVES, ClientDisconnected
from perfmodel.service.logs import event
from perfmodel.service.metrics import Metrics
from perfmodel.service.refusal import AGAIN, Refusal
from perfmodel.service.settings import Settings
from perfmodel.service.worker import ANSWER, MEMORY, READY, REPLY, REQUEST

ANSWERS = "perfmodel.service.commands:answer"
"""What a worker calls with the name of a command and a body; it returns the body of the answer."""
START_SECONDS = 60.0
"""Time that a new process has to import what it needs."""
MOST_REPLY = 100_000_000
"""Bytes of an answer."""


class _Lost(Exception):
    """A worker ended before it answered."""


class _OutOfMemory(Exception):
    """A worker met its memory limit; ``first`` says whether by the first request it had."""

    def __init__(self, first: bool) -> None:
        super().__init__()
        self.first = first


class _Worker:
    """One process of the pool, which calculates one request at a time.

    It is ``fit`` for the next one unless the one before was cut off or met the memory limit.
    """

    def __init__(self, process: asyncio.subprocess.Process) -> None:
        self.process = process
        self.requests = 0
        self.fit = True

    @classmethod
    async def start(cls, settings: Settings, target: str) -> _Worker:
        words = [target, str(settings.seconds), str(settings.memory_bytes)]
        process = await asyncio.create_subprocess_exec(
            *(sys.executable, "-P", "-m", "perfmodel.service.worker", *words),
            stdin=asyncio.subprocess.PIPE,
            stdout=asyncio.subprocess.PIPE,
            env={**os.environ, "OPENBLAS_NUM_THREADS": "1", "OMP_NUM_THREADS": "1"},
        )
        worker = cls(process)
        try:
            async with asyncio.timeout(START_SECONDS):
                kind, _ = await worker._reply()
            if kind != READY:
                raise _Lost
        except BaseException as error:
            await worker.end()
            if isinstance(error, TimeoutError):
                raise _Lost from None
            raise
        return worker

    @property
    def alive(self) -> bool:
        return self.process.returncode is None

    async def answer(self, name: str, body: bytes) -> bytes:
        assert self.process.stdin is not None
        self.requests += 1
        self.fit = False
        encoded = name.encode()
        try:
            self.process.stdin.write(REQUEST.pack(len(encoded), len(body)) + encoded)
            self.process.stdin.write(body)
            await self.process.stdin.drain()
        except OSError:
            raise _Lost from None
        kind, reply = await self._reply()
        if kind == MEMORY:
            raise _OutOfMemory(self.requests == 1)
        self.fit = True
        if kind != ANSWER:
            raise pickle.loads(reply)  # written by our own process
        return reply

    async def _reply(self) -> tuple[bytes, bytes]:
        assert self.process.stdout is not None
        try:
            kind, size = REPLY.unpack(await self.process.stdout.readexactly(REPLY.size))
            if size > MOST_REPLY:
                raise Refusal(422, f"the answer would be longer than {MOST_REPLY:,} bytes; ask for less")
            return kind, await self.process.stdout.readexactly(size)
        except (asyncio.IncompleteReadError, OSError):
            raise _Lost from None

    async def end(self) -> None:
        """Kill the process, and wait until it is gone."""
        with suppress(ProcessLookupError):
            self.process.kill()
        await self.process.wait()


class Pool:
    """Processes that answer costly requests, as many at once as the settings say, and a queue before them."""

    def __init__(self, settings: Settings, metrics: Metrics | None = None, target: str = ANSWERS) -> None:
        self.settings, self.target = settings, target
        self.metrics = metrics or Metrics()
        self._idle: asyncio.Queue[_Worker | None] = asyncio.Queue()  # None: one that could not be started
        self._all: set[_Worker] = set()
        self._places = asyncio.Semaphore(settings.pool)
        self._inside = self._running = 0
        self._starting: set[asyncio.Task[None]] = set()
        self._ending: set[asyncio.Task[None]] = set()
        self.begun = self.ready = self.closed = False

    async def start(self) -> None:
        """Start the processes, so that the first request need not wait for one.

        Raises
        ------
        Refusal : none could be started
        """
        self._begin()
        await asyncio.gather(*self._starting)
        if not self.ready:
            raise Refusal(503, "no process of the pool could be started")

    def _begin(self) -> None:
        if not self.begun:
            self.begun = True
            for _ in range(self.settings.pool):
                self._add()

    async def close(self) -> None:
        """End the processes, whatever they do."""
        self.closed, self.ready = True, False
        for task in self._starting:
            task.cancel()
        await asyncio.gather(*self._starting, return_exceptions=True)
        await asyncio.gather(*(worker.end() for worker in self._all), *self._ending)

    async def run(self, command_name: str, body: bytes) -> bytes:
        """Return the answer of a costly command.

        Raises
        ------
        Refusal : so many wait already; it takes too long, or too much memory; or processes end as they start
        ClientDisconnected : whoever asked has left
        InputError : what the command says is wrong with the body
        """
        if self._inside >= self.settings.pool + self.settings.queue:
            self._count("refused")
            raise Refusal(429, "too many plans, layouts and sweeps at once; try again", AGAIN)
        self._inside += 1
        self._gauge()
        try:
            answer = await _unless_client_leaves(self._answer(command_name, body))
        except BaseException as error:
            self._count(_OUTCOMES.get(type(error), "error"))
            raise
        finally:
            self._inside -= 1
            self._gauge()
        self._count("answered")
        return answer

    async def _answer(self, name: str, body: bytes) -> bytes:
        async with self._places:
            self._running += 1
            self._gauge()
            try:
                for attempt in (1, 2):
                    try:
                        return await self._calculate(await self._take(), name, body)
                    except _Lost:
                        self._count("lost")
                    except _OutOfMemory as error:
                        if error.first or attempt == 2:
                            break
                else:
                    raise CutOff(503, "the calculation was cut off twice; try again", AGAIN)
            finally:
                self._running -= 1
            raise OutOfMemory(422, f"this takes more than {self.settings.memory_bytes:,} bytes; ask for less")

    async def _calculate(self, worker: _Worker, name: str, body: bytes) -> bytes:
        try:
            async with asyncio.timeout(self.settings.seconds):
                return await worker.answer(name, body)
        except TimeoutError:
            raise TimedOut(504, f"this takes longer than {self.settings.seconds:g} s; ask for less") from None
        finally:
            if worker.fit and worker.alive:
                self._idle.put_nowait(worker)
            else:
                self._replace(worker)

    async def _take(self) -> _Worker:
        """Return an idle worker, or wait for one that is being started.

        There is one in the queue, or on its way to it, for every place that is free.
        """
        self._begin()
        while True:
            worker = await self._idle.get()
            if worker is None:
                self._add()
                raise _Lost
            if worker.alive:
                return worker
            self._replace(worker)

    def _replace(self, worker: _Worker) -> None:
        """Kill a worker, and start another in its place before it is needed."""
        self._all.discard(worker)
        self._task(worker.end(), self._ending)
        if not self.closed:
            event("worker replaced", process=worker.process.pid, requests=worker.requests)
            self._add()

    def _add(self) -> None:
        self._task(self._start_one(), self._starting)

    def _task(self, work: Coroutine[Any, Any, None], kept: set[asyncio.Task[None]]) -> None:
        task = asyncio.get_running_loop().create_task(work)
        kept.add(task)
        task.add_done_callback(kept.discard)

    async def _start_one(self) -> None:
        self.metrics.add("perfmodel_pool_starts_total")
        try:
            worker = await _Worker.start(self.settings, self.target)
        except (_Lost, OSError):
            self.ready = False
            self._idle.put_nowait(None)
            return
        self.ready = not self.closed
        self._all.add(worker)
        self._idle.put_nowait(worker)

    def _count(self, outcome: str) -> None:
        self.metrics.add("perfmodel_pool_total", outcome=outcome)

    def _gauge(self) -> None:
        self.metrics.gauges["perfmodel_pool_running"] = self._running
        self.metrics.gauges["perfmodel_pool_waiting"] = self._inside - self._running


class TimedOut(Refusal):
    """A request took longer than the settings allow."""


class CutOff(Refusal):
    """Two processes ended before they answered, by no limit of ours."""


class OutOfMemory(Refusal):
    """A request took more memory than the settings allow."""


_OUTCOMES: dict[type[BaseException], str] = {
    TimedOut: "timed out",
    OutOfMemory: "out of memory",
    CutOff: "cut off",
    ClientDisconnected: "client left",
    asyncio.CancelledError: "cancelled",
}
"""How a costly request ended, in the counts; anything else is an error of the request's own."""


async def _unless_client_leaves(work: Coroutine[Any, Any, bytes]) -> bytes:
    """Return what ``work`` returns, or end it when the client of the request at hand leaves."""
    leaves = CLIENT_LEAVES.get()
    if leaves is None:
        return await work
    loop = asyncio.get_running_loop()
    working, leaving = loop.create_task(work), asyncio.ensure_future(leaves())
    try:
        await asyncio.wait((working, leaving), return_when=asyncio.FIRST_COMPLETED)
        if working.done():
            return working.result()
        raise ClientDisconnected
    finally:
        for task in (working, leaving):
            task.cancel()
        await asyncio.gather(working, leaving, return_exceptions=True)
