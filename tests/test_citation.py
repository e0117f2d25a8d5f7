"""What comes with the package says what there is: CITATION.cff, the manual page, completion in a shell."""

from __future__ import annotations

from pathlib import Path

import pytest
from click.testing import CliRunner

from docs.site import man_page
from perfmodel import __version__
from perfmodel.interfaces.cli import main


def test_the_citation_is_of_this_version():
    text = (Path(__file__).parents[1] / "CITATION.cff").read_text("utf-8")
    assert f"\nversion: {__version__}\n" in text


def test_the_changelog_begins_with_this_version():
    text = (Path(__file__).parents[1] / "CHANGELOG.md").read_text("utf-8")
    assert next(line for line in text.splitlines() if line.startswith("## ")).startswith(f"## {__version__} ")


@pytest.mark.any_version
def test_the_manual_page_has_the_commands_and_options_that_there_are():
    assert man_page.PAGE.read_text("utf-8") == man_page.page(), "make man"


def test_a_shell_completes_commands_and_options():
    def completed(words: str, which: int) -> list[str]:
        asked = {"_PERFMODEL_COMPLETE": "bash_complete", "COMP_WORDS": words, "COMP_CWORD": str(which)}
        result = CliRunner(env=asked).invoke(main, prog_name="perfmodel")
        return [line.partition(",")[2] for line in result.output.splitlines()]

    assert "predict" in completed("perfmodel pre", 1)
    assert completed("perfmodel predict --inter-", 2) == ["--inter-link"]
