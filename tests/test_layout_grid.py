"""Of each degree of tensor parallelism on each number of stages: the fastest layout that fits, or why not."""

from __future__ import annotations

import json

import pytest

import perfmodel

ASKED = {"gpus": 24, "node": "dgx-h100", "global_batch_size": 96}


@pytest.fixture(scope="module")
def found():
    return perfmodel.layouts("llama-3-8b", **ASKED)


def test_each_cell_is_the_fastest_of_its_rows(found):
    fastest = {}
    for row in found.rows:
        key = row.layout["tensor_parallel"], row.layout["pipeline_parallel"]
        fastest.setdefault(key, row.iteration_time)
    cells = {(cell.tensor_parallel, cell.pipeline_parallel): cell for cell in found.grid}
    assert {key for key, cell in cells.items() if cell.iteration_time is not None} == fastest.keys()
    for key, time in fastest.items():
        assert cells[key].iteration_time == pytest.approx(time, rel=1e-12)
        assert cells[key].reason == ""


def test_each_cell_without_a_layout_says_why(found):
    for cell in found.grid:
        divides = 24 % (cell.tensor_parallel * cell.pipeline_parallel) == 0
        assert divides is (cell.memory is not None)
        assert divides or cell.reason == "tensor x pipeline does not divide the accelerators"
    assert len({(cell.tensor_parallel, cell.pipeline_parallel) for cell in found.grid}) == len(found.grid)


def test_what_does_not_fit_says_how_much_it_needs():
    found = perfmodel.layouts("gpt3-175b", gpus=1024, node="dgx-a100-80gb", global_batch_size=1536)
    too_large = [cell for cell in found.grid if cell.reason == "do not fit into memory"]
    assert too_large
    assert all(cell.iteration_time is None and cell.memory > 0.9 * found.capacity for cell in too_large)
    (batch,) = (cell for cell in found.grid if "batch" in cell.reason)
    assert batch.memory is None
    assert 1536 % (1024 // (batch.tensor_parallel * batch.pipeline_parallel)) != 0


def test_json_has_the_grid(found):
    cells = json.loads(found.to_json())["grid"]
    assert cells == [vars(cell) for cell in found.grid]
