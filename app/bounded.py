"""Work that may take long, bounded: little at once, each piece in a process that ends with its page."""

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

from perfmodel.core.errors import InputError

AT_ONCE = 2
"""Pieces of all sessions together; a search of every machine takes a third of a GB while it runs."""
KEPT = 64
"""Answers kept for all sessions."""
MOST_KEPT = 2_000_000
"""Bytes of an answer that is kept; a search's has some 60,000."""
LONGEST = 180.0
"""Of a piece [s]."""
MEMORY = 2 << 30
"""Of a piece [B]."""
LOOKS = 0.2
"""Between two looks at a process [s]; at each look a page that nobody waits for ends."""
WORKER = (
    "import sys; sys.path.insert(0, sys.argv[1]); from app.bounded_worker import main; main(*sys.argv[2:])"
)

_slots = threading.BoundedSemaphore(AT_ONCE)
_answers: OrderedDict[tuple[str, ...], Any] = OrderedDict()
_answers_lock = threading.Lock()
_NOTHING = object()


class Work(NamedTuple):
    """A piece of work, and what a page says of it."""

    call: Callable[..., Any]
    """Of a module that loads without Streamlit; its arguments and answers can be pickled."""
    arguments: tuple[Any, ...]
    noun: str
    """What it is, such as ``search``."""
    doing: str
    """What it does, while it runs."""
    less: str
    """What to change where it takes too long."""
    is_quick: bool = False
    """Whether it is over before a process has started."""

    @property
    def cancel(self) -> str:
        """What the button says."""
        return f"Cancel the {self.noun}"


def answer(question: tuple[str, ...], work: Work) -> Any:
    """Return what the work gives, drawing its progress and a button that ends it; kept by ``question``.

    Raises
    ------
    InputError : something is wrong with the question; it takes too long, or too much memory
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
                result = _kept(question)  # somebody else may have asked the same
                if result is _NOTHING:
                    result = _keep(question, *by_a_process(work, progress.info))
        except InputError:
            place.empty()
            raise
    place.empty()
    return result


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
    """Hold one of the places for work; ``waiting`` is called while there is none."""
    while not _slots.acquire(timeout=LOOKS):
        waiting()
    try:
        yield
    finally:
        _slots.release()


def by_a_process(work: Work, say: Callable[[str], Any]) -> tuple[Any, int]:
    """Return what the work gives, and its size [B], from a process that ends when this does, however.

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
                # a change of a field, Cancel and a closed tab raise here
                say(f"{work.doing}: {waited:.0f} s so far")
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


def _words(question: Path, result: Path) -> Sequence[str]:
    given = (str(Path(__file__).parents[1]), str(question), str(result), f"{LONGEST:g}", str(MEMORY))
    return [sys.executable, "-c", WORKER, *given]
