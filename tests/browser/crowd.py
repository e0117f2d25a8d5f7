"""Ten people at once, each with a question of one's own; every answer must be to that question.

``python -m tests.browser.crowd [SECONDS] [browsers]``: ten sessions of the server, or ten windows of
chromium.
"""

from __future__ import annotations

import asyncio
import json
import os
import re
import sys
import tempfile
import time
import urllib.request
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any, NamedTuple

from playwright.async_api import Browser, Error, async_playwright

from perfmodel.model.options.scenario import Scenario
from perfmodel.model.prediction import predict
from perfmodel.model.prediction.card import samples_per_second
from perfmodel.model.prediction.names import network_name
from tests.browser.chromium import FLAGS, chromium
from tests.browser.server import app_server

LIKELY = re.compile(r'>Likely</div><div class=\\\\?"[\w-]+\\\\?">([\d,]+) ?<')
"""Matches the throughput on a card in JSON."""
PEOPLE = 10
WORKLOADS = ("resnet50", "vgg16", "alexnet", "bert-base", "inception-v3")
COUNTS = (2, 4, 8, 16, 24, 32, 48, 64)
SWITCH = "STREAMLIT_SERVER_ENABLE_AGENT_API"
"""Of Streamlit: sessions without a browser, by HTTP."""


class CrowdResult(NamedTuple):
    """What came of it."""

    answers: int
    wrong: list[str]
    slowest: float
    """Of a change to its answer [s]."""


def question(index: int, answers: int) -> tuple[str, int, str]:
    """Return somebody's workload, the next count of GPUs, and the throughput that must come."""
    workload = WORKLOADS[index % len(WORKLOADS)]
    gpus = COUNTS[(answers + index) % len(COUNTS)]
    answer = predict(Scenario(workload=workload, world_size=gpus))
    tokens = answer.tokens_per_second
    samples = samples_per_second(answer, answer.samples_per_second)
    return workload, gpus, samples if tokens is None else f"{tokens:,.0f} tokens/s"


def together(results: Sequence[CrowdResult]) -> CrowdResult:
    """Return the sum over people."""
    return CrowdResult(
        sum(one.answers for one in results),
        [line for one in results for line in one.wrong],
        max(one.slowest for one in results),
    )


def opening(address: str, people: int = PEOPLE) -> float:
    """Return when the last of ``people`` who come at once has a whole page, without a browser [s]."""

    def opened(index: int) -> float:
        query = {"workload": [WORKLOADS[index % len(WORKLOADS)]], "gpus": [str(100 + index)]}
        start = time.monotonic()
        page = _ask(address, {"query_params": query})
        waited = time.monotonic() - start
        if page["status"] == "error" or "answer-figures" not in json.dumps(page["tree"]):
            raise ValueError(f"no iteration time for {query}: {page['status']}")
        return waited

    with ThreadPoolExecutor(people) as pool:
        return max(pool.map(opened, range(people)))


def sessions(address: str, seconds: float, people: int = PEOPLE) -> CrowdResult:
    """Let people in without a browser; the server must run with ``SWITCH`` set."""
    end = time.monotonic() + seconds
    with ThreadPoolExecutor(people) as pool:
        return together(list(pool.map(lambda index: _session(address, index, end), range(people))))


def _session(address: str, index: int, end: float) -> CrowdResult:
    workload, wrong, answers, slowest = WORKLOADS[index % len(WORKLOADS)], [], 0, 0.0
    state = _ask(address, {"query_params": {"workload": [workload], "gpus": [str(100 + index)]}})
    if state["status"] == "error":
        wrong.append(f"{index}: an error on opening")
    while answers < 1 or time.monotonic() < end:
        _, gpus, expected = question(index, answers)
        start = time.monotonic()
        body = {"session_id": state["session_id"], "widget_state": {"option-gpus": gpus}}
        state = _ask(address, body)
        slowest = max(slowest, time.monotonic() - start)
        answers += 1
        elements = list(_elements(state["tree"]))
        head = next((e["props"]["body"] for e in elements if e["type"] == "subheader"), "")
        number = " ".join(LIKELY.findall(json.dumps(state["tree"]))[:1])
        if head != f"How fast is {network_name(workload)} on {gpus} V100s?" or number != expected.split()[0]:
            wrong.append(f"{index}: {workload} on {gpus}, {expected} expected, shown: {head}, {number}")
        if state["status"] == "error" or state["query_params"]["gpus"] != [str(gpus)]:
            wrong.append(f"{index}: {state['status']}, {state['query_params']}")
    return CrowdResult(answers, wrong, slowest)


