"""A bounded pool of processes for costly requests, and one process for cheap ones, outside the event loop.

They only calculate, so that a request whose process was killed can be repeated.
"""

from __future__ import annotations

import asyncio
import os
import tempfile
from collections.abc import AsyncGenerator, AsyncIterator, Coroutine
from concurrent.futures import Future
from contextlib import aclosing, suppress
from typing import Any, TypeVar

from perfmodel.interfaces.service import costly
from perfmodel.interfaces.service.bearer import OWNER
from perfmodel.interfaces.service.bodies import CLIENT_LEAVES, ClientDisconnected
from perfmodel.interfaces.service.cheap import Cheap
from perfmodel.interfaces.service.commands import COMMANDS, is_cheap
from perfmodel.interfaces.service.metrics import Metrics
from perfmodel.interfaces.service.outcomes import TIMED_OUT, CutOff, OutOfMemory, TimedOut, outcome_of
from perfmodel.interfaces.service.problems import too_slow
from perfmodel.interfaces.service.processes import LOST, Processes
from perfmodel.interfaces.service.refusal import AGAIN, Refusal
from perfmodel.interfaces.service.settings import Settings
from perfmodel.interfaces.service.shares import Share
from perfmodel.interfaces.service.turns import Turns

START_SECONDS = 60.0
"""Time in which the first processes have to import their modules [s]."""
LAST_PART_SECONDS = 2.0
"""Time after its limit in which a stream has to end a part and write its last one [s]."""
SHARED_FROM = 10_000
"""Size of a batch of predictions from which all free processes answer a share of it [B]."""
NICE = 10
"""Niceness of the pool's processes, so that cheap requests come first."""
MOST_REQUESTS = 500
"""Requests after which a process is replaced: the memory that large ones leave is lost to later ones."""
MOST_READ = 2**16
"""Bytes of a streamed answer that are read at once."""
T = TypeVar("T")


