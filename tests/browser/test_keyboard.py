"""Every page by the keyboard alone, and by its own address."""

from __future__ import annotations

import pytest

from app.menu import PAGES

pytestmark = pytest.mark.any_version
MOST_TABS = 5
NO_SIDEBAR = "hardware"
"""Whose fields come after the menu, past which the first link of every page leads."""
IN_A_FIELD = "document.activeElement.matches('input, textarea, select')"


@pytest.mark.parametrize("name", [name for name, _ in PAGES])
def test_the_first_field_is_five_tabs_away_at_most(window, name):
    page = window.open("" if name == "predict" else name)
    for pressed in range(1, MOST_TABS + 1):
        page.keyboard.press("Tab")
        if page.evaluate(IN_A_FIELD):
            break
        if pressed == 1 and name == NO_SIDEBAR:
            page.keyboard.press("Enter")  # skip to the main content
    else:
        pytest.fail(f"no field after {MOST_TABS} Tabs")


def test_an_address_may_end_in_a_slash(window):
    page = window.open("plan/?max-gpus=8")
    page.wait_for_url("**/plan?**max-gpus=8**")
    window.settled()
    assert page.locator("[role=dialog]").count() == 0
    assert page.locator("h3").first.inner_text() == "What to hire to train resnet50"
