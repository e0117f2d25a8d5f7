"""Work of pages is bounded: by number, by time, by memory, and by who waits for it."""

from __future__ import annotations

import signal
import subprocess
import time
from typing import Any

import pytest

from app import bounded, searches, sensitivity_work
from perfmodel.core.errors import InputError
from perfmodel.decide.planning import Goal, search
from perfmodel.hardware.catalogue.store import Catalogue
from perfmodel.interfaces.reports.planned import page_of_plan
from perfmodel.model.options.conditions import Conditions
from perfmodel.model.options.scenario import Scenario
from tests.test_app import errors, opened, words

FOR_HIRE = {"instance": "p3.16xlarge", "epochs": "1", "max-gpus": "8"}
PAGES = {
    "plan": (FOR_HIRE, "search"),
    "sensitivity": ({"gpus": "8", "workload": "alexnet"}, "sensitivity"),
    "quote": ({"workload": "llama-3-8b", "gpus": "65536", "quantity": "mfu", "value": "40%"}, "check"),
}
"""A page whose work has a process of its own -> a question, and what the work is called."""
SLEEP = "import time; time.sleep(600)"


def noted(monkeypatch: pytest.MonkeyPatch) -> list[Any]:
    """Return the processes of work that are started from now on, with no answer kept from before."""
    processes: list[Any] = []
    start = subprocess.Popen

    def kept(*words: Any, **more: Any) -> Any:
        processes.append(start(*words, **more))
        return processes[-1]

    monkeypatch.setattr(bounded.subprocess, "Popen", kept)
    monkeypatch.setattr(bounded, "_answers", type(bounded._answers)())
    return processes


@pytest.fixture
def started(monkeypatch) -> list[Any]:
    """Processes of work, of which every piece takes one."""
    monkeypatch.setattr(searches, "FEW_MACHINES", 0)
    return noted(monkeypatch)


def a_walk() -> bounded.Work:
    return sensitivity_work.work(Scenario(world_size=8), Catalogue.built_in(), Conditions())


def test_a_process_answers_as_a_search_here_does_and_is_asked_once(started, monkeypatch):
    test = opened("plan", **FOR_HIRE)
    assert not test.error
    assert words(opened("plan", **FOR_HIRE)) == words(test)
    assert len(started) == 1
    monkeypatch.setattr(searches, "FEW_MACHINES", 4)
    bounded._answers.clear()
    assert words(opened("plan", **FOR_HIRE)) == words(test)
    assert len(started) == 1


def test_the_page_to_hand_on_comes_with_the_plan_and_searches_no_more(started):
    goal = Goal(instances=("p3.16xlarge",), epochs=1.0, max_gpus=8)
    given, size = bounded.by_a_process(searches.work(goal, Catalogue.built_in()), lambda text: None)
    assert given.page == page_of_plan(search(goal), None, Catalogue.built_in())
    assert 0 < size < bounded.MOST_KEPT


def test_a_process_answers_of_sensitivity_as_the_library_does_and_is_asked_once(started):
    work = a_walk()
    given, size = bounded.by_a_process(work, lambda text: None)
    assert given == work.call(*work.arguments)
    assert 0 < size < bounded.MOST_KEPT
    for _ in range(2):
        assert not opened("sensitivity", gpus="8").error
    assert len(started) == 2


def test_what_is_wrong_with_a_question_comes_back_from_the_process(started):
    goal = Goal(instances=("p3.16xlarge",), epochs=1.0, power_limit=1.0)
    with pytest.raises(InputError, match="power_limit"):
        bounded.by_a_process(searches.work(goal, Catalogue.built_in()), lambda text: None)
    assert started[0].returncode == 0


@pytest.mark.parametrize("page", PAGES)
def test_what_takes_too_long_ends(started, monkeypatch, page):
    monkeypatch.setattr(bounded, "WORKER", SLEEP)
    monkeypatch.setattr(bounded, "LONGEST", 0.3)
    query, noun = PAGES[page]
    test = opened(page, **query)
    assert f"the {noun} took more than 0.3 s" in errors(test)
    assert started[0].returncode < 0
    assert not [button for button in test.button if button.key == f"cancel-{noun}"]


def test_what_takes_too_much_memory_ends_and_says_so(started, monkeypatch):
    monkeypatch.setattr(bounded, "MEMORY", 300 << 20)
    work = a_walk()._replace(call=bytearray, arguments=(1 << 30,))
    with pytest.raises(InputError, match="more memory than one request may"):
        bounded.by_a_process(work, lambda text: None)


def test_a_process_ends_by_itself_where_the_app_that_would_end_it_is_gone():
    """As after a kill of the app: the worker bounds its own time."""
    code = "import signal, sys; sys.path.insert(0, sys.argv[1]); from app import bounded_worker as b; "
    code += "b.GRACE = 0; b._limit(1.0, 1 << 31); signal.pause()"
    root = bounded.__file__.rpartition("/app/")[0]
    start = time.monotonic()
    ended = subprocess.run([bounded.sys.executable, "-c", code, root], timeout=60)
    assert ended.returncode == -signal.SIGALRM
    assert time.monotonic() - start < 50


@pytest.mark.parametrize("page", PAGES)
def test_a_cancelled_piece_of_work_is_not_begun_again(started, monkeypatch, page):
    """The click itself, while a page waits, is in tests/browser."""
    button, (query, noun) = bounded.st.button, PAGES[page]

    def clicked(label: str, **more: Any) -> bool:
        return button(label, **more) or label == f"Cancel the {noun}"

    monkeypatch.setattr(bounded.st, "button", clicked)
    test = opened(page, **query)
    assert f"The {noun} was cancelled" in " ".join(element.value for element in test.info)
    assert not started
    assert not test.subheader


def test_work_ends_with_the_page_that_waits_for_it_and_gives_its_place_back(started, monkeypatch):
    class Closed(BaseException):
        """As Streamlit ends a script: at its next word to the page."""

    def say(text: str) -> None:
        raise Closed

    monkeypatch.setattr(bounded, "WORKER", SLEEP)
    for _ in range(bounded.AT_ONCE + 1):
        with pytest.raises(Closed), bounded.slot():
            bounded.by_a_process(a_walk(), say)
    assert [process.returncode < 0 for process in started] == [True] * (bounded.AT_ONCE + 1)


def test_work_waits_while_as_much_runs_as_may(monkeypatch):
    class Waits(Exception):
        pass

    def waiting() -> None:
        raise Waits

    monkeypatch.setattr(bounded, "LOOKS", 0.01)
    with bounded.slot(), bounded.slot(), pytest.raises(Waits), bounded.slot(waiting):
        pass
    with bounded.slot(waiting):
        assert bounded.AT_ONCE == 2
