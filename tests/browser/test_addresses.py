"""Every address ends in a page of ours, and nothing is asked for in vain: a refusal fails a test."""

from __future__ import annotations

import pytest

from app.menu import FIRST, PAGES

pytestmark = pytest.mark.any_version
MENU = [title for _, title in PAGES]
ERRORS = "[data-testid=stAlertContentError], [data-testid=stException]"
MOST_TABS = 5
NO_SIDEBAR = (FIRST[0], "hardware", "runs")
"""Pages whose fields come after the menu, past which the first link of every page leads."""
NO_CHART = (FIRST[0], "runs")
"""Pages that draw nothing before they were told something."""
IN_A_FIELD = "document.activeElement.matches('input, textarea, select, [data-testid=stFileUploader] *')"


@pytest.mark.parametrize(("name", "title"), [FIRST, *PAGES], ids=[name for name, _ in (FIRST, *PAGES)])
def test_every_page_is_drawn_at_its_own_address_and_its_first_field_is_five_tabs_away_at_most(
    window, name, title
):
    query = "?epochs=1&max-gpus=8&accelerators=v100-sxm2-16gb" if name == "plan" else ""
    page = window.open(f"{name}/{query}")  # without the slash: see the tests of axe
    assert page.url.partition("?")[0] == f"{window.address}/{'' if name == FIRST[0] else name}"
    assert ("max-gpus=8" in page.url) == bool(query)
    assert page.locator("[role=dialog]").count() == 0
    assert not window.complaints
    if name not in NO_CHART:
        page.wait_for_selector("[data-testid=stPlotlyChart] .main-svg")
    assert page.locator(ERRORS).count() == 0
    for pressed in range(1, MOST_TABS + 1):
        page.keyboard.press("Tab")
        if page.evaluate(IN_A_FIELD):
            break
        if pressed == 1 and name in NO_SIDEBAR:
            page.keyboard.press("Enter")  # skip to the main content
    else:
        pytest.fail(f"no field after {MOST_TABS} Tabs")
    assert window.entry(title).get_attribute("aria-current") == "page"


@pytest.mark.parametrize(
    ("path", "near"),
    [
        ("qwertz", []),
        ("qwertz/", []),
        ("a/b/c", []),
        ("sensitivty/?gpus=8", ["Sensitivity"]),
        ("predict/x?gpus=8", ["Predict"]),
        ("check-quote", ["Check a quote"]),
        ("diagnos", ["Diagnose"]),
    ],
)
def test_an_address_without_a_page_says_so_and_leads_to_the_likest(window, path, near):
    page = window.open(path)
    asked, _, query = path.partition("?")
    assert page.locator("h3").all_inner_texts() == [f"There is no page /{asked.rstrip('/')}"]
    assert page.locator("[role=dialog]").count() == 0
    links = page.get_by_test_id("stMain").get_by_role("link")
    assert links.all_inner_texts() == near + [title for title in MENU if title not in near]
    assert (query in links.first.get_attribute("href")) == bool(near or not query)


def test_from_an_address_without_a_page_a_link_leads_on_and_back_leads_back(window):
    window.open("scale?gpus=1-4")
    page = window.open("sensitivty/?gpus=8")
    page.get_by_test_id("stMain").get_by_role("link", name="Sensitivity").click()
    page.wait_for_selector("[data-testid=stMetric], [data-testid=stPlotlyChart]")
    window.settled()
    assert "/sensitivity?gpus=8" in page.url
    page.go_back()
    page.wait_for_selector("h3:has-text('There is no page')")
    window.settled()
    page.go_back()
    page.wait_for_selector("h3:has-text('v100')")
    window.settled()
    assert "/scale?gpus=1-4" in page.url