def _ask(address: str, body: dict[str, Any]) -> dict[str, Any]:
    request = urllib.request.Request(
        f"{address}/_stcore/agent/interact", json.dumps(body).encode(), {"Content-Type": "application/json"}
    )
    with urllib.request.urlopen(request, timeout=180) as answer:
        state: dict[str, Any] = json.load(answer)
        return state


def _elements(element: dict[str, Any]) -> Iterator[dict[str, Any]]:
    yield element
    for child in element.get("children", ()):
        yield from _elements(child)


async def browsers(address: str, seconds: float, people: int = PEOPLE) -> CrowdResult:
    """Let people in by windows of chromium."""
    async with async_playwright() as playwright:
        browser = await playwright.chromium.launch(executable_path=chromium(), args=list(FLAGS))
        end = time.monotonic() + seconds
        results = await asyncio.gather(*(_window(browser, address, i, end) for i in range(people)))
        await browser.close()
    return together(results)


async def _window(browser: Browser, address: str, index: int, end: float) -> CrowdResult:
    wrong, answers, slowest = [], 0, 0.0
    context = await browser.new_context(viewport={"width": 800, "height": 600})
    page = await context.new_page()
    page.set_default_timeout(180_000)
    page.on("pageerror", lambda error: wrong.append(str(error)))
    await page.goto(f"{address}/?workload={WORKLOADS[index % len(WORKLOADS)]}&gpus={index + 100}")
    field = page.get_by_label("GPUs", exact=True)
    await field.wait_for()
    while answers < 1 or time.monotonic() < end:
        workload, gpus, expected = question(index, answers)
        start = time.monotonic()
        await field.fill(str(gpus))
        await field.press("Enter")
        head = f"How fast is {network_name(workload)} on {gpus} V100s?"
        try:
            await page.wait_for_selector(f"h3:has-text('{head}')")
            await page.wait_for_selector(
                f".answer-figures > div:has-text('Likely') > :text('{expected.split()[0]}')"
            )
        except Error as error:
            wrong.append(f"{index}: {head}, {expected}: {str(error)[:200]}")
            break
        slowest = max(slowest, time.monotonic() - start)
        answers += 1
    if await page.locator("[data-testid=stException], [data-testid=stAlertContentError]").count():
        wrong.append(f"{index}: an error on the page")
    await context.close()
    return CrowdResult(answers, wrong, slowest)


def main(seconds: float, windows: bool) -> int:
    """Say how it went; 1 where somebody got a wrong answer."""
    os.environ[SWITCH] = "true"
    with tempfile.TemporaryDirectory() as logs:
        log = Path(logs) / "log"
        with app_server(log) as address:
            result = asyncio.run(browsers(address, seconds)) if windows else sessions(address, seconds)
        errors = log.read_text().count("Traceback")
    print(
        f"{PEOPLE} {'windows' if windows else 'sessions'} for {seconds:g} s: {result.answers} answers, "
        f"{len(result.wrong)} wrong, slowest {result.slowest:.2f} s, {errors} tracebacks"
    )
    print("\n".join(result.wrong))
    return 1 if result.wrong or errors else 0


if __name__ == "__main__":
    words = sys.argv[1:]
    numbers = [float(word) for word in words if word != "browsers"]
    sys.exit(main(numbers[0] if numbers else 60.0, "browsers" in words))
