"""What a request leaves open is counted before it is tried: more than the service allows is refused."""

from __future__ import annotations

import json
import time
from typing import Any

import pytest

pytest.importorskip("fastapi")

import perfmodel
from perfmodel.core.candidates import TooManyCandidates, at_most, tries, will_try
from perfmodel.interfaces.service.application import application
from perfmodel.interfaces.service.pool import Pool
from perfmodel.interfaces.service.settings import Settings
from perfmodel.interfaces.service.streams import NDJSON
from tests.asgi import Caller
from tests.serving import serving

SETTINGS = Settings(candidates=1000, pool=1, access_log=False)
LAYOUTS = {"workload": "llama-3-70b", "gpus": 1024, "node": "dgx-h100", "global_batch_size": 1024}
TOO_MANY: list[tuple[str, dict[str, Any], int, str | None]] = [
    ("sweep", {"gpus": [*range(1, 1001)], "local_batch_size": [1, 2]}, 2000, "gpus"),
    ("layouts", LAYOUTS, 3564, "gpus"),
    ("plan", {"epochs": 90, "max_gpus": 2048}, 100_000, "max_gpus"),
    ("plan", {"workload": "llama-3-70b", "tokens": 1e12, "nodes": ["dgx-h100"]}, 50_000, None),
    ("compare", {"scenarios": [{}] * 1001}, 1001, "scenarios"),
    ("scale", {"gpus": [1] * 1001}, 1001, "gpus"),
    ("plan", {"have": "8 x dgx-a100-80gb", "buy": ["4 x dgx-h100"] * 1001}, 1001, None),
]


@pytest.fixture(scope="module")
def client() -> Caller:
    return Caller(application(SETTINGS))


@pytest.mark.parametrize(("command", "body", "least", "field"), TOO_MANY)
def test_more_candidates_than_allowed_are_refused_before_the_first(client, command, body, least, field):
    start = time.process_time()
    answer = client.post(f"/v1/{command}", json=body)
    assert time.process_time() - start < 2  # a plan of all machines takes six
    assert answer.status_code == 422
    problem = answer.json()
    assert "at most 1,000" in problem["detail"]
    asked = int(problem["detail"].partition(" candidates")[0].split()[-1].replace(",", ""))
    assert asked >= least
    assert asked == least or command == "plan"
    assert problem["errors"][0]["field"] == field


@pytest.mark.parametrize(
    ("command", "body"),
    [
        ("layouts", {**LAYOUTS, "gpus": 8, "workload": "llama-3-8b", "global_batch_size": 8}),
        ("plan", {"epochs": 90, "accelerators": ["v100-sxm2-16gb"], "max_gpus": 4}),
        ("sweep", {"gpus": [*range(1, 1001)], "columns": ["gpus", "iteration_time"]}),
        ("plan", {"have": "8 x dgx-a100-80gb", "buy": ["4 x dgx-h100"]}),
    ],
)
def test_what_it_allows_is_answered_as_without_a_limit(client, command, body):
    answer = client.post(f"/v1/{command}", json=body)
    assert answer.status_code == 200
    assert answer.content == Caller(application()).post(f"/v1/{command}", json=body).content


def test_a_stream_counts_too(client):
    body = {"gpus": [*range(1, 1001)], "local_batch_size": [1, 2]}
    answer = client.post("/v1/sweep", json=body, headers={"accept": NDJSON})
    assert (answer.status_code, "at most 1,000" in answer.json()["detail"]) == (422, True)


def test_the_processes_of_the_pool_keep_to_it():
    pool = Pool(SETTINGS)
    with serving(SETTINGS, application(SETTINGS, pool.run, pool.stream), pool) as served:
        status, _, body = served.ask("/v1/layouts", json.dumps(LAYOUTS).encode())
        assert (status, "at most 1,000" in json.loads(body)["detail"]) == (422, True)


def test_what_was_counted_is_what_is_looked_at():
    with at_most(3564):
        answer = perfmodel.layouts("llama-3-70b", gpus=1024, node="dgx-h100", global_batch_size=1024)
    assert 0 < answer.candidates <= 3564
    with at_most(3563), pytest.raises(TooManyCandidates):
        perfmodel.layouts("llama-3-70b", gpus=1024, node="dgx-h100", global_batch_size=1024)


def test_a_limit_is_of_all_searches_together_and_ends_with_its_block():
    with at_most(10):
        tries(6)
        will_try([4])
        with pytest.raises(TooManyCandidates, match="11 candidates; at most 10"):
            tries(5)
        tries(4)
    tries(10**9)


def test_a_plain_answer_has_so_many_rows_and_says_where_there_are_more():
    body = {"gpus": [*range(1, 1001)], "local_batch_size": [*range(1, 102)]}
    problem = Caller(application()).post("/v1/sweep", json=body).json()
    assert problem["status"] == 422
    assert "101,000 scenarios as JSON: at most 100,000; a stream has any number" in problem["detail"]
