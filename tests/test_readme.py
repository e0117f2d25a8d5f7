"""The README shows what its commands print today."""

from tests.readme import README, refreshed


def test_readme_shows_what_its_commands_print():
    text = README.read_text("utf-8")
    assert refreshed(text) == text, "run `make readme`"
