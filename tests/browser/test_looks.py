"""What a person sees of the pages: nothing lies on a legend, and what is wide scrolls within the page."""

from __future__ import annotations

import pytest

from tests.browser import screenshots

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
    assert 1 <= page.locator(".js-plotly-plot").first.locator(".modebar-btn").count() <= 2
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


@pytest.mark.parametrize("path", ["scale?gpus=8,16", "compare", "predict", "plan", "fits", "fleets", "trace"])
def test_the_chart_comes_before_the_ways_out_which_are_one_row(window, path):
    page = window.open(path)
    window.drawn()
    out = page.locator(".st-key-sharing")
    assert out.count() == 1
    chart, place = page.locator(".js-plotly-plot").first.bounding_box(), out.bounding_box()
    assert page.locator(".st-key-answer-card").bounding_box()["y"] < chart["y"]
    assert chart["y"] + chart["height"] <= place["y"]
    tops = {box.bounding_box()["y"] for box in out.get_by_role("button").all()}
    assert len(tops) == 1


@pytest.mark.parametrize(
    ("words", "status"),
    [(["--help"], 0), (["--light"], 2), (["--", "-folder"], 2), (["folder", "no-page"], 2)],
)
def test_pictures_are_taken_into_no_folder_that_looks_like_an_option(words, status, capsys):
    with pytest.raises(SystemExit) as ended:
        screenshots.arguments(words)
    assert ended.value.code == status
    assert "PAGE" in "".join(capsys.readouterr())
    assert screenshots.arguments(["folder", "plan"]).pages == ["plan"]
