"""CITATION.cff names the version that is installed, and what is completed in a shell is what there is."""

from __future__ import annotations

from pathlib import Path

from click.testing import CliRunner

from perfmodel import __version__
from perfmodel.cli import main


def test_the_citation_is_of_this_version():
    text = (Path(__file__).parents[1] / "CITATION.cff").read_text("utf-8")
    assert f"\nversion: {__version__}\n" in text


def test_a_shell_completes_commands_and_options():
    def completed(words: str, which: int) -> list[str]:
        asked = {"_PERFMODEL_COMPLETE": "bash_complete", "COMP_WORDS": words, "COMP_CWORD": str(which)}
        result = CliRunner(env=asked).invoke(main, prog_name="perfmodel")
        return [line.partition(",")[2] for line in result.output.splitlines()]

    assert "predict" in completed("perfmodel pre", 1)
    assert completed("perfmodel predict --inter", 2) == ["--inter-link"]
