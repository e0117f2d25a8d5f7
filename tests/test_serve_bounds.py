"""Plans and layouts that take too long or too much memory are refused as documented; the service lives."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest

pytest.importorskip("fastapi")

from perfmodel.interfaces.service.application import application
from perfmodel.interfaces.service.pool import Pool
from perfmodel.interfaces.service.settings import Settings
from tests.serving import Served, comes, sample, serving

pytestmark = pytest.mark.any_version
PLAN = {"workload": "llama-3-70b", "tokens": 1e12, "max_gpus": 16_384}
"""Times 2.2 million layouts: 8 s of a free machine."""
WIDE = {"epochs": 90}
"""Crosses half a million plans as one table: 350 MB."""
LAYOUTS = {"workload": "deepseek-v3", "gpus": 55_440, "node": "dgx-h100", "global_batch_size": 55_440 * 64}
"""Times 36 thousand layouts, and writes all that fit."""
SMALL = {"epochs": 90, "accelerators": ["v100-sxm2-16gb"], "max_gpus": 2, "precisions": ["amp"]}


@contextmanager
def limited(**limits: Any) -> Iterator[Served]:
    settings = Settings(pool=1, access_log=False, **limits)
    pool = Pool(settings)
    with serving(settings, application(settings, pool.run, pool.stream), pool) as served:
        yield served


def asked(served: Served, command: str, body: dict[str, Any]) -> tuple[int, str]:
    """Return the status of an answer, and what it says is wrong."""
    status, headers, text = served.ask(f"/v1/{command}", json.dumps(body).encode())
    if status == 200:
        return status, ""
    assert headers["content-type"] == "application/problem+json"
    return status, str(json.loads(text)["detail"])


def counted(served: Served, outcome: str) -> float:
    return sample(served.app.metrics, "perfmodel_pool_total", outcome=outcome)


def test_a_plan_that_takes_too_long_is_ended_and_the_next_is_answered():
    with limited(seconds=4) as served:
        status, detail = asked(served, "plan", PLAN)
        assert (status, detail) == (504, "this takes longer than 4 s; ask for less")
        assert counted(served, "timed out") == 1
        assert asked(served, "predict", {"gpus": 8})[0] == 200
        # the new process imports what plans need: of a busy machine perhaps not in time for the first
        assert comes(lambda: asked(served, "plan", SMALL)[0] == 200)


def test_layouts_that_take_too_long_are_ended():
    with limited(seconds=0.05) as served:
        status, detail = asked(served, "layouts", LAYOUTS)
        assert (status, detail) == (504, "this takes longer than 0.05 s; ask for less")
        assert asked(served, "predict", {"gpus": 8})[0] == 200
        assert comes(lambda: served.answers("/readyz"))


def test_a_plan_that_takes_too_much_memory_is_refused_and_the_next_is_answered():
    with limited(memory_bytes=200_000_000, seconds=60) as served:
        status, detail = asked(served, "plan", WIDE)
        assert (status, detail) == (422, "this takes more than 200,000,000 bytes; ask for less")
        assert counted(served, "out of memory") == 1
        assert asked(served, "predict", {"gpus": 8})[0] == 200
        assert asked(served, "plan", SMALL)[0] == 200
