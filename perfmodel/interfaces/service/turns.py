"""Places in the pool: so many at once, and a bounded queue before them that is fair between tokens."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Callable

from perfmodel.interfaces.service.refusal import AGAIN, Refusal


class Turns:
    """Places, and those who wait for one: tokens take turns, the requests of each in their order.

    Parameters
    ----------
    places : requests at once
    queue : requests that may wait, of all tokens together
    changed : is called when there are more or fewer
    """

    def __init__(self, places: int, queue: int, changed: Callable[[], None] = lambda: None) -> None:
        self.free, self.queue, self.changed = places, queue, changed
        self._waiting: dict[str, deque[asyncio.Future[bool]]] = {}

    @property
    def waiting(self) -> int:
        """How many wait."""
        return sum(map(len, self._waiting.values()))

    async def take(self, owner: str) -> None:
        """Take a place, for which a request of a token waits where none is free.

        Raises
        ------
        Refusal : the queue is full
        """
        if self.free:
            self.free -= 1
        else:
            await self._wait(owner)
        self.changed()

    def leave(self) -> None:
        """Give the place to who is next, or keep it free."""
        while self._waiting:
            owner = next(iter(self._waiting))
            queue = self._waiting.pop(owner)
            future = queue.popleft()
            if queue:  # behind the others
                self._waiting[owner] = queue
            if not future.done():  # one that was cancelled waits no longer
                future.set_result(True)
                break
        else:
            self.free += 1
        self.changed()

    async def _wait(self, owner: str) -> None:
        if self.waiting >= self.queue and not self._made_room(owner):
            raise _full()
        future: asyncio.Future[bool] = asyncio.get_running_loop().create_future()
        self._waiting.setdefault(owner, deque()).append(future)
        self.changed()
        try:
            has_place = await future
        except asyncio.CancelledError:
            if future.done() and not future.cancelled() and future.result():
                self.leave()
            elif future in self._waiting.get(owner, ()):
                self._waiting[owner].remove(future)
                if not self._waiting[owner]:
                    del self._waiting[owner]
                self.changed()
            raise
        if not has_place:
            raise _full()

    def _made_room(self, owner: str) -> bool:
        """Whether the last request of the token with the most has made room for one of a token with fewer."""
        if not self._waiting:
            return False
        most = max(self._waiting, key=lambda each: len(self._waiting[each]))
        if len(self._waiting[most]) <= len(self._waiting.get(owner, ())) + 1:
            return False
        last = self._waiting[most].pop()
        if not last.done():
            last.set_result(False)
        return True


def _full() -> Refusal:
    return Refusal(429, "too many plans, layouts and sweeps at once; try again", AGAIN)
