"""Every address ends in a page of ours, and nothing is asked for in vain: a refusal fails a test."""

from __future__ import annotations

import pytest

from app.menu import PAGES

pytestmark = pytest.mark.any_version
MENU = [title for _, title in PAGES]


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
