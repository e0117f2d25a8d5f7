"""Processes of pebble's pool, which ends those that take too long; one that breaks is made anew."""

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
"""Raised where a process ended before it answered."""
ONE_THREAD = ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS")


class Processes:
    """So many processes of a kind.

    Parameters
    ----------
    count : how many
    memory_bytes : of each
    nice : how much they give way to others
    most : requests that each answers before another takes its place; 0: any number
    """

    def __init__(self, count: int, memory_bytes: int, nice: int, most: int = 0) -> None:
        self.count, self.most, self._prepared = count, most, (memory_bytes, nice)
        self._pool: ProcessPool | None = None

    def schedule(self, function: Any, *arguments: Any, seconds: float | None = None) -> Future[Any]:
        """Have a process call a function, for so long at most."""
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
        """Return when one answers."""
        await asyncio.wrap_future(self.schedule(costly.nothing))

    def close(self) -> None:
        """End the processes, whatever they do."""
        pool, self._pool = self._pool, None
        if pool is not None:
            _end(pool)

    def _made(self) -> ProcessPool:
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
    pool.stop()  # type: ignore[no-untyped-call]
    pool.join()
