"""How soon the app answers: its first number, a changed field, ten visitors at once.

``python -m tests.browser.timings`` starts the app, asks, and prints seconds: those of the machine as well, so
that nothing else should run there.
"""

from __future__ import annotations

import asyncio
import statistics
import tempfile
import time
from pathlib import Path

from playwright.async_api import Browser, async_playwright

from tests.browser.chromium import FLAGS, chromium
from tests.browser.crowd import PEOPLE, WORKLOADS
from tests.browser.server import app_server

NUMBER = "[data-testid=stMetric]:has-text('Iteration') [data-testid=stMetricValue]"
CHANGES = (8, 16, 24, 48, 64, 96, 128, 16, 32, 12)
"""GPUs asked for, one count after another."""


async def first_number(browser: Browser, address: str, query: str = "") -> float:
    """Return how long a new visitor waits for an iteration time [s]."""
    context = await browser.new_context(viewport={"width": 1280, "height": 900})
    page = await context.new_page()
    page.set_default_timeout(180_000)
    start = time.perf_counter()
    await page.goto(f"{address}/{query}", wait_until="commit")
    await page.wait_for_selector(NUMBER)
    waited = time.perf_counter() - start
    await context.close()
    return waited


async def changes(browser: Browser, address: str) -> list[float]:
    """Return how long each changed count of GPUs takes to be answered [s]."""
    context = await browser.new_context(viewport={"width": 1280, "height": 900})
    page = await context.new_page()
    await page.goto(f"{address}/?gpus=4")
    await page.wait_for_selector(NUMBER)
    await page.wait_for_timeout(2_000)  # until the charts are drawn
    field = page.get_by_label("GPUs", exact=True)
    waited = []
    for gpus in CHANGES:
        await field.fill(str(gpus))
        start = time.perf_counter()
        await field.press("Enter")
        await page.wait_for_selector(f"h3:has-text('{gpus} x')")
        waited.append(time.perf_counter() - start)
        await page.wait_for_timeout(700)
    await context.close()
    return waited


async def together(browser: Browser, address: str) -> float:
    """Return when the last of ten visitors who come at once has a number [s]."""
    queries = [f"?workload={WORKLOADS[n % len(WORKLOADS)]}&gpus={100 + n}" for n in range(PEOPLE)]
    return max(await asyncio.gather(*(first_number(browser, address, query) for query in queries)))


async def measured(address: str) -> None:
    """Print every figure; the server has just started, and nobody has come yet."""
    async with async_playwright() as playwright:
        browser = await playwright.chromium.launch(executable_path=chromium(), args=list(FLAGS))
        print(f"first number, the server's first visitor: {await first_number(browser, address):.2f} s")
        later = [await first_number(browser, address) for _ in range(5)]
        print(f"first number, later ones: median {statistics.median(later):.2f} s, most {max(later):.2f} s")
        waited = await changes(browser, address)
        print(f"a changed field: median {statistics.median(waited):.2f} s, most {max(waited):.2f} s")
        at_once = [await together(browser, address) for _ in range(3)]
        print(
            f"ten windows opened at once, the last number: {', '.join(f'{each:.2f}' for each in at_once)} s"
        )
        await browser.close()


def main() -> None:
    """Start the app and measure it."""
    with tempfile.TemporaryDirectory() as logs, app_server(Path(logs) / "log") as address:
        asyncio.run(measured(address))


if __name__ == "__main__":
    main()
