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

from perfmodel.errors import InputError

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


def each(
    work: Callable[[State, Item], Answer], state: State, items: Iterable[Item], jobs: int
) -> Generator[tuple[Item, Answer], None, None]:
    """Yield each item with its answer, in the order in which they are ready; close it when done early.

    An item whose process is ended from outside is worked on once more.  With one job, or one item, all is
    done in this process.

    Parameters
    ----------
    work : function of a module, of the state and an item
    state : what all items need; goes to each process once
    items : which can be keys of a dictionary
    jobs : processes

    Raises
    ------
    InputError : an item's processes were ended again and again; what ``work`` raises is raised as it is
    """
    todo = deque(items)
    jobs = min(jobs, len(todo))
    if jobs <= 1:
        for item in todo:
            yield item, work(state, item)
        return
    packed = pickle.dumps(state, pickle.HIGHEST_PROTOCOL)
    endings: Counter[Item] = Counter()
    while todo:
        running: dict[Future[Answer], Item] = {}
        pool = _pool(packed, jobs)
        try:
            yield from _answers(pool, work, todo, running, AHEAD * jobs)
        except BrokenExecutor:
            todo.extendleft(reversed(running.values()))
            _count(endings, running.values())
        finally:
            pool.shutdown(wait=True, cancel_futures=True)


def _answers(
    pool: Executor,
    work: Callable[[State, Item], Answer],
    todo: deque[Item],
    running: dict[Future[Answer], Item],
    most: int,
) -> Iterator[tuple[Item, Answer]]:
    """Yield answers as they come; ``running`` holds the items that are handed out and have none."""
    while todo or running:
        while todo and len(running) < most:
            with _for_workers():
                future = pool.submit(_answer, work, todo[0])
            running[future] = todo.popleft()
        for future in wait(running, return_when=FIRST_COMPLETED).done:
            answer = future.result()
            yield running.pop(future), answer


def _count(endings: Counter[Any], items: Iterable[Any]) -> None:
    endings.update(items)
    item, times = endings.most_common(1)[0]
    if times >= MOST_ENDINGS:
        raise InputError(
            f"part {item}: {times} times a process that worked on it or beside it was ended from outside, as "
            "happens where memory runs out; use fewer jobs"
        )


def _pool(packed: bytes, jobs: int) -> Executor:
    from concurrent.futures import ProcessPoolExecutor
    from multiprocessing import get_context

    return ProcessPoolExecutor(jobs, get_context("spawn"), initializer=_begin, initargs=(packed,))


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
