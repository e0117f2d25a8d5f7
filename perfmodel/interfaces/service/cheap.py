"""Cheap requests, answered in groups by one process; those that take longer are treated as costly."""

from __future__ import annotations

import asyncio
from typing import Any

from perfmodel.interfaces.service import costly
from perfmodel.interfaces.service.processes import LOST, Processes
from perfmodel.interfaces.service.settings import Settings

TIME_LIMIT = 2.0
"""Time limit of a group [s]; a prediction takes a thousandth, the first of a network up to a third."""
MOST = 16
"""Largest number of requests in a group."""


class _Request:
    """A request with its future answer; None if it is not cheap."""

    def __init__(self, name: str, body: bytes) -> None:
        self.name, self.body = name, body
        self.answer: asyncio.Future[bytes | None] = asyncio.get_running_loop().create_future()


class Cheap:
    """Requests that arrive while the process is busy are answered next, as a group."""

    def __init__(self, settings: Settings, function: costly.Function) -> None:
        self.settings, self.function = settings, function
        self.processes = Processes(1, settings.memory_bytes, nice=0)
        self._waiting: list[_Request] = []
        self._work: asyncio.Task[None] | None = None

    async def run(self, name: str, body: bytes) -> bytes | None:
        """Return the answer of a command; None if it takes longer than the time limit.

        Raises
        ------
        InputError : an invalid body
        Failed : an unexpected error
        """
        request = _Request(name, body)
        self._waiting.append(request)
        if self._work is None:
            self._work = asyncio.get_running_loop().create_task(self._answer_all())
        return await request.answer

    async def _answer_all(self) -> None:
        """Answer all waiting requests, group by group."""
        try:
            while self._waiting:
                group, self._waiting = self._waiting[:MOST], self._waiting[MOST:]
                await self._answer([request for request in group if not request.answer.done()])
        finally:
            self._work = None

    async def _answer(self, group: list[_Request]) -> None:
        """Answer a group of requests; if it takes too long or ends the process, one by one."""
        bodies = [(request.name, request.body) for request in group]
        try:
            answers: list[Any] = await asyncio.wrap_future(
                self.processes.schedule(
                    costly.together, self.function, self.settings, bodies, seconds=TIME_LIMIT
                )
            )
        except (TimeoutError, *LOST):
            if len(group) > 1:  # who it was shows when each is alone
                for request in group:
                    await self._answer([request])
                return
            answers = [None]
        for request, answer in zip(group, answers, strict=True):
            if request.answer.done():  # whoever asked has left
                continue
            if isinstance(answer, MemoryError):
                request.answer.set_result(None)
            elif isinstance(answer, Exception):
                request.answer.set_exception(answer)
            else:
                request.answer.set_result(answer)
