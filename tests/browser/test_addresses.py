"""Every address ends in a page of ours, and nothing is asked for in vain: a refusal fails a test."""

from __future__ import annotations

import pytest

from app.menu import PAGES

pytestmark = pytest.mark.any_version
MENU = [title for _, title in PAGES]


@pytest.mark.parametrize("slash", ["", "/"])
def test_every_page_is_at_its_own_address_with_and_without_a_slash(window, slash):
    for name, title in PAGES:
        query = "?epochs=1&max-gpus=8&accelerators=v100-sxm2-16gb" if name == "plan" else ""
        page = window.open(f"{name}{slash}{query}")
        assert page.url.partition("?")[0] == f"{window.address}/{'' if name == 'predict' else name}"
        assert page.locator("[role=dialog]").count() == 0
        assert page.get_by_role("link", name=title, exact=True).get_attribute("aria-current") == "page"
        assert not window.complaints


@pytest.mark.parametrize(
    ("path", "near"),
    [
        ("nonsense", []),
        ("nonsense/", []),
        ("a/b/c", []),
        ("sensitivty/?gpus=8", ["Sensitivity"]),
        ("predict/x?gpus=8", ["Predict"]),
        ("check-quote", ["Check a quote"]),
    ],
)
def test_an_address_without_a_page_says_so_and_leads_to_the_likest(window, path, near):
    window.open("scale?gpus=1-4")
    page = window.open(path)
    asked, _, query = path.partition("?")
    assert page.locator("h3").all_inner_texts() == [f"There is no page /{asked.rstrip('/')}"]
    assert page.locator("[role=dialog]").count() == 0
    links = page.get_by_test_id("stMain").get_by_role("link").all_inner_texts()
    assert links == near + [title for title in MENU if title not in near]
    page.get_by_test_id("stMain").get_by_role("link").first.click()
    page.wait_for_selector("[data-testid=stMetric], [data-testid=stPlotlyChart]")
    window.settled()
    assert (query in page.url) == bool(near or not query)
    page.go_back()
    page.wait_for_selector("h3:has-text('There is no page')")
    window.settled()
    page.go_back()
    page.wait_for_selector("h3:has-text('v100')")
    window.settled()
    assert "/scale?gpus=1-4" in page.url
