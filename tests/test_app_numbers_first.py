"""Numbers before charts: who waits, and how long."""

from __future__ import annotations

from types import SimpleNamespace

import pytest
import streamlit as st

from app import numbers_first

BROWSER = {"User-Agent": "Mozilla/5.0 (X11; Linux x86_64)"}


@pytest.fixture
def pauses(monkeypatch):
    """Return the pauses of a session whose state is empty."""
    waited: list[float] = []
    monkeypatch.setattr(numbers_first.time, "sleep", waited.append)
    monkeypatch.setattr(st, "session_state", {})
    return waited


def run(charts: int, headers: dict[str, str], monkeypatch: pytest.MonkeyPatch) -> None:
    """Run a page of so many charts."""
    monkeypatch.setattr(st, "context", SimpleNamespace(headers=headers))
    numbers_first.begin()
    for _ in range(charts):
        numbers_first.let_paint()


def test_the_first_chart_of_each_run_waits_longest_at_the_first(pauses, monkeypatch):
    run(3, BROWSER, monkeypatch)
    assert pauses == [numbers_first.FIRST_PAUSE]
    run(2, BROWSER, monkeypatch)
    run(1, BROWSER, monkeypatch)
    assert pauses == [numbers_first.FIRST_PAUSE, numbers_first.PAUSE, numbers_first.PAUSE]


def test_a_page_without_charts_leaves_the_longest_wait_to_the_first_that_has_one(pauses, monkeypatch):
    run(0, BROWSER, monkeypatch)
    run(1, BROWSER, monkeypatch)
    assert pauses == [numbers_first.FIRST_PAUSE]


def test_part_of_a_page_drawn_again_does_not_wait(pauses, monkeypatch):
    run(1, BROWSER, monkeypatch)
    numbers_first.let_paint()  # a fragment: no new run of the page
    assert pauses == [numbers_first.FIRST_PAUSE]


def test_a_session_without_a_browser_does_not_wait(pauses, monkeypatch):
    run(2, {"User-Agent": "Python-urllib/3.11"}, monkeypatch)
    run(2, {}, monkeypatch)
    assert pauses == []
