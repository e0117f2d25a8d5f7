"""Searches of the page Plan are bounded: by number, by time, and by who waits for them."""

from __future__ import annotations

import subprocess
from typing import Any

import pytest

from app import searches
from perfmodel.errors import InputError
from perfmodel.planning import Goal
from perfmodel.specs.store import Catalogue
from tests.test_app import errors, opened, words

FOR_HIRE = {"instance": "p3.16xlarge", "epochs": "1", "max-gpus": "8"}


@pytest.fixture
def started(monkeypatch) -> list[Any]:
    """Processes that searches start, of which every one takes one."""
    processes: list[Any] = []
    start = subprocess.Popen

    def kept(*words: Any, **more: Any) -> Any:
        processes.append(start(*words, **more))
        return processes[-1]

    monkeypatch.setattr(searches.subprocess, "Popen", kept)
    monkeypatch.setattr(searches, "FEW_MACHINES", 0)
    monkeypatch.setattr(searches, "_answers", type(searches._answers)())
    return processes


def test_a_process_answers_as_a_search_here_does_and_is_asked_once(started, monkeypatch):
    test = opened("plan", **FOR_HIRE)
    assert not test.error
    assert words(opened("plan", **FOR_HIRE)) == words(test)
    assert len(started) == 1
    monkeypatch.setattr(searches, "FEW_MACHINES", 4)
    searches._answers.clear()
    assert words(opened("plan", **FOR_HIRE)) == words(test)
    assert len(started) == 1


def test_what_is_wrong_with_a_question_comes_back_from_the_process(started):
    goal = Goal(instances=("p3.16xlarge",), epochs=1.0, power_limit=1.0)
    with pytest.raises(InputError, match="--power-limit"):
        searches._by_a_process(goal, Catalogue.built_in(), lambda text: None)
    assert started[0].returncode == 0


def test_a_search_that_takes_too_long_ends(started, monkeypatch):
    monkeypatch.setattr(searches, "WORKER", "import time; time.sleep(600)")
    monkeypatch.setattr(searches, "LONGEST", 0.3)
    test = opened("plan", **FOR_HIRE)
    assert "took more than 0.3 s" in errors(test)
    assert started[0].returncode < 0
    assert not [button for button in test.button if button.key == "cancel-search"]


def test_a_search_ends_with_the_page_that_waits_for_it_and_gives_its_place_back(started, monkeypatch):
    class Closed(BaseException):
        """As Streamlit ends a script: at its next word to the page."""

    def say(text: str) -> None:
        raise Closed

    monkeypatch.setattr(searches, "WORKER", "import time; time.sleep(600)")
    for _ in range(searches.AT_ONCE + 1):
        with pytest.raises(Closed), searches.slot():
            searches._by_a_process(Goal(), Catalogue.built_in(), say)
    assert [process.returncode < 0 for process in started] == [True] * (searches.AT_ONCE + 1)


def test_a_search_waits_while_as_many_run_as_may(monkeypatch):
    class Waits(Exception):
        pass

    def waiting() -> None:
        raise Waits

    monkeypatch.setattr(searches, "LOOKS", 0.01)
    with searches.slot(), searches.slot(), pytest.raises(Waits), searches.slot(waiting):
        pass
    with searches.slot(waiting):
        assert searches.AT_ONCE == 2
