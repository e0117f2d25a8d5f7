"""A transformer's layout on Predict, as a person sees it on a phone and on a desk."""

from __future__ import annotations

import re

import pytest

pytestmark = pytest.mark.any_version
JOB = "?workload=llama-2-70b&accelerator=h100-sxm5-80gb&gpus=64&global-batch-size=64"
CHARTS = "[...document.querySelectorAll('[data-testid=stPlotlyChart]')]"


def test_pipeline_and_memory_are_drawn_inside_the_page(window):
    page = window.open(f"{JOB}&tensor-parallel=8&pipeline-parallel=4")
    for width in (1440, 390):
        page.set_viewport_size({"width": width, "height": 900})
        window.drawn()
        assert page.get_by_text("32 micro-batches: stages wait").is_visible()
        edges = page.evaluate(f"{CHARTS}.map(each => each.getBoundingClientRect().right)")
        assert max(edges) <= width
        assert len(edges) >= 3
    drawn = page.evaluate(f"{CHARTS}.map(each => each.querySelectorAll('.bars .point path').length)")
    assert drawn[1] > 4 * 2 * 8  # of each stage the first and the last micro-batches
    legends = page.evaluate(f"{CHARTS}.map(each => [...each.querySelectorAll('.legendtext')].length)")
    assert legends[1:3] == [3, 7]  # terms of no time are not drawn


def test_the_nearest_layout_that_fits_is_a_click_away(window):
    page = window.open(f"{JOB}&tensor-parallel=2")
    page.get_by_text("Layout", exact=True).click()
    page.get_by_role("button", name="Take ").click()
    page.get_by_text(re.compile("^fits(:| with probability)")).first.wait_for()
    window.settled()
    assert "does not fit" not in page.inner_text("[data-testid=stSidebar]")
    assert "pipeline-parallel=" in page.url
    page.go_back()
    page.wait_for_function("!location.search.includes('pipeline-parallel')", polling=100)
