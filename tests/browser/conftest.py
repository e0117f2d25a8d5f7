"""One app and one chromium for the tests of a worker; what the browser said and asked is kept."""

from __future__ import annotations

import os
import re
import warnings
from collections.abc import Generator, Iterator
from typing import NamedTuple
from urllib.parse import urlsplit

import pytest
from playwright.sync_api import Browser, BrowserContext, Locator, Page, Response, expect, sync_playwright

from app.menu import GROUPS, MORE, MORE_GROUP
from tests.browser.chromium import FLAGS, NoChromium, chromium
from tests.browser.crowd import SWITCH
from tests.browser.runs import DRAWN, SETTLED, WATCH, wait
from tests.browser.server import app_server

MENU = {**GROUPS, MORE_GROUP: MORE}
LOOPBACK = {"127.0.0.1", "localhost", ""}
LONGEST = 180_000
"""Any wait [ms], of a hang: a busy machine is slow."""
expect.set_options(timeout=LONGEST)


LONG_HISTORY = 20
"""Entries of a tab: no test adds thirty."""


class Window(NamedTuple):
    """A page of the app, and what it said."""

    page: Page
    address: str
    complaints: list[str]
    strangers: list[str]
    """Addresses outside loopback it asked for."""

    def open(self, path: str = "") -> Page:
        """Go there, and wait until everything is drawn."""
        self.page.goto(f"{self.address}/{path}")
        return self.settled()

    def settled(self) -> Page:
        """Wait until the page has the answer to all that was done to it, and nothing more to draw."""
        wait(self.page, SETTLED)
        return self.page

    def entry(self, title: str) -> Locator:
        """Open the group of a page in the menu on top, and return the page's entry there."""
        group = next((group for group, pages in MENU.items() if title in dict(pages).values()), None)
        if group is None:
            return self.page.get_by_role("link", name=title, exact=True)
        entry = self.page.get_by_role("menuitem", name=title, exact=True)
        if not entry.count():
            self.page.get_by_test_id("stTopNavSection").filter(has_text=re.compile(f"^{group}$")).click()
        return entry

    def leave(self) -> tuple[list[str], list[str]]:
        """Leave nothing to the next visitor of the tab, and return complaints and strangers."""
        self.page.evaluate("localStorage.clear(); sessionStorage.clear()")
        self.page.context.clear_cookies()
        self.page.goto("about:blank")
        result = list(self.complaints), list(self.strangers)
        self.complaints.clear()
        self.strangers.clear()
        return result

    def drawn(self) -> Page:
        """Wait until the page is settled and each of its charts is drawn, and lies where it will."""
        self.settled()
        wait(self.page, DRAWN)
        return self.settled()


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(
    item: pytest.Item, call: pytest.CallInfo[None]
) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """In CI a test that was skipped has failed, whatever the reason."""
    report = yield
    if report.skipped and "CI" in os.environ:
        report.outcome = "failed"
    return report


@pytest.fixture(scope="session")
def address(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """Where the app runs."""
    log = tmp_path_factory.mktemp("app") / "log"
    os.environ[SWITCH] = "true"
    with app_server(log) as url:
        yield url
    assert "Traceback" not in log.read_text(), log.read_text()[-3000:]


@pytest.fixture(scope="package")  # its loop would run on in what a worker tests next
def browser() -> Iterator[Browser]:
    """Debian's chromium, found or installed."""
    try:
        path = chromium()
    except NoChromium as error:
        reason = f"NO BROWSER, so nobody has looked at the app: {error}"
        warnings.warn(reason, stacklevel=1)
        pytest.skip(reason)
    with sync_playwright() as driver:
        shown = driver.chromium.launch(executable_path=path, args=list(FLAGS))
        yield shown
        shown.close()


def _leaves(url: str) -> bool:
    """Whether a request goes to another machine."""
    parts = urlsplit(url)
    return parts.scheme in ("http", "https", "ws", "wss") and (parts.hostname or "") not in LOOPBACK


def window_of(context: BrowserContext, address: str) -> Window:
    """Open a window that listens to itself."""
    complaints: list[str] = []
    strangers: list[str] = []
    page = context.new_page()
    page.set_default_timeout(LONGEST)
    page.add_init_script(WATCH)

    def refused(answer: Response) -> None:
        if answer.status >= 400:
            complaints.append(f"{answer.status} of {answer.url}")

    page.on("console", lambda each: complaints.append(each.text) if each.type == "error" else None)
    page.on("response", refused)
    page.on("pageerror", lambda error: complaints.append(str(error)))
    for kind in ("request", "websocket"):
        page.on(kind, lambda request: strangers.append(request.url) if _leaves(request.url) else None)
    return Window(page, address, complaints, strangers)


@pytest.fixture(scope="package")
def tabs(browser: Browser, address: str) -> Iterator[list[Window]]:
    """A tab for one visitor after another: a new one reads the scripts of the page for three seconds more."""
    context = browser.new_context(accept_downloads=True)
    yield [window_of(context, address)]
    context.close()


def next_tab(tabs: list[Window]) -> Window:
    """Return that tab, or a new one where its history, of which a browser keeps 50 entries, is long."""
    if tabs[0].page.evaluate("history.length") > LONG_HISTORY:
        context = tabs[0].page.context
        tabs[0].page.close()
        tabs[0] = window_of(context, tabs[0].address)
    return tabs[0]


@pytest.fixture
def window(tabs: list[Window]) -> Iterator[Window]:
    """A fresh visitor; an error in the console, a refused or a leaving request fails the test."""
    tab = next_tab(tabs)
    tab.page.set_viewport_size({"width": 1280, "height": 900})
    yield tab
    complaints, strangers = tab.leave()
    assert not complaints
    assert not strangers


@pytest.fixture
def other(browser: Browser, address: str) -> Iterator[Window]:
    """Another visitor."""
    context = browser.new_context(viewport={"width": 390, "height": 844})
    yield window_of(context, address)
    context.close()
