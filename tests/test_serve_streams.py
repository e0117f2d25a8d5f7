"""A sweep as a stream says at its end what the plain answer says of the whole, or what cut it off."""

from __future__ import annotations

import json
import pickle
from collections.abc import AsyncIterator
from io import StringIO
from typing import Any

import pytest

pytest.importorskip("fastapi")

from perfmodel.interfaces.service import logs
from perfmodel.interfaces.service.application import application
from perfmodel.interfaces.service.pool import Pool
from perfmodel.interfaces.service.problems import Refused
from perfmodel.interfaces.service.refusal import Refusal
from perfmodel.interfaces.service.settings import Settings
from perfmodel.interfaces.service.streams import ARROW, NDJSON
from tests.asgi import Answer, Caller
from tests.serving import sample, serving

SOME_REFUSED = {
    "gpus": [1, 2, 8],
    "workload": ["vgg16"],
    "accelerator": "v100",
    "precision": ["amp", "fp8"],
    "columns": ["gpus", "iteration_time"],
}
LONG = {
    "gpus": [*range(1, 301)],
    "local_batch_size": [*range(1, 101)],
    "columns": ["gpus", "local_batch_size", "iteration_time"],
}
"""Takes several parts, and more than the 0.01 s that a service allows at least."""
HASTE = Settings(seconds=0.01, access_log=False)


@pytest.fixture
def log(monkeypatch) -> StringIO:
    written = StringIO()
    monkeypatch.setattr(logs, "_outputs", [written])
    return written


def streamed(app: Any, body: dict[str, Any], form: str) -> Answer:
    answer = Caller(app).post("/v1/sweep", json=body, headers={"accept": form})
    assert answer.status_code == 200
    return answer


def batches(content: bytes) -> list[Any]:
    pyarrow = pytest.importorskip("pyarrow")
    return list(pyarrow.ipc.open_stream(content).iter_batches_with_custom_metadata())


def test_the_end_of_a_stream_is_what_the_plain_answer_says_beside_its_rows():
    app = application()
    plain = Caller(app).post("/v1/sweep", json=SOME_REFUSED).json()
    assert sum(plain["refused"].values()) == 3
    assert plain["notes"]
    rows = plain.pop("rows")
    *lines, last = map(json.loads, streamed(app, SOME_REFUSED, NDJSON).content.splitlines())
    assert (lines, last) == (rows, {"end": {"rows": 3, **plain}})
    *some, none = batches(streamed(app, SOME_REFUSED, ARROW).content)
    assert [row for each in some for row in each.batch.to_pylist()] == rows
    assert none.batch.num_rows == 0
    assert json.loads(none.custom_metadata["end"]) == {"rows": 3, **plain}


def test_a_stream_that_takes_too_long_ends_with_the_problem_and_one_line_of_the_log(log: StringIO):
    app = application(HASTE)
    *lines, last = map(json.loads, streamed(app, LONG, NDJSON).content.splitlines())
    assert 0 < len(lines) < 30_000
    assert set(last) == {"error"}
    assert (last["error"]["status"], "longer than 0.01 s" in last["error"]["detail"]) == (504, True)
    assert [json.loads(line)["event"] for line in log.getvalue().splitlines()] == ["stream cut off"]
    *some, none = batches(streamed(app, LONG, ARROW).content)
    assert 0 < sum(each.batch.num_rows for each in some) < 30_000
    assert json.loads(none.custom_metadata["error"]) == last["error"]


@pytest.mark.any_version
def test_the_pool_counts_it_among_what_took_too_long_and_goes_on():
    settings = Settings(seconds=3, pool=1, access_log=False)
    pool = Pool(settings)
    with serving(settings, application(settings, pool.run, pool.stream), pool) as served:
        assert served.ask("/v1/sweep", b'{"gpus": 8}')[0] == 200
        longer = LONG | {"workload": ["resnet50", "vgg16", "alexnet"], "nics": [*range(1, 51)]}
        status, _, text = served.ask("/v1/sweep", json.dumps(longer).encode(), accept=NDJSON)
        assert (status, b'{"error":{"type":"about:blank"' in text[-1000:]) == (200, True)
        assert served.ask("/v1/sweep", b'{"gpus": 8}')[0] == 200
    assert sample(pool.metrics, "perfmodel_pool_total", outcome="timed out") == 1


@pytest.mark.parametrize("form", [NDJSON, ARROW])
def test_a_stream_whose_process_is_lost_says_so_or_is_not_ended(form: str, log: StringIO):
    async def stream(name: str, body: bytes, form: str) -> AsyncIterator[bytes]:
        async def parts() -> AsyncIterator[bytes]:
            yield b'{"world_size":1}\n'
            raise Refusal(503, "the calculation was cut off")

        return parts()

    settings = Settings(access_log=False)
    with serving(settings, application(settings, stream=stream)) as served:
        text = served.raw(
            b"POST /v1/sweep HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\ncontent-length: 2\r\n"
            b"content-type: application/json\r\naccept: %b\r\n\r\n{}" % form.encode()
        )
        assert served.alive()
    is_ended = text.endswith(b"0\r\n\r\n")
    assert is_ended == (form == NDJSON)
    assert (b'{"error":{"type":"about:blank"' in text) == (form == NDJSON)
    lines = [json.loads(line) for line in log.getvalue().splitlines()]
    assert [(line["event"], line["status"]) for line in lines] == [("stream cut off", 503)]


@pytest.mark.parametrize("body", [{"gpus": []}, {"gpus": [3], "workload": "vgg16", "precision": ["fp8"]}])
def test_what_is_wrong_before_the_first_row_is_refused_as_ever(body):
    assert Caller(application()).post("/v1/sweep", json=body, headers={"accept": NDJSON}).status_code == 422


def test_a_refusal_of_a_process_keeps_its_status_on_its_way():
    refusal = pickle.loads(pickle.dumps(Refused("too long", status=504)))
    assert (str(refusal), refusal.status) == ("too long", 504)