class Pool:
    """Processes that answer requests, with a limit on simultaneous costly ones.

    Parameters
    ----------
    answer : function of settings, the name of a command and a body, such as ``costly.answer``
    """

    def __init__(
        self, settings: Settings, metrics: Metrics | None = None, answer: costly.Function = costly.answer
    ) -> None:
        self.settings, self.answer = settings, answer
        self.metrics = metrics or Metrics()
        self.turns = Turns(settings.pool, settings.queue, self._gauge)
        self.cheap = Cheap(settings, answer)
        self.processes = Processes(settings.pool, settings.memory_bytes, NICE, MOST_REQUESTS)
        self.ready = False

    async def start(self) -> None:
        """Start the processes, so that the first request does not wait for them.

        Raises
        ------
        Refusal : no process could be started
        """
        try:
            async with asyncio.timeout(START_SECONDS):
                await asyncio.gather(self.processes.start(), self.cheap.processes.start())
        except (TimeoutError, OSError, *LOST):
            await self.close()
            raise Refusal(503, "no process of the pool could be started") from None
        self.ready = True

    async def close(self) -> None:
        """End the processes, even if they are working."""
        self.ready = False
        kinds = (self.processes, self.cheap.processes)
        await asyncio.gather(*(asyncio.to_thread(each.close) for each in kinds))

    async def run(self, name: str, body: bytes) -> bytes:
        """Return the answer of a command.

        Raises
        ------
        Refusal : a full queue, too much time or memory, or processes that end while they start
        ClientDisconnected : the client has disconnected
        InputError : an invalid body
        Failed : an unexpected error
        """
        command = COMMANDS.get(name)
        if command is not None and is_cheap(command, body):
            answer = await self.cheap.run(name, body)
            if answer is not None:
                return answer
        count = self.turns.free if name == "predict" and len(body) >= SHARED_FROM else 1
        if count < 2:
            return await self.calculate(name, body)
        shares = [Share(number, count) for number in range(count)]
        tasks = [asyncio.create_task(self.calculate(name, body, share)) for share in shares]
        try:
            return b"".join(await asyncio.gather(*tasks))
        finally:
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)

    async def calculate(self, name: str, body: bytes, *more: Any) -> bytes:
        """Return the answer of a command from a process for costly requests; raises as ``run``."""
        async with aclosing(self._held(self._whole(name, body, *more))) as parts:
            return b"".join([part async for part in parts])

    async def stream(self, name: str, body: bytes, form: str) -> AsyncIterator[bytes]:
        """Return the answer of a costly command in parts, with the first part calculated.

        Raises
        ------
        As ``run``; errors after the first part cut the answer off.
        """
        parts = self._held(self._piped(name, body, form))
        return _from_first(await anext(parts), parts)

    async def _held(self, parts: AsyncGenerator[bytes, None]) -> AsyncGenerator[bytes, None]:
        """Yield the parts of an answer while holding a place in the pool, and count how it ended."""
        outcome = "client left"  # of a stream whose reader did not wait for its end
        try:
            await _unless_client_leaves(self.turns.take(OWNER.get()))
            try:
                while (part := await _unless_client_leaves(_next(parts))) is not None:
                    yield part
            finally:
                await parts.aclose()
                self.turns.leave()
            outcome = "answered"
        except GeneratorExit:
            raise
        except BaseException as error:
            outcome = outcome_of(error)
            raise
        finally:
            self.metrics.costly.labels(outcome).inc()

    async def _whole(self, name: str, body: bytes, *more: Any) -> AsyncGenerator[bytes, None]:
        """Yield an answer in one part; it is calculated once more if its process was killed."""
        for _ in (1, 2):
            try:
                work = self._schedule(self.answer, name, body, *more)
                yield await self._worked(asyncio.wrap_future(work))
                return
            except LOST:
                self.metrics.costly.labels("lost").inc()
        raise CutOff(503, "the calculation was cut off twice; try again", AGAIN)

    async def _piped(self, name: str, body: bytes, form: str) -> AsyncGenerator[bytes, None]:
        """Yield the parts that a process writes to a pipe, until it has ended."""
        with tempfile.TemporaryDirectory(prefix="perfmodel-") as folder:
            path = os.path.join(folder, "parts")
            os.mkfifo(path, 0o600)
            pipe = os.open(path, os.O_RDWR | os.O_NONBLOCK)  # so that it never ends by itself
            work = asyncio.wrap_future(
                self._schedule(costly.stream, name, body, form, path, beyond=LAST_PART_SECONDS)
            )
            try:
                while part := await _read(pipe, work):
                    yield part
                await self._worked(work)
            except LOST:
                raise CutOff(503, "the calculation was cut off", AGAIN) from None
            finally:
                work.cancel()
                os.close(pipe)

    def _schedule(self, function: costly.Function, *arguments: Any, beyond: float = 0.0) -> Future[Any]:
        """Let a process call a function within the time limit of a request."""
        seconds = self.settings.seconds + beyond
        return self.processes.schedule(costly.calculate, function, self.settings, *arguments, seconds=seconds)

    async def _worked(self, work: asyncio.Future[bytes]) -> bytes:
        """Return the answer of a process; a limit it reached is raised as a refusal in words."""
        try:
            return await work
        except TimeoutError:
            raise TimedOut(TIMED_OUT, too_slow(self.settings.seconds)) from None
        except MemoryError:
            words = f"this takes more than {self.settings.memory_bytes:,} bytes; ask for less"
            raise OutOfMemory(422, words) from None

    def _gauge(self) -> None:
        """Set the gauges of running and waiting requests."""
        self.metrics.running.set(self.settings.pool - self.turns.free)
        self.metrics.waiting.set(self.turns.waiting)


async def _read(pipe: int, work: asyncio.Future[bytes]) -> bytes:
    """Return the next bytes of a pipe; empty when its writer has ended."""
    loop, comes = asyncio.get_running_loop(), asyncio.Event()
    while True:
        with suppress(BlockingIOError):
            return os.read(pipe, MOST_READ)
        if work.done():
            return b""
        loop.add_reader(pipe, comes.set)
        waiting = asyncio.ensure_future(comes.wait())
        try:
            await asyncio.wait((waiting, work), return_when=asyncio.FIRST_COMPLETED)
        finally:
            loop.remove_reader(pipe)
            waiting.cancel()
        comes.clear()


async def _next(parts: AsyncGenerator[bytes, None]) -> bytes | None:
    """Return the next part; None after the last."""
    return await anext(parts, None)


async def _from_first(first: bytes, rest: AsyncGenerator[bytes, None]) -> AsyncIterator[bytes]:
    """Yield the first part, then the rest."""
    async with aclosing(rest):
        yield first
        async for part in rest:
            yield part


async def _unless_client_leaves(work: Coroutine[Any, Any, T]) -> T:
    """Return the result of ``work``, or cancel it when the client of the current request disconnects."""
    leaves = CLIENT_LEAVES.get()
    if leaves is None:
        return await work
    working, leaving = asyncio.ensure_future(work), asyncio.ensure_future(leaves())
    try:
        await asyncio.wait((working, leaving), return_when=asyncio.FIRST_COMPLETED)
        if working.done():
            return working.result()
        raise ClientDisconnected
    finally:
        for task in (working, leaving):
            task.cancel()
        await asyncio.gather(working, leaving, return_exceptions=True)
