"""Cheap requests, answered together by a process of their own; what takes longer than a moment is costly."""

from __future__ import annotations

import asyncio
from typing import Any

from perfmodel.interfaces.service import costly
from perfmodel.interfaces.service.processes import LOST, Processes
from perfmodel.interfaces.service.settings import Settings

MOMENT = 2.0
"""Seconds that some take together; a prediction takes a thousandth, the first of a network up to a third."""
MOST = 16
"""Requests that are answered together."""


class _Asked:
    """A request, and the answer to come; None if it is not cheap."""

    def __init__(self, name: str, body: bytes) -> None:
        self.name, self.body = name, body
        self.answer: asyncio.Future[bytes | None] = asyncio.get_running_loop().create_future()


class Cheap:
    """What arrives while a process answers the requests before is answered next, all at once."""

    def __init__(self, settings: Settings, function: costly.Function) -> None:
        self.settings, self.function = settings, function
        self.processes = Processes(1, settings.memory_bytes, nice=0)
        self._waiting: list[_Asked] = []
        self._work: asyncio.Task[None] | None = None

    async def run(self, name: str, body: bytes) -> bytes | None:
        """Return the answer of a command; None if it takes longer than a moment.

        Raises
        ------
        InputError : what the command says is wrong with the body
        Failed : an error that nobody foresaw
        """
        asked = _Asked(name, body)
        self._waiting.append(asked)
        if self._work is None:
            self._work = asyncio.get_running_loop().create_task(self._answer_all())
        return await asked.answer

    async def _answer_all(self) -> None:
        try:
            while self._waiting:
                some, self._waiting = self._waiting[:MOST], self._waiting[MOST:]
                await self._answer([asked for asked in some if not asked.answer.done()])
        finally:
            self._work = None

    async def _answer(self, some: list[_Asked]) -> None:
        bodies = [(asked.name, asked.body) for asked in some]
        try:
            answers: list[Any] = await asyncio.wrap_future(
                self.processes.schedule(costly.together, self.function, self.settings, bodies, seconds=MOMENT)
            )
        except (TimeoutError, *LOST):
            if len(some) > 1:  # who it was shows when each is alone
                for asked in some:
                    await self._answer([asked])
                return
            answers = [None]
        for asked, answer in zip(some, answers, strict=True):
            if asked.answer.done():  # whoever asked has left
                continue
            if isinstance(answer, MemoryError):
                asked.answer.set_result(None)
            elif isinstance(answer, Exception):
                asked.answer.set_exception(answer)
            else:
                asked.answer.set_result(answer)
