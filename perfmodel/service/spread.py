"""A large batch is answered by all the processes of the pool that are free, each its share."""

from __future__ import annotations

import asyncio

from perfmodel.service.pool import Pool
from perfmodel.service.shares import Share

SHARED_FROM = 10_000
"""Bytes of a body from which it is shared out: some hundred rows, which take longer than to read it twice."""


class Spread:
    """A pool that shares large batches out."""

    def __init__(self, pool: Pool) -> None:
        self.pool = pool

    async def run(self, command_name: str, body: bytes) -> bytes:
        """Return the answer of a costly command.

        Raises
        ------
        As ``Pool.run``.
        """
        count = self.pool.free if command_name == "predict" and len(body) >= SHARED_FROM else 1
        if count < 2:
            return await self.pool.run(command_name, body)
        names = [Share(number, count).name(command_name) for number in range(count)]
        tasks = [asyncio.create_task(self.pool.run(name, body)) for name in names]
        try:
            return b"".join(await asyncio.gather(*tasks))
        finally:
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)
