"""Processes of a pebble pool, which ends those that take too long; a broken pool is replaced."""

from __future__ import annotations

import asyncio
import multiprocessing
import os
import threading
from concurrent.futures import Future
from concurrent.futures.process import BrokenProcessPool
from typing import Any

from pebble import CONSTS, ProcessExpired, ProcessPool

from perfmodel.interfaces.service import costly

LOST = (ProcessExpired, BrokenProcessPool)
"""Errors for a process that ended before it answered."""
ONE_THREAD = ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS")
"""Environment variables that limit libraries to one thread."""


class Processes:
    """A number of equal processes.

    Parameters
    ----------
    count : number of processes
    memory_bytes : memory limit of each
    nice : niceness of each
    most : requests after which a process is replaced; 0: no limit
    """

    def __init__(self, count: int, memory_bytes: int, nice: int, most: int = 0) -> None:
        self.count, self.most, self._prepared = count, most, (memory_bytes, nice)
        self._pool: ProcessPool | None = None

    def schedule(self, function: Any, *arguments: Any, seconds: float | None = None) -> Future[Any]:
        """Let a process call a function, within a time limit [s]."""
        for _ in (1, 2):
            if self._pool is None:
                self._pool = self._made()
            try:
                return self._pool.schedule(function, arguments, timeout=seconds)
            except RuntimeError:  # it has broken: its processes were killed while they waited
                threading.Thread(target=_end, args=(self._pool,)).start()
                self._pool = None
        raise BrokenProcessPool("no process could be started")

    async def start(self) -> None:
        """Return when a process answers."""
        await asyncio.wrap_future(self.schedule(costly.nothing))

    def close(self) -> None:
        """End the processes, even if they are working."""
        pool, self._pool = self._pool, None
        if pool is not None:
            _end(pool)

    def _made(self) -> ProcessPool:
        """Return a new pool."""
        for name in ONE_THREAD:  # before the process starts that others are forked from
            os.environ.setdefault(name, "1")
        CONSTS.channel_lock_timeout = costly.PIPE_SECONDS
        context = multiprocessing.get_context("forkserver")
        context.set_forkserver_preload(["perfmodel.interfaces.service.warm"])
        return ProcessPool(
            self.count,
            max_tasks=self.most,
            initializer=costly.prepare,
            initargs=self._prepared,
            context=context,
        )


def _end(pool: ProcessPool) -> None:
    """Stop a pool and wait for its end."""
    pool.stop()  # type: ignore[no-untyped-call]
    pool.join()
