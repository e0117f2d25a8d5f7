"""Comparisons put together on other pages: each step is an entry of the history, and the address says all."""

from __future__ import annotations

from urllib.parse import quote

import pytest

from tests.browser.conftest import Window

pytestmark = pytest.mark.any_version


def test_back_undoes_what_was_added_asked_and_removed(window: Window, other: Window) -> None:
    page = window.open("?gpus=32&workload=vgg16&node=dgx-1v")
    start = page.evaluate("history.length")
    page.get_by_role("button", name="25 or 100 Gbit/s?", exact=True).click()
    page.wait_for_url("**/compare?**d-inter-link=ethernet-25g-rdma")
    window.settled()
    asked = page.url
    page.get_by_role("button", name="Remove B").click()
    page.wait_for_function("!location.search.includes('d-inter-link')", polling=100)
    window.settled()
    assert page.evaluate("history.length") == start + 2
    page.go_back()
    page.wait_for_selector("strong:has-text('Take 100 Gbit/s Ethernet with RDMA (C) for speed')")
    window.settled()
    assert page.url == asked
    window.entry("Predict").click()
    page.wait_for_selector("[data-testid=stMetric]")
    window.settled()
    page.get_by_label("GPUs", exact=True).fill("64")
    page.get_by_label("GPUs", exact=True).press("Enter")
    page.evaluate("document.querySelector('.st-key-add-case button').click()")  # at once, as it stands for 32
    page.wait_for_selector("text=Added to Compare as E.")
    page.get_by_role("button", name="Open Compare (5)").click()
    page.wait_for_url("**/compare?**e-gpus=64")
    window.settled()
    cells = page.locator("table").first.inner_text()
    shared = other.open(page.url.removeprefix(f"{window.address}/"))
    assert shared.locator("table").first.inner_text() == cells
    other.drawn()
    names = shared.evaluate(
        "[...document.querySelectorAll('[data-testid=stPlotlyChart] .annotation-text')]"
        ".map(text => [text, text.getBoundingClientRect()])"
        ".map(([text, box]) => [text.textContent, box.left, box.right])"
    )
    assert len(names) >= 5, names  # of the cases, above their bars
    assert [name for name, left, right in names if left < 0 or right > 390] == []
    assert shared.evaluate("document.documentElement.scrollWidth") <= 390


NO_LINKS = ("http://d.co/x", "WWW.d.co", "me@d.co"), ("[c](http://d.co)", ":red[x] :smile:", "&lt;*a*")


@pytest.mark.parametrize("names", NO_LINKS, ids=["addresses", "markup"])
def test_the_name_of_a_case_is_no_link_and_no_markup(window: Window, names: tuple[str, ...]) -> None:
    asked = (
        f"{letter}-gpus={8 * number}&{letter}-name={quote(name, safe='')}"
        for number, (letter, name) in enumerate(zip("bcd", names, strict=True), 2)
    )
    page = window.open(f"compare?gpus=8&a-name=first&{'&'.join(asked)}")
    window.drawn()
    main = page.locator("[data-testid=stMain]")
    assert main.locator("a[href]").count() == 0
    seen = main.inner_text().replace("\u2060", "").replace("\u00a0", " ")  # without the word joiner
    assert f"Take {names[-1]} (D) for speed" in seen
    assert "D: 32 x V100 SXM2" in seen
    assert [name for name in names if name not in seen] == []


def test_interval_and_confidence_are_seen_on_every_screen(window: Window) -> None:
    name = "a_name_without_any_blank_in_it_that_has_sixty_letters_in_all"
    page = window.open(
        "compare?gpus=64&workload=vgg16&node=dgx-1v&inter-link=ethernet-25g-tcp&b-inter-link=ethernet-100g-rdma"
        f"&c-local-batch-size=4096&d-gpus=128&d-name={name}"
    )
    page.get_by_text("Each quantity, side by side").click()
    for width in (390, 820, 1280):
        page.set_viewport_size({"width": width, "height": 900})
        window.drawn()
        cells = page.locator(".st-key-ratios table td")
        assert cells.count() == 3 * 4
        for box in (cells.nth(each).bounding_box() for each in range(cells.count())):
            assert box is not None
            assert box["x"] >= 0
            assert box["x"] + box["width"] <= width
        assert "over 99\u00a0% likely to be faster" in page.locator("table").first.inner_text()
