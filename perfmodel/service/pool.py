"""A bounded pool of processes for costly work, apart from the event loop that answers cheap requests.

What runs there calculates and changes nothing, so that a request whose process was killed may run again: it
is answered once, by whichever process comes to its end.
"""

from __future__ import annotations

import asyncio
import os
import pickle
import sys
from collections.abc import AsyncGenerator, AsyncIterator, Coroutine
from contextlib import aclosing, suppress
from typing import Any

from perfmodel.errors import InputError
from perfmodel.service.bodies import CLIENT_LEAVES, ClientDisconnected
from perfmodel.service.logs import event
from perfmodel.service.metrics import Metrics
from perfmodel.service.outcomes import TIMED_OUT, CutOff, Failed, OutOfMemory, TimedOut, outcome_of
from perfmodel.service.problems import too_slow
from perfmodel.service.refusal import AGAIN, Refusal
from perfmodel.service.settings import Settings
from perfmodel.service.worker import ANSWER, MEMORY, PART, READY, REPLY, REQUEST

ANSWERS = "perfmodel.service.costly:answer"
"""What a worker calls with the name of a command and a body; it returns the answer, or its parts."""
START_SECONDS = 60.0
"""Time that a new process has to import what it needs."""
LAST_PART_SECONDS = 2.0
"""Time that a stream has beyond its own to come to the end of a part, and say in the last that it is over."""
MOST_REPLY = 100_000_000
"""Bytes of an answer."""
MOST_READ = 2**16
"""Bytes that are read at once of an answer that nobody wants any more."""


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
            env={**os.environ, **settings.handed_down(), "OPENBLAS_NUM_THREADS": "1", "OMP_NUM_THREADS": "1"},
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
        """Whether it can be asked: one that was killed a moment ago, of which nobody has heard, cannot."""
        if self.process.returncode is not None:
            return False
        if not hasattr(os, "waitid"):
            return True
        try:
            return os.waitid(os.P_PID, self.process.pid, os.WEXITED | os.WNOHANG | os.WNOWAIT) is None
        except ChildProcessError:  # somebody has just heard
            return False

    async def ask(self, name: str, body: bytes) -> None:
        """Send a request."""
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

    async def part(self) -> bytes:
        """Return the next part of the answer; the last when the worker is ``fit`` again."""
        kind, reply = await self._reply()
        if kind == PART:
            return reply
        if kind == MEMORY:
            raise _OutOfMemory(self.requests == 1)
        self.fit = True
        if kind != ANSWER:
            error = pickle.loads(reply)  # written by our own process
            raise error if isinstance(error, InputError) else Failed(f"{type(error).__name__}: {error}")
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
        assert self.process.stdout is not None
        # asyncio waits for the end of its pipes too, which does not come to an answer that nobody reads
        with suppress(RuntimeError, OSError):  # somebody still reads it
            while await self.process.stdout.read(MOST_READ):
                pass
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

    @property
    def free(self) -> int:
        """How many requests would not wait."""
        return max(0, self.settings.pool - self._inside)

    async def run(self, command_name: str, body: bytes) -> bytes:
        """Return the answer of a costly command.

        Raises
        ------
        Refusal : so many wait already; it takes too long, or too much memory; or processes end as they start
        ClientDisconnected : whoever asked has left
        InputError : what the command says is wrong with the body
        Failed : an error that nobody foresaw
        """
        parts = self._parts(command_name, body)
        async with aclosing(parts):
            return b"".join([part async for part in parts])

    async def stream(self, command_name: str, body: bytes) -> AsyncIterator[bytes]:
        """Return the answer of a costly command in parts, the first of them calculated.

        Raises
        ------
        As ``run``; where the first part has left, what is raised ends the answer before its end.
        """
        parts = self._parts(command_name, body)
        return _from_first(await anext(parts), parts)

    async def _parts(self, name: str, body: bytes) -> AsyncGenerator[bytes, None]:
        """Give the parts of an answer, and count how it ended."""
        if self._inside >= self.settings.pool + self.settings.queue:
            self._count("refused")
            raise Refusal(429, "too many plans, layouts and sweeps at once; try again", AGAIN)
        self._inside += 1
        self._gauge()
        outcome = "client left"  # of a stream whose reader did not wait for its end
        try:
            place = _Place(self)
            try:
                yield await _unless_client_leaves(place.first(name, body))
                while place.has_more:
                    yield await _unless_client_leaves(place.part())
            finally:
                place.leave()
            outcome = "answered"
        except GeneratorExit:
            raise
        except BaseException as error:
            outcome = outcome_of(error)
            raise
        finally:
            self._count(outcome)
            self._inside -= 1
            self._gauge()

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


class _Place:
    """A place in the pool, for one request: waited for, held by a worker, and left."""

    def __init__(self, pool: Pool) -> None:
        self.pool, self.settings = pool, pool.settings
        self.worker: _Worker | None = None
        self.held = False
        self.deadline = 0.0

    @property
    def has_more(self) -> bool:
        """Whether the answer has parts that have not been taken."""
        return self.worker is not None and not self.worker.fit

    async def first(self, name: str, body: bytes) -> bytes:
        """Wait for a place and a worker, and return the first part; where a worker is lost, ask another."""
        await self.pool._places.acquire()
        self.held = True
        self.pool._running += 1
        self.pool._gauge()
        for attempt in (1, 2):
            try:
                self.worker = await self.pool._take()
                self.deadline = asyncio.get_running_loop().time() + self.settings.seconds
                return await self._in_time(self._asked(self.worker, name, body))
            except _Lost:
                self.pool._count("lost")
            except _OutOfMemory as error:
                if error.first or attempt == 2:
                    raise self._out_of_memory() from None
            self._give_back()
        raise CutOff(503, "the calculation was cut off twice; try again", AGAIN)

    async def part(self) -> bytes:
        """Return the next part; of an answer that has begun to leave, nothing can be tried anew."""
        assert self.worker is not None
        try:
            return await self._in_time(self.worker.part(), LAST_PART_SECONDS)
        except _Lost:
            raise CutOff(503, "the calculation was cut off") from None
        except _OutOfMemory:
            raise self._out_of_memory() from None

    @staticmethod
    async def _asked(worker: _Worker, name: str, body: bytes) -> bytes:
        await worker.ask(name, body)
        return await worker.part()

    async def _in_time(self, work: Coroutine[Any, Any, bytes], beyond: float = 0.0) -> bytes:
        try:
            async with asyncio.timeout_at(self.deadline + beyond):
                return await work
        except TimeoutError:
            raise TimedOut(TIMED_OUT, too_slow(self.settings.seconds)) from None

    def _out_of_memory(self) -> OutOfMemory:
        return OutOfMemory(422, f"this takes more than {self.settings.memory_bytes:,} bytes; ask for less")

    def _give_back(self) -> None:
        """Let the next request have the worker, or replace one that did not come to its end."""
        worker, self.worker = self.worker, None
        if worker is not None and worker.fit and worker.alive:
            self.pool._idle.put_nowait(worker)
        elif worker is not None:
            self.pool._replace(worker)

    def leave(self) -> None:
        """Give everything back."""
        self._give_back()
        if self.held:
            self.held = False
            self.pool._running -= 1
            self.pool._places.release()


async def _from_first(first: bytes, rest: AsyncGenerator[bytes, None]) -> AsyncIterator[bytes]:
    async with aclosing(rest):
        yield first
        async for part in rest:
            yield part


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
