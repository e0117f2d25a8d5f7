"""What strangers ask of the commands themselves is refused in words and in time, and harms no one else."""

from __future__ import annotations

import json
import time
from collections.abc import Iterator

import pytest

pytest.importorskip("fastapi")

from tests.serving import PATIENCE, Served, started

pytestmark = pytest.mark.any_version
DEEP = {"model_type": "llama", "hidden_size": 10**18, "num_hidden_layers": 10**9, "vocab_size": 10**9}


@pytest.fixture(scope="module")
def service() -> Iterator[Served]:
    with started("--seconds", "2", "--candidates", "1000", "--memory-bytes", "400MB") as (served, process, _):
        yield served
        assert process.poll() is None


@pytest.fixture(autouse=True)
def _others_are_answered(service):
    yield
    start = time.monotonic()
    assert service.ask("/v1/predict", b'{"gpus": 8}')[0] == 200
    assert time.monotonic() - start < PATIENCE  # of a busy machine; the pool may calculate for 2 s


def many(key: str, count: int) -> bytes:
    return b'{"%b": [' % key.encode() + b"1," * count + b"1]}"


HOSTILE = {
    "beyond all numbers": ("predict", b'{"gpus": 1e999}', 422),
    "10^308": ("predict", b'{"gpus": 1e308}', 422),
    "NaN": ("predict", b'{"gpus": NaN}', 400),
    "5000 digits": ("predict", b'{"gpus": ' + b"9" * 5000 + b"}", 400),
    "5000 digits after the point": ("predict", b'{"gpus": 0.' + b"9" * 5000 + b"}", 400),
    "300 digits": ("predict", b'{"gpus": ' + b"9" * 300 + b"}", 422),
    "a million numbers": ("predict", many("gpus", 1_000_000), 422),
    "a million scenarios": (
        "sweep",
        json.dumps({"gpus": [*range(1, 1001)], "local_batch_size": [*range(1, 1001)]}).encode(),
        422,
    ),
    "no text": ("predict", b'{"workload": "\xff"}', 400),
    "half a letter": ("predict", b'{"workload": "\\ud800"}', 422),
    "nothing in a name": ("predict", b'{"workload": "a\\u0000b"}', 422),
    "a file of the server": ("predict", b'{"workload": "/etc/passwd"}', 422),
    "a file above": ("predict", b'{"workload": "../../etc/hosts.json"}', 422),
    "a profile of the server": ("predict", b'{"profile": "/etc/passwd"}', 422),
    "a folder of the server": ("predict", b'{"specs": "/etc"}', 422),
    "a quote of the server": ("check-quote", b'{"quote": "/etc/passwd"}', 422),
    "a spec of the server": ("specs", b'{"name": "../../../etc/passwd"}', 422),
    "deep in a file": (
        "predict",
        json.dumps({"workload": "config.json", "files": {"config.json": "[" * 99_999}}).encode(),
        422,
    ),
    "huge in a file": (
        "predict",
        json.dumps({"workload": "config.json", "files": {"config.json": json.dumps(DEEP)}}).encode(),
        422,
    ),
    "endless times": (
        "trace/summary",
        b'{"traces": {"t.json": {"traceEvents": [{"ph": "X", "cat": "kernel", "ts": 1e308, "dur": 1e308}]}}}',
        422,
    ),
    "a million workers out of step": (
        "predict",
        b'{"gpus": 1000000, "servers": 1000000, "strategy": "async"}',
        504,
    ),
    "a long name": ("predict", json.dumps({"workload": "x" * 8000}).encode(), 422),
}


@pytest.mark.parametrize(("command", "body", "status"), HOSTILE.values(), ids=HOSTILE.keys())
def test_a_strangers_request_is_refused_in_words(service: Served, command, body, status):
    answer, headers, text = service.ask(f"/v1/{command}", body)
    problem = json.loads(text)
    # a machine that is busy with other tests may need the time that there is to find out what is wrong
    assert answer in (status, 504), problem
    assert problem["status"] == answer
    assert headers["content-type"] == "application/problem+json"
    assert problem["detail"]
    assert len(text) < 20_000
    assert b"Traceback" not in text
    assert b"root:" not in text


def test_others_are_answered_while_a_stranger_keeps_the_pool_busy(service: Served):
    body = b'{"gpus": 1000000, "servers": 1000000, "strategy": "async"}'
    head = b"POST /v1/predict HTTP/1.1\r\nhost: localhost\r\ncontent-type: application/json\r\n"
    held = [service.connect() for _ in range(3)]
    for taken in held:
        taken.sendall(head + b"content-length: %d\r\n\r\n" % len(body) + body)
    try:
        for gpus in range(1, 20):
            assert service.ask("/v1/predict", b'{"gpus": %d}' % gpus)[0] == 200
    finally:
        for taken in held:
            taken.close()
