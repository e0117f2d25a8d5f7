"""What a person sees of the pages: nothing lies on a legend, and what is wide scrolls within the page."""

from __future__ import annotations

import pytest

pytestmark = pytest.mark.any_version
COVERED = """
(() => {
  const bar = document.querySelector(".modebar").getBoundingClientRect();
  return [...document.querySelectorAll(".js-plotly-plot .legendtext")].filter((text) => {
    const box = text.getBoundingClientRect();
    return box.right > bar.left && box.left < bar.right && box.bottom > bar.top && box.top < bar.bottom;
  }).map((text) => text.textContent);
})()
"""


def test_the_bar_of_a_picture_covers_no_word_of_its_legend(window):
    page = window.open("communication")
    for width in (820, 1440):
        page.set_viewport_size({"width": width, "height": 1000})
        window.drawn()
        assert page.locator(".js-plotly-plot .legendtext").count() > 0
        page.locator(".js-plotly-plot").first.hover()
        page.locator(".modebar").first.wait_for(state="visible")
        window.settled()
        assert page.evaluate(COVERED) == [], width


def test_a_wide_table_scrolls_within_a_phone_and_the_keyboard_reaches_it(window):
    window.page.set_viewport_size({"width": 390, "height": 844})
    page = window.open("validation")
    page.get_by_text("The report in short").click()
    folds = page.get_by_test_id("stExpander").filter(has_text="The report in short")
    table = folds.locator("[data-testid=stMarkdownContainer]:has(> table)").first
    table.wait_for()
    window.settled()
    assert table.evaluate("box => box.scrollWidth > box.clientWidth && box.tabIndex === 0")
    assert page.evaluate("document.documentElement.scrollWidth") <= 390
