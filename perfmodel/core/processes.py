"""The same work on many items by several processes: state goes to each process once, answers come back.

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
"""Items handed out for each process: one is worked on while the next waits."""
MOST_ENDINGS: Final = 5
"""Times that processes may be ended while an item is handed out, before that is taken to be its fault."""
_THREADS: Final = ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS")

_state: Any = None
"""Of a worker process."""


def cores() -> int:
    """Return how many processors this process may use."""
    able = getattr(os, "sched_getaffinity", None)
    return len(able(0)) if able else os.cpu_count() or 1


class Workers:
    """Processes that keep some state, for several rounds of work on it; a context.

    Parameters
    ----------
    state : goes to each process once
    jobs : processes; with one, all is done in this process
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
        """Yield each item with its answer, in the order in which they are ready; close it when done early.

        An item whose process is ended from outside is worked on once more.

        Parameters
        ----------
        work : function of a module, of the state and an item
        items : what to work on

        Raises
        ------
        InputError : an item's processes were ended again and again; what ``work`` raises is raised as it is
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
    """Yield each item with its answer, as ``Workers.each`` does, by processes for this round alone."""
    with Workers(state, jobs) as workers:
        yield from workers.each(work, items)


def _answers(
    pool: Executor,
    work: Callable[[State, Item], Answer],
    todo: deque[tuple[int, Item]],
    running: dict[Future[Answer], tuple[int, Item]],
    most: int,
) -> Iterator[tuple[Item, Answer]]:
    """Yield answers as they come; ``running`` holds the items that are handed out and have none."""
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
    """Let processes that start now keep linear algebra to one thread, and not run this one's script again."""
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
    """Make a process a worker: it keeps the state, leaves Ctrl-C to its parent, and ends with it."""
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
