"""How soon the app answers: its first number, a changed field, ten visitors at once.

``python -m tests.browser.timings`` starts the app, asks, and prints seconds: those of the machine as well, so
that nothing else should run there. A number counts from when the browser has painted it.
"""

from __future__ import annotations

import asyncio
import os
import statistics
import tempfile
from pathlib import Path

from playwright.async_api import Browser, Page, async_playwright

from tests.browser import crowd
from tests.browser.chromium import FLAGS, chromium
from tests.browser.server import app_server

NUMBER = """() => [...document.querySelectorAll(".answer-figures > div")].some((figure) =>
  figure.textContent.startsWith("iteration") &&
  figure.querySelector(".answer-value")?.getBoundingClientRect().height > 0)"""
CHART = """() => document.querySelector(".js-plotly-plot .main-svg") !== null"""
HEADING = """() => document.querySelector("h3")?.innerText.includes(" on %d V100s")"""
CHANGES = (8, 16, 24, 48, 64, 96, 128, 16, 32, 12)
"""GPUs asked for, one count after another."""
LONGEST = 180_000
"""Any wait [ms]."""

WATCH = """
window.painted = {};
window.watch = (name, holds, start) => {
  const observer = new MutationObserver(() => {
    if (!holds()) return;
    observer.disconnect();
    requestAnimationFrame(() => {  // the frame that shows it; a message comes after that frame
      const after = new MessageChannel();
      after.port1.onmessage = () => { window.painted[name] = (performance.now() - start) / 1000; };
      after.port2.postMessage(0);
    });
  });
  observer.observe(document, {subtree: true, childList: true, characterData: true});
};
window.watchFromKey = (name, holds) => addEventListener(
  "keydown", () => window.watch(name, holds, performance.now()), {once: true, capture: true});
"""
"""In the page: note when what ``holds`` looks for was painted, since ``start`` or the next key [s]."""


async def visitor(browser: Browser, address: str, query: str = "predict") -> Page:
    """Open the app in a new profile, and watch for its first iteration time and chart."""
    context = await browser.new_context(viewport={"width": 1280, "height": 900})
    page = await context.new_page()
    page.set_default_timeout(LONGEST)
    await page.add_init_script(f"{WATCH} watch('number', {NUMBER}, 0); watch('chart', {CHART}, 0);")
    await page.goto(f"{address}/{query}", wait_until="commit")
    return page


async def painted(page: Page, name: str) -> float:
    """Return when something was painted [s]; since the navigation, or since the key pressed."""
    seconds: float = await (await page.wait_for_function(f"() => painted['{name}']")).json_value()
    return seconds


async def first(browser: Browser, address: str, query: str = "predict") -> tuple[float, float]:
    """Return how long a new visitor waits for an iteration time, and for a chart [s]."""
    page = await visitor(browser, address, query)
    waited = await painted(page, "number"), await painted(page, "chart")
    await page.context.close()
    return waited


async def changes(browser: Browser, address: str) -> list[float]:
    """Return how long each changed count of GPUs takes to be answered [s]."""
    page = await visitor(browser, address, "predict?gpus=4")
    await painted(page, "chart")
    await page.wait_for_timeout(2_000)  # until all charts are drawn
    field = page.get_by_label("GPUs", exact=True)
    waited = []
    for index, gpus in enumerate(CHANGES):
        await field.fill(str(gpus))
        await page.evaluate(f"watchFromKey('change-{index}', {HEADING % gpus})")
        await field.press("Enter")
        waited.append(await painted(page, f"change-{index}"))
        await page.wait_for_timeout(700)
    await page.context.close()
    return waited


async def together(browser: Browser, address: str) -> float:
    """Return when the last of ten windows opened at once has a number [s]."""
    loads = crowd.WORKLOADS
    queries = [f"predict?workload={loads[n % len(loads)]}&gpus={100 + n}" for n in range(crowd.PEOPLE)]
    every = await asyncio.gather(*(first(browser, address, query) for query in queries))
    return max(number for number, _ in every)


def listed(waited: list[float]) -> str:
    """Return the median and the most in words."""
    return f"median {statistics.median(waited):.2f} s, most {max(waited):.2f} s"


async def measured(address: str) -> None:
    """Print every figure of windows; the server has just started, and nobody has come yet."""
    async with async_playwright() as playwright:
        browser = await playwright.chromium.launch(executable_path=chromium(), args=list(FLAGS))
        number, chart = await first(browser, address)
        print(f"first number, the server's first visitor: {number:.2f} s; first chart {chart:.2f} s")
        later = [await first(browser, address) for _ in range(5)]
        print(f"first number, later visitors: {listed([number for number, _ in later])}")
        print(f"first chart, later visitors: {listed([chart for _, chart in later])}")
        print(f"a changed field: {listed(await changes(browser, address))}")
        at_once = [await together(browser, address) for _ in range(3)]
        print(f"ten windows of this machine opened at once, the last number: {listed(at_once)}")
        await browser.close()


def main() -> None:
    """Start the app and measure it: sessions without a browser, then windows."""
    os.environ[crowd.SWITCH] = "true"
    for measure in (opened, windows):
        with tempfile.TemporaryDirectory() as logs, app_server(Path(logs) / "log") as address:
            measure(address)


def opened(address: str) -> None:
    """Print when the last of ten sessions opened at once has its whole page."""
    first_ones = crowd.opening(address)
    later = [crowd.opening(address) for _ in range(5)]
    print(
        f"ten sessions opened at once, the last page: the first ten {first_ones:.2f} s, later {listed(later)}"
    )


def windows(address: str) -> None:
    """Print what windows of chromium wait for."""
    asyncio.run(measured(address))


if __name__ == "__main__":
    main()
