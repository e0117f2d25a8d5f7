"""Runs long computations in processes: few at a time, with limits of time and memory, ended with the page."""

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
from typing import Any, NamedTuple

import streamlit as st

from app.bounded_worker import PROGRESS
from perfmodel.core.errors import InputError

AT_ONCE = 2
"""Computations at the same time over all sessions; a search of all machines takes a third of a GB."""
KEPT = 64
"""Answers in the cache of all sessions."""
MOST_KEPT = 2_000_000
"""Largest answer that is cached [B]; that of a search has some 60,000."""
LONGEST = 180.0
"""Time limit of a computation [s]."""
MEMORY = 2 << 30
"""Memory limit of a computation [B]."""
LOOKS = 0.2
"""Time between two checks of a process [s]; each also ends the run if its page was closed."""
WORKER = (
    "import sys; sys.path.insert(0, sys.argv[1]); from app.bounded_worker import main; main(*sys.argv[2:])"
)

_slots = threading.BoundedSemaphore(AT_ONCE)
_answers: OrderedDict[tuple[str, ...], Any] = OrderedDict()
_answers_lock = threading.Lock()
_NOTHING = object()


class Work(NamedTuple):
    """A computation, with the words that a page shows about it."""

    call: Callable[..., Any]
    """A module's function that loads without Streamlit; arguments and result can be pickled."""
    arguments: tuple[Any, ...]
    noun: str
    """Name of the computation in messages, such as ``search``."""
    doing: str
    """Progress text."""
    less: str
    """Advice for a computation that exceeds a limit."""
    is_quick: bool = False
    """Whether it takes less time than starting a process, so that it runs in this one."""

    @property
    def cancel(self) -> str:
        """Label of the button that cancels it."""
        return f"Cancel the {self.noun}"


def answer(question: tuple[str, ...], work: Work) -> Any:
    """Return the result of a computation, from a cache or a process; draw its progress and a cancel button.

    Parameters
    ----------
    question : key of the cache, next to the function's name
    work : the computation

    Raises
    ------
    InputError : the request is wrong, or the computation exceeds a limit of time or memory
    """
    question = (work.call.__qualname__, *question)
    kept = _kept(question)
    if kept is not _NOTHING:
        return kept
    if work.is_quick:
        return _keep(question, work.call(*work.arguments), 0)
    place = st.empty()
    with place.container(border=True):
        progress = st.empty()
        if st.button(work.cancel, key=f"cancel-{work.noun}"):
            place.info(f"The {work.noun} was cancelled. Change a field to start another.")
            st.stop()
        try:
            with slot(lambda: progress.info("Waiting for the work of others to end ...")):
                result = _kept(question)  # another session may have cached it meanwhile
                if result is _NOTHING:
                    result = _keep(question, *by_a_process(work, progress.info))
        except InputError:
            place.empty()
            raise
    place.empty()
    return result


def undrawn(work: Work) -> Any:
    """Return the result of a computation that no page shows; limits and errors as of ``answer``."""
    if work.is_quick:
        return work.call(*work.arguments)
    with slot():
        return by_a_process(work, lambda text: None)[0]


def _kept(question: tuple[str, ...]) -> Any:
    with _answers_lock:
        if question in _answers:
            _answers.move_to_end(question)
        return _answers.get(question, _NOTHING)


def _keep(question: tuple[str, ...], result: Any, size: int) -> Any:
    with _answers_lock:
        if size <= MOST_KEPT:
            _answers[question] = result
        while len(_answers) > KEPT:
            _answers.popitem(last=False)
    return result


@contextmanager
def slot(waiting: Callable[[], Any] = lambda: None) -> Iterator[None]:
    """Hold one of the ``AT_ONCE`` slots inside the ``with`` block; call ``waiting`` while none is free."""
    while not _slots.acquire(timeout=LOOKS):
        waiting()
    try:
        yield
    finally:
        _slots.release()


def by_a_process(work: Work, say: Callable[[str], Any]) -> tuple[Any, int]:
    """Run a computation in a process that ends when this call ends; return its result and its size [B].

    Parameters
    ----------
    work : the computation
    say : called with a progress text every ``LOOKS`` seconds

    Raises
    ------
    InputError : as of ``answer``
    """
    start = time.monotonic()
    with tempfile.TemporaryDirectory(prefix="perfmodel-work-") as folder:
        question, result = Path(folder) / "question", Path(folder) / "answer"
        question.write_bytes(pickle.dumps((work.call, work.arguments)))
        process = subprocess.Popen(_words(question, result))
        try:
            while process.poll() is None:
                waited = time.monotonic() - start
                if waited > LONGEST:
                    raise InputError(f"the {work.noun} took more than {LONGEST:g} s: {work.less}")
                # Streamlit raises here when a field changes, Cancel is clicked or the tab is closed
                say(f"{work.doing}: {_progress(result)}{waited:.0f} s so far")
                try:
                    process.wait(LOOKS)
                except subprocess.TimeoutExpired:
                    continue
        finally:
            process.kill()
            process.wait()
        if not result.is_file():
            raise InputError(f"the {work.noun} ended without an answer: {work.less}")
        written = result.read_bytes()
    is_answer, given = pickle.loads(written)
    if not is_answer:
        raise given
    return given, len(written)


def _progress(result: Path) -> str:
    """Return how far a process is, before a comma; empty where its work does not tell."""
    try:
        return f"{result.with_suffix(PROGRESS).read_text()} tried, "
    except FileNotFoundError:
        return ""


def _words(question: Path, result: Path) -> Sequence[str]:
    given = (str(Path(__file__).parents[1]), str(question), str(result), f"{LONGEST:g}", str(MEMORY))
    return [sys.executable, "-c", WORKER, *given]
