"""Every page at its address, its first field near, and axe: wide and narrow, light and dark."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import Page, expect

from app.menu import FIRST, MORE, PAGES
from tests.browser.conftest import MENU, Window, next_tab
from tests.test_traces import trace

pytestmark = pytest.mark.any_version
WIDTHS = (1440, 390)
GRAVE = ("serious", "critical")
OF_COLOURS = ["color-contrast", "link-in-text-block"]
"""The rules that a theme can break: all others look at elements, which are the same in both."""
IN_THEME = "theme => getComputedStyle(document.querySelector('[data-testid=stApp]')).colorScheme === theme"
IN_SIDEBAR = "!!document.activeElement.closest('[data-testid=stSidebar]')"
MOST_TABS = 6
ALL = (FIRST, *PAGES, *MORE)
ERRORS = "[data-testid=stAlertContentError], [data-testid=stException]"
NO_SIDEBAR = (FIRST[0], "hardware", "runs")
"""Pages whose fields come after the menu, past which the first link of every page leads."""
NO_CHART = (FIRST[0], "runs")
"""Pages that draw nothing before they were told something."""
IN_A_FIELD = "document.activeElement.matches('input, textarea, select, [data-testid=stFileUploader] *')"
MOST_TABS_TO_A_FIELD = 5
QUERIES = {
    "predict": "?workload=llama-2-70b&accelerator=h100-sxm5-80gb&gpus=64&tensor-parallel=8"
    "&pipeline-parallel=4&global-batch-size=64",
    "scale": "?gpus=8,16&networks=ethernet-100g-tcp,ethernet-100g-rdma",
    "plan": "?epochs=1&max-gpus=8&accelerators=v100-sxm2-16gb",
    "quote": "?quote=horovod-512-gpus",
    "compare": "?gpus=32&b-inter-link=ethernet-100g-tcp&c-inter-link=ethernet-100g-rdma",
}
"""States with more on them than a page opens with."""


@pytest.fixture(scope="module")
def visitor(tabs: list[Window]) -> Iterator[Window]:
    """A visitor who goes from page to page."""
    tab = next_tab(tabs)
    yield tab
    tab.page.emulate_media(color_scheme="light")
    tab.leave()


def grave(window: Window) -> dict[str, list[str]]:
    """Return what axe calls serious or critical in either theme: rule -> the elements that break it."""
    return _grave_in(window, "light") | _grave_in(window, "dark", runOnly=OF_COLOURS)


def _grave_in(window: Window, theme: str, **rules: Any) -> dict[str, list[str]]:
    window.page.emulate_media(color_scheme=theme)
    window.page.wait_for_function(IN_THEME, arg=theme, polling=100)
    window.settled()
    options = {"resultTypes": ["violations"], **rules}
    violations: list[dict[str, Any]] = Axe().run(window.page, options=options).response["violations"]
    return {
        f"{each['id']} in {theme}": [
            f"{node['target']} {node['html'][:200]} {node['failureSummary']}" for node in each["nodes"]
        ]
        for each in violations
        if each["impact"] in GRAVE
    }


@pytest.mark.parametrize(("name", "title"), ALL, ids=[name for name, _ in ALL])
def test_a_page_is_drawn_at_its_address_and_axe_finds_nothing_serious(visitor, name, title):
    visitor.page.set_viewport_size({"width": WIDTHS[0], "height": 900})
    visitor.page.emulate_media(color_scheme="light")  # before there is anything to draw anew
    visitor.open(f"{name}/{QUERIES.get(name, '')}")
    asked, _, query = visitor.page.url.partition("?")
    assert asked == f"{visitor.address}/{'' if name == FIRST[0] else name}"
    assert query or name not in QUERIES
    assert visitor.page.locator("[role=dialog]").count() == 0
    assert not visitor.complaints
    assert visitor.page.locator(ERRORS).count() == 0
    if (name, title) not in MORE:
        assert_its_first_field_is_near(visitor.page, name)
        assert visitor.entry(title).get_attribute("aria-current") == "page"
        visitor.page.keyboard.press("Escape")
    folded = visitor.page.locator("[data-testid=stExpander] details:not([open]) > summary")
    while folded.count():  # what is in a fold may have folds of its own
        folded.evaluate_all("folds => folds.forEach(fold => fold.click())")
        visitor.settled()
    assert grave(visitor) == {}
    visitor.page.set_viewport_size({"width": WIDTHS[1], "height": 900})  # the colours are those of the wide
    assert _grave_in(visitor, "dark", rules={rule: {"enabled": False} for rule in OF_COLOURS}) == {}


def assert_its_first_field_is_near(page: Page, name: str) -> None:
    """Expect a field after a few Tabs, and a chart where the page draws one before it was told anything."""
    if name not in NO_CHART:
        page.wait_for_selector("[data-testid=stPlotlyChart] .main-svg")
    for pressed in range(1, MOST_TABS_TO_A_FIELD + 1):
        page.keyboard.press("Tab")
        if page.evaluate(IN_A_FIELD):
            return
        if pressed == 1 and name in NO_SIDEBAR:
            page.keyboard.press("Enter")  # skip to the main content
    pytest.fail(f"no field after {MOST_TABS_TO_A_FIELD} Tabs")


def test_a_page_that_lacks_files_is_readable(visitor):
    visitor.open("scale?gpus=8&own-calibration=my runs.json~00000000&own-specs=my-gpu.toml~00000000")
    for width in WIDTHS:
        visitor.page.set_viewport_size({"width": width, "height": 900})
        visitor.page.wait_for_timeout(300)  # of what slides
        assert visitor.settled().get_by_role("button", name="Answer without them").is_visible()
        assert grave(visitor) == {}, width


def test_an_uploaded_trace_is_readable(visitor, tmp_path):
    page = visitor.page
    page.set_viewport_size({"width": WIDTHS[1], "height": 844})
    visitor.open(
        "trace?accelerator=v100-sxm2-32gb&gpus=2&workload=resnet50&precision=fp32&local-batch-size=32"
    )
    page.set_input_files("input[type=file]", trace(tmp_path / "step.json.gz", packed=True))
    page.wait_for_selector(".st-key-answer-card:has-text('step.json.gz')")
    page.get_by_role("button", name="Calibrate on this trace").wait_for()
    visitor.settled()
    assert grave(visitor) == {}


@pytest.mark.parametrize("name", ["transformers", "hardware"])
def test_the_menu_and_the_options_open_on_a_phone_and_close_by_the_keyboard(visitor, name):
    page = visitor.page
    page.set_viewport_size({"width": WIDTHS[1], "height": 844})
    visitor.open(name)
    opener, sidebar = page.get_by_test_id("stExpandSidebarButton"), page.get_by_test_id("stSidebar")
    first_link = sidebar.get_by_role("link", name=FIRST[1], exact=True)
    assert not first_link.is_visible()
    for _ in range(MOST_TABS):
        page.keyboard.press("Tab")
        assert not page.evaluate(IN_SIDEBAR)  # what nobody sees
    opener.focus()
    page.keyboard.press("Enter")
    page.wait_for_function(IN_SIDEBAR, polling=100)
    visitor.settled()
    assert grave(visitor) == {}
    page.keyboard.press("Tab")
    expect(first_link).to_be_focused()
    field = sidebar.get_by_role("combobox")
    if field.count():  # with a list of choices over the sidebar
        field.first.click()
        page.get_by_role("listbox").wait_for()
        visitor.settled()
        assert grave(visitor) == {}
        page.keyboard.press("Escape")
        page.get_by_role("listbox").wait_for(state="detached")
        assert first_link.is_visible()
    page.keyboard.press("Escape")
    expect(opener).to_be_focused()
    first_link.wait_for(state="hidden")
    opener.click()
    first_link.wait_for()
    sidebar.get_by_test_id("stSidebarCollapseButton").get_by_role("button").click()
    first_link.wait_for(state="hidden")


HAS_A_FRAME = """() => { const active = document.activeElement, style = getComputedStyle(active);
  return active.matches("input, textarea") || (style.outlineStyle === "solid" && style.outlineWidth === "2px")
    || !!active.closest("label"); }"""


def test_what_has_the_focus_shows_it(visitor):
    page = visitor.page
    page.set_viewport_size({"width": WIDTHS[0], "height": 900})
    visitor.open("fits")
    for pressed in range(1, 26):
        page.keyboard.press("Tab")
        focused = page.evaluate("document.activeElement.outerHTML.slice(0, 200)")
        assert page.evaluate(HAS_A_FRAME), (pressed, focused)


@pytest.mark.parametrize("width", [820, WIDTHS[0]])
def test_the_menu_fits_and_a_group_of_it_opens_by_the_keyboard(visitor, width):
    page = visitor.page
    page.set_viewport_size({"width": width, "height": 900})
    visitor.open("hardware")
    groups = page.get_by_test_id("stTopNavSection")
    assert [text.strip() for text in groups.all_inner_texts()] == list(MENU)
    groups.nth(list(MENU).index("Evidence")).focus()
    page.keyboard.press("Enter")
    link = page.get_by_role("menuitem", name="Validation", exact=True)
    link.wait_for()
    visitor.settled()
    assert grave(visitor) == {}
    link.press("Enter")
    page.wait_for_url("**/validation**")
