"""Runs one function on many items in several processes; each process receives the shared state once.

Processes are started afresh (``spawn``), so that no thread or lock of this one is copied half way.
"""

from __future__ import annotations

import os
import pickle
import signal
import sys
import threading
from collections import Counter, deque
from collections.abc import Callable, Generator, Iterable, Iterator
from concurrent.futures import FIRST_COMPLETED, BrokenExecutor, Executor, Future, wait
from contextlib import contextmanager
from types import ModuleType
from typing import Any, Final, TypeVar

from perfmodel.core.errors import refusal

State = TypeVar("State")
Item = TypeVar("Item")
Answer = TypeVar("Answer")

AHEAD: Final = 2
"""Items submitted for each process: one is worked on while the next waits."""
MOST_ENDINGS: Final = 5
"""Times that processes may be killed while an item is submitted, before the item counts as the cause."""
_THREADS: Final = ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS")

_state: Any = None
"""The shared state, in a worker process."""


def cores() -> int:
    """Return how many processors this process may use."""
    able = getattr(os, "sched_getaffinity", None)
    return len(able(0)) if able else os.cpu_count() or 1


class Workers:
    """A pool of processes that share some state, for several rounds of work; a context manager.

    Parameters
    ----------
    state : first argument of every call of the work; sent to each process once
    jobs : number of processes; 1 does all work in this process
    """

    def __init__(self, state: Any, jobs: int) -> None:
        self._state, self._jobs = state, jobs
        self._packed: bytes | None = None
        self._pool: Executor | None = None

    def __enter__(self) -> Workers:
        return self

    def __exit__(self, *_: object) -> None:
        self._end()

    def each(
        self, work: Callable[[Any, Item], Answer], items: Iterable[Item]
    ) -> Generator[tuple[Item, Answer], None, None]:
        """Yield each item with its result, in the order in which results arrive.

        A caller that stops early closes the generator.  An item whose process was killed is submitted again.

        Parameters
        ----------
        work : a module's function of the state and an item
        items : the second arguments

        Raises
        ------
        InputError : processes were killed ``MOST_ENDINGS`` times at one item; errors of ``work`` pass through
        """
        todo = deque(enumerate(items))
        if min(self._jobs, len(todo)) <= 1:
            for _, item in todo:
                yield item, work(self._state, item)
            return
        endings: Counter[int] = Counter()
        while todo:
            running: dict[Future[Answer], tuple[int, Item]] = {}
            try:
                yield from _answers(self._begun(len(todo)), work, todo, running, AHEAD * self._jobs)
            except BrokenExecutor:
                self._end()
                todo.extendleft(reversed(running.values()))
                _count(endings, [number for number, _ in running.values()])
            finally:
                for future in running:
                    future.cancel()

    def _begun(self, items: int) -> Executor:
        from concurrent.futures import ProcessPoolExecutor
        from multiprocessing import get_context

        if self._pool is None:
            if self._packed is None:
                self._packed = pickle.dumps(self._state, pickle.HIGHEST_PROTOCOL)
            self._pool = ProcessPoolExecutor(
                min(self._jobs, items), get_context("spawn"), initializer=_begin, initargs=(self._packed,)
            )
        return self._pool

    def _end(self) -> None:
        if self._pool is not None:
            self._pool.shutdown(wait=True, cancel_futures=True)
            self._pool = None


def each(
    work: Callable[[State, Item], Answer], state: State, items: Iterable[Item], jobs: int
) -> Generator[tuple[Item, Answer], None, None]:
    """Yield each item with its result, as ``Workers.each`` does, by a pool for this one round."""
    with Workers(state, jobs) as workers:
        yield from workers.each(work, items)


def _answers(
    pool: Executor,
    work: Callable[[State, Item], Answer],
    todo: deque[tuple[int, Item]],
    running: dict[Future[Answer], tuple[int, Item]],
    most: int,
) -> Iterator[tuple[Item, Answer]]:
    """Submit items and yield results as they arrive; ``running`` holds the items without a result."""
    while todo or running:
        while todo and len(running) < most:
            with _for_workers():
                future = pool.submit(_answer, work, todo[0][1])
            running[future] = todo.popleft()
        for future in wait(running, return_when=FIRST_COMPLETED).done:
            answer = future.result()
            yield running.pop(future)[1], answer


def _count(endings: Counter[int], numbers: Iterable[int]) -> None:
    endings.update(numbers)
    number, times = endings.most_common(1)[0]
    if times >= MOST_ENDINGS:
        raise refusal("process.ended", number=number, times=times)


@contextmanager
def _for_workers() -> Iterator[None]:
    """Let processes that start now use one thread for linear algebra and not run the main script again."""
    kept = {name: os.environ.get(name) for name in _THREADS}
    main = sys.modules["__main__"]
    os.environ.update(dict.fromkeys(_THREADS, "1"))
    sys.modules["__main__"] = ModuleType("__main__")
    try:
        yield
    finally:
        sys.modules["__main__"] = main
        for name, value in kept.items():
            if value is None:
                del os.environ[name]
            else:
                os.environ[name] = value


def _begin(packed: bytes) -> None:
    """Initialize a worker process: keep the state, ignore Ctrl-C, and exit when the parent does."""
    global _state
    from multiprocessing import parent_process

    signal.signal(signal.SIGINT, signal.SIG_IGN)
    parent = parent_process()
    assert parent is not None

    def end_with_parent() -> None:
        parent.join()
        os._exit(1)

    threading.Thread(target=end_with_parent, daemon=True).start()
    _state = pickle.loads(packed)


def _answer(work: Callable[[Any, Item], Answer], item: Item) -> Answer:
    return work(_state, item)
