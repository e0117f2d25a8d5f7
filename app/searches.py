"""Searches for plans, bounded: few at once, each in a process that ends with its answer or its page."""

from __future__ import annotations

import pickle
import subprocess
import sys
import tempfile
import threading
import time
from collections import OrderedDict
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import streamlit as st

from perfmodel.errors import InputError
from perfmodel.planning import Goal
from perfmodel.planning.machines import machines_of
from perfmodel.specs.store import Catalogue

AT_ONCE = 2
"""Searches of all sessions together; one of every machine takes a third of a GB while it runs."""
KEPT = 64
"""Answers kept for all sessions, of some 60 kB each."""
LONGEST = 180.0
"""Of a search [s]."""
FEW_MACHINES, FEW_GPUS = 4, 1024
"""A search of no more is over before a process has started."""
LOOKS = 0.2
"""Between two looks at a search [s]; at each look a page that nobody waits for ends."""
WORKER = (
    "import sys; sys.path.insert(0, sys.argv[1]); from app.search_worker import work; work(*sys.argv[2:])"
)

_slots = threading.BoundedSemaphore(AT_ONCE)
_answers: OrderedDict[tuple[str, ...], dict[str, Any]] = OrderedDict()
_answers_lock = threading.Lock()


def answer(question: tuple[str, ...], goal: Goal, catalogue: Catalogue) -> dict[str, Any]:
    """Return the report of a search, drawing its progress and a button that ends it; kept by ``question``.

    Raises
    ------
    InputError : the goal names something unknown or impossible; nothing fits; it takes too long
    """
    with _answers_lock:
        if question in _answers:
            _answers.move_to_end(question)
            return _answers[question]
    result = _searched(goal, catalogue)
    with _answers_lock:
        _answers[question] = result
        while len(_answers) > KEPT:
            _answers.popitem(last=False)
    return result


def _searched(goal: Goal, catalogue: Catalogue) -> dict[str, Any]:
    """Search in this process where it is quick, else in one of its own."""
    if len(machines_of(goal.by_id(catalogue), catalogue)) <= FEW_MACHINES and goal.max_gpus <= FEW_GPUS:
        from app.search_worker import searched

        return searched(goal, catalogue)
    place = st.empty()
    with place.container(border=True):
        said = st.empty()
        if st.button("Cancel the search", key="cancel-search"):
            place.info("The search was cancelled. Change a field to start another.")
            st.stop()
        try:
            with slot(lambda: said.info("Waiting for the searches of others to end ...")):
                result = _by_a_process(goal, catalogue, said.info)
        except InputError:
            place.empty()
            raise
    place.empty()
    return result


@contextmanager
def slot(waiting: Callable[[], Any] = lambda: None) -> Iterator[None]:
    """Hold one of the places for searches; ``waiting`` is called while there is none."""
    while not _slots.acquire(timeout=LOOKS):
        waiting()
    try:
        yield
    finally:
        _slots.release()


def _by_a_process(goal: Goal, catalogue: Catalogue, say: Callable[[str], Any]) -> dict[str, Any]:
    """Search in a process that ends when this does, whichever way."""
    start = time.monotonic()
    with tempfile.TemporaryDirectory(prefix="perfmodel-search-") as folder:
        question, result = Path(folder) / "question", Path(folder) / "answer"
        question.write_bytes(pickle.dumps((goal, catalogue)))
        process = subprocess.Popen(_words(question, result), stderr=subprocess.DEVNULL)
        try:
            while process.poll() is None:
                waited = time.monotonic() - start
                if waited > LONGEST:
                    raise InputError(f"the search took more than {LONGEST:g} s: choose from fewer machines")
                # a change of a field, Cancel and a closed tab raise here
                say(f"Trying every machine, count and batch: {waited:.0f} s so far, some ten in all")
                try:
                    process.wait(LOOKS)
                except subprocess.TimeoutExpired:
                    continue
        finally:
            process.kill()
            process.wait()
        if not result.is_file():
            raise InputError("the search ended without an answer: choose from fewer machines")
        answered = pickle.loads(result.read_bytes())
    if isinstance(answered, str):
        raise InputError(answered)
    report: dict[str, Any] = answered
    return report


def _words(question: Path, result: Path) -> Sequence[str]:
    return [sys.executable, "-c", WORKER, str(Path(__file__).parents[1]), str(question), str(result)]
