"""The page of layouts in a browser: a click shows a layout, and Back the one before."""

from __future__ import annotations

import pytest

import perfmodel
from app import layout_search

pytestmark = pytest.mark.any_version
ADDRESS = "transformers?workload=llama-3-8b&gpus=16&global-batch-size=64&node=dgx-h100"


def test_a_click_on_the_map_or_the_list_shows_a_layout_and_back_the_one_before(window):
    answer = perfmodel.layouts("llama-3-8b", gpus=16, global_batch_size=64, node="dgx-h100")

    def heading(row):
        return f"h3:has-text('Layout {layout_search.name_of(row.layout)}')"

    page = window.open(ADDRESS)
    page.wait_for_selector(heading(answer.taken))
    window.drawn()
    timed = [each for each in answer.grid if each.iteration_time]
    cell = timed[-1]
    where = cell.tensor_parallel, cell.pipeline_parallel
    clicked = next(
        row
        for row in answer.rows
        if (row.layout["tensor_parallel"], row.layout["pipeline_parallel"]) == where
    )
    place = page.locator(".js-plotly-plot .bars").first.locator(".point").nth(timed.index(cell))
    place.scroll_into_view_if_needed()
    box = place.bounding_box()
    page.mouse.click(box["x"] + box["width"] / 2, box["y"] + box["height"] / 2)
    page.wait_for_selector(heading(clicked))
    window.drawn()
    assert "layout=" in page.url
    second = answer.distinct()[1][0]
    rows = page.get_by_test_id("stDataFrame").first
    rows.scroll_into_view_if_needed()
    box = rows.bounding_box()
    page.mouse.click(box["x"] + 18, box["y"] + 35 + 35 * 1.5)
    page.wait_for_selector(heading(second))
    window.settled()
    page.go_back()
    page.wait_for_selector(heading(clicked))
    page.go_back()
    page.wait_for_selector(heading(answer.taken))
    page.go_forward()
    page.wait_for_selector(heading(clicked))
