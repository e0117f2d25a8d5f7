"""docs/accuracy/published-layouts.md says what the search says of layouts that trainers chose."""

from __future__ import annotations

import pytest

from docs.site.published_layouts import COLUMN_NAMES, HEAD, PAGE, line, of_recipes, of_rows

FEW = 128
"""Accelerators up to which the suite searches anew; ``make readme`` searches for all."""
HELD = [*of_recipes(), *of_rows()]
QUICK = [held for held in HELD if held.options["gpus"] <= FEW]
TEXT = PAGE.read_text("utf-8")


@pytest.mark.any_version
@pytest.mark.parametrize("held", QUICK, ids=[held.name for held in QUICK])
def test_the_page_says_what_the_search_says(held):
    assert line(held, held.answer()) in TEXT.splitlines(), "make readme"


def test_the_page_has_every_published_layout_once():
    assert TEXT.startswith(HEAD)
    tables = TEXT.split(COLUMN_NAMES)[1:]
    rows = [row.split(" | ")[0].removeprefix("| ") for row in "".join(tables).splitlines() if row[:1] == "|"]
    assert rows == [held.name for held in HELD]
    assert len({(held.name, *held.options.values()) for held in HELD}) == len(HELD)


def test_a_layout_far_from_the_first_says_which_terms_make_it():
    for row in (row for row in TEXT.splitlines() if row.startswith("| ") and "%" in row):
        cells = row.strip("| ").split(" | ")
        if cells[3] != "+0.0%" and "gap" not in cells:
            assert any(sign in cells[-1] for sign in ("+", "-")), row
