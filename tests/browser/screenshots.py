"""Pictures of every page, wide and narrow, light and dark.

``python -m tests.browser.screenshots [FOLDER] [PAGE ...]``
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

from playwright.sync_api import Page, sync_playwright

from tests.browser.chromium import FLAGS, chromium
from tests.browser.server import app_server

WIDTHS = (390, 820, 1440)
THEMES = ("light", "dark")
PAGES = {
    "start": "",
    "predict": "predict",
    "scale": "scale?gpus=8,16,32,64&inter-link=ethernet-25g-tcp"
    "&networks=ethernet-100g-tcp,ethernet-100g-rdma",
    "transformers": "transformers?workload=llama-3-70b&gpus=512&global-batch-size=1024"
    "&node=aws-p5.48xlarge&tokens=1T",
    "plan": "plan?deadline=24h&budget=500&max-gpus=64",
    "fleets": "fleets?workload=bert-large&machine=dgx-a100-80gb&machines=8&how-many=4&run-time=18h"
    "&purchase-price=dgx-a100-80gb=150000",
    "quote": "quote?quote=horovod-512-gpus",
    "compare": "compare?gpus=32&inter-link=ethernet-25g-tcp&b-inter-link=ethernet-100g-tcp"
    "&c-inter-link=ethernet-100g-rdma&d-inter-link=ethernet-25g-rdma",
    "fits": "fits?workload=llama-3-70b&accelerator=rtx-4090&gpus=2&framework=axolotl&lora=16"
    "&frozen-weights=nf4&sharding=zero3&recompute=full&sequence-length=1024&host-memory=128GB",
    "diagnose": "diagnose?gpus=32&measured=400ms",
    "sensitivity": "sensitivity?gpus=32",
    "communication": "communication",
    "stragglers": "stragglers",
    "trace": "trace",
    "validation": "validation",
    "runs": "runs",
    "hardware": "hardware",
}


def settle(page: Page) -> None:
    """Wait until the page has nothing more to draw."""
    page.wait_for_selector("[data-testid=stAppViewContainer] h3", timeout=60_000)
    page.wait_for_selector("[data-testid=stApp]:not([data-test-script-state=running])", timeout=60_000)
    page.wait_for_function(
        "!document.querySelector('[data-testid=stSkeleton], [data-stale=true]')", timeout=60_000
    )
    page.wait_for_function(
        "[...document.querySelectorAll('[data-testid=stPlotlyChart]')]"
        ".every(chart => chart.querySelector('.main-svg'))"
    )
    page.wait_for_timeout(700)


def folder(text: str) -> Path:
    """Return the folder of an argument; a usage error for one that looks like an option."""
    if text.startswith("-"):
        raise argparse.ArgumentTypeError(f"{text!r} is no folder")
    return Path(text)


def arguments(words: Sequence[str]) -> argparse.Namespace:
    """Return the folder and the pages that the words of a command line name."""
    summary = str(__doc__).partition("\n")[0]
    parser = argparse.ArgumentParser(prog="python -m tests.browser.screenshots", description=summary)
    parser.add_argument("folder", type=folder, nargs="?", default=Path("screenshots"), metavar="FOLDER")
    named = f"one or several of {', '.join(PAGES)}; without any, all"
    parser.add_argument("pages", nargs="*", metavar="PAGE", help=named)
    parsed = parser.parse_args(words)
    if unknown := [each for each in parsed.pages if each not in PAGES]:
        parser.error(f"no page {', '.join(map(repr, unknown))}; pages: {', '.join(PAGES)}")
    return parsed


def main(target: Path, wanted: Sequence[str]) -> None:
    """Take every picture."""
    target.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory() as logs, sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=chromium(), args=list(FLAGS))
        with app_server(Path(logs) / "log") as address:
            for theme in THEMES:
                for width in WIDTHS:
                    context = browser.new_context(
                        viewport={"width": width, "height": 900}, color_scheme=theme
                    )
                    page = context.new_page()
                    for name, path in PAGES.items():
                        if wanted and name not in wanted:
                            continue
                        page.goto(f"{address}/{path}")
                        settle(page)
                        height = page.evaluate("document.querySelector('[data-testid=stMain]').scrollHeight")
                        page.set_viewport_size({"width": width, "height": min(3000, max(900, height + 20))})
                        page.wait_for_timeout(400)
                        page.screenshot(path=target / f"{name}-{width}-{theme}.png")
                        page.set_viewport_size({"width": width, "height": 900})
                    context.close()
        browser.close()
    print(f"wrote {target}")


if __name__ == "__main__":
    given = arguments(sys.argv[1:])
    main(given.folder, given.pages)
