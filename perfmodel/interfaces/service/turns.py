"""Places in the pool, with a bounded queue that is fair between tokens."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Callable

from perfmodel.interfaces.service.refusal import AGAIN, Refusal


class Turns:
    """Places, and the requests that wait for one: tokens take turns, and the requests of each stay in order.

    Parameters
    ----------
    places : number of simultaneous requests
    queue : largest number of waiting requests, of all tokens together
    changed : called when a number changes
    """

    def __init__(self, places: int, queue: int, changed: Callable[[], None] = lambda: None) -> None:
        self.free, self.queue, self.changed = places, queue, changed
        self._waiting: dict[str, deque[asyncio.Future[bool]]] = {}

    @property
    def waiting(self) -> int:
        """Number of waiting requests."""
        return sum(map(len, self._waiting.values()))

    async def take(self, owner: str) -> None:
        """Take a place for a request of a token; wait if none is free.

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
        """Give the place to the next request, or make it free."""
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
        """Wait for a place; a full queue is refused."""
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
        """Return whether a request of the token with the most was dropped for one with fewer."""
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
    """Return the refusal of a full queue."""
    return Refusal(429, "too many plans, layouts and sweeps at once; try again", AGAIN)
