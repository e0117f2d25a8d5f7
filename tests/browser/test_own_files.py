"""Addresses made with files of one's own, opened by somebody who lacks them."""

from __future__ import annotations

from pathlib import Path
from urllib.parse import urlencode

import pytest

from perfmodel.core.units import show
from perfmodel.model.options.scenario import Scenario
from perfmodel.model.prediction import predict
from tests.test_own_runs import MACHINE, calibrated

pytestmark = pytest.mark.any_version
ITERATION = ".answer-figures > div:has-text('Iteration') > .answer-value"


@pytest.fixture(scope="module")
def mine(tmp_path_factory) -> Path:
    return calibrated(tmp_path_factory.mktemp("own"))


def test_an_address_with_a_file_is_answered_where_that_is_and_by_back_and_forward(window, other, mine):
    job = MACHINE | {"world_size": 8, "local_batch_size": 64}
    without = show(predict(Scenario(**job)).iteration_time, "s")
    with_it = show(predict(Scenario(**job, calibration=str(mine))).iteration_time, "s")
    assert with_it != without
    query = {name.replace("_", "-"): value for name, value in MACHINE.items()}
    page = window.open(f"?{urlencode({**query, 'gpus': 8, 'local-batch-size': 64})}")
    page.get_by_text("Your own runs").click()
    uploader = page.get_by_test_id("stFileUploader")
    uploader.wait_for()
    window.settled()
    entries = page.evaluate("history.length")
    with page.expect_file_chooser() as chooser:
        uploader.locator("button").first.click()
    chooser.value.set_files(mine)
    page.wait_for_selector(f"{ITERATION}:has-text('{with_it}')")
    page.wait_for_url("**own-calibration=mine.json~**")
    address = page.url.removeprefix(f"{window.address}/")
    assert page.evaluate("history.length") == entries + 1
    for step, value in ((page.go_back, without), (page.go_forward, with_it)):
        step()
        page.wait_for_selector(f"{ITERATION}:has-text('{value}')")
    assert page.evaluate("history.length") == entries + 1
    again = other.open(address)
    assert "mine.json" in again.get_by_test_id("stAlert").inner_text()
    assert again.locator(ITERATION).count() == 0
    again.set_input_files("input[type=file]", mine)
    again.wait_for_selector(f"{ITERATION}:has-text('{with_it}')")
    assert other.settled().url.removeprefix(f"{other.address}/") == address
    lacking = other.open(address)
    lacking.get_by_role("button", name="Answer without it").click()
    lacking.wait_for_selector(f"{ITERATION}:has-text('{without}')")
    lacking.wait_for_function("!location.search.includes('own-calibration')", polling=100)
