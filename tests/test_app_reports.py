"""Every page whose command writes a report offers it, as the command writes it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import click
import pytest
import streamlit

from app import quotes, samples
from app.menu import PAGES
from perfmodel.core.files.resources import folder
from perfmodel.decide.quote import check_quote
from perfmodel.interfaces.cli import main
from tests.test_app import a_trace, opened
from tests.test_app_copies import ASKED, copies
from tests.test_app_runs import handed_over as runs_handed_over
from tests.test_app_trace import handed_over

HEAVY = {"scale, servers"}
"""Cases that say nothing more of reports."""


@pytest.fixture
def offered(monkeypatch) -> dict[str, Any]:
    """What is behind the buttons that download, by their labels, of the last run."""
    result: dict[str, Any] = {}
    button = streamlit.download_button

    def noting(label: str, data: Any, *args: Any, **more: Any) -> bool:
        if label == "Download CSV":  # the first of a page
            result.clear()
        result[label] = data
        return button(label, data, *args, **more)

    monkeypatch.setattr(streamlit, "download_button", noting)
    return result


def writes_reports(words: list[str]) -> bool:
    """Whether a command, as words after the program's name, takes ``--report``."""
    command: click.Command | None = main
    with click.Context(main) as context:
        for word in words:
            if not isinstance(command, click.Group):
                break
            command = command.get_command(context, word)
    assert command is not None
    return any("--report" in one.opts for one in command.params)


def test_every_page_is_asked():
    assert {page for page, _ in ASKED.values()} == {name for name, _ in PAGES}


@pytest.mark.parametrize("name", [name for name in ASKED if name not in HEAVY])
def test_a_page_offers_the_report_of_its_command(name, offered, invoke, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    page, query = ASKED[name]
    test = opened(page, **query)
    commands, _ = copies(test)
    command = commands[0]
    if "Download JSON" not in offered or page == "trace":  # nothing was handed over; another command's report
        return
    assert ("Download report" in offered) == writes_reports(command)
    if "Download report" not in offered:
        return
    report = offered["Download report"]
    if page == "validation":  # of all measured runs, which took a minute
        assert report() == (folder("validation") / "report.md").read_text("utf-8")
        return
    if name == "quote":
        own = quotes.filled_in({**query, "gpus": 8})
        Path("quote.toml").write_text(quotes.as_toml(quotes.named(own, check_quote(own)[0])), "utf-8")
    done = invoke(*command, "--report", "page.html")
    assert done.exit_code == 0 or page in ("quote", "fits"), done.stderr
    assert Path("page.html").read_text("utf-8") == report()
    if page == "transformers":
        printed = json.loads(invoke(*command, "--json").stdout)
        assert json.loads(offered["Download JSON"]()) == printed
        assert ("economics" in printed) == ("price" in query)


def test_the_page_of_own_runs_offers_the_report_of_its_file(offered, invoke, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    Path("mine.csv").write_text(samples.RUNS)
    runs_handed_over(samples.RUNS)
    command = ("calibrate", "--data", "mine.csv", "--output", "mine.json")
    assert invoke(*command, "--report", "page.html").exit_code == 0
    assert Path("page.html").read_text("utf-8") == offered["Download report"]()


def test_the_page_of_a_trace_offers_the_report_of_its_files(offered, invoke, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    _, content, kind = a_trace()
    Path("my step.json").write_bytes(content)
    handed_over(("my step.json", content, kind), **{"gpus": "2", "local-batch-size": "32"})
    assert invoke("trace", "report", "my step.json", "--report", "page.html").exit_code == 0
    assert Path("page.html").read_text("utf-8") == offered["Download report"]()
