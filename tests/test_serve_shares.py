"""A large batch is answered in shares by the processes that are free, as each row alone would be."""

from __future__ import annotations

import asyncio
import json
from typing import Any

import pytest

pytest.importorskip("fastapi")

from perfmodel.interfaces.service.commands import answer
from perfmodel.interfaces.service.pool import SHARED_FROM, Pool
from perfmodel.interfaces.service.refusal import Refusal
from perfmodel.interfaces.service.settings import Settings
from perfmodel.interfaces.service.shares import WHOLE, Share

ROWS: list[Any] = [
    *({"gpus": gpus, "workload": name} for gpus in (1, 6, 32, 100) for name in ("vgg16", "bert-large")),
    {"gpus": 0},
    7,
    {"gpus": 16, "workload": "llama-3-8b", "accelerator": "h100"},
    {"gpu": 8},
]


def in_shares(body: dict[str, Any], of: int) -> bytes:
    text = json.dumps(body).encode()
    return b"".join(answer("predict", text, share=Share(number, of)) for number in range(of))


@pytest.mark.parametrize("beside", [{}, {"fields": ["iteration_time", "interval", "warnings"]}])
def test_rows_are_answered_as_alone(beside):
    whole = json.loads(in_shares({"scenarios": ROWS, **beside}, 1))["results"]
    for row, result in zip(ROWS, whole, strict=True):
        if "error" not in result:
            assert result == json.loads(answer("predict", json.dumps({**row, **beside}).encode()))
    assert [index for index, result in enumerate(whole) if "error" in result] == [8, 9, 11]


@pytest.mark.parametrize("of", [2, 3, 20])
def test_shares_after_each_other_are_the_answer(of: int):
    body = {"scenarios": ROWS, "fields": ["iteration_time"]}
    assert in_shares(body, of) == in_shares(body, 1)
    columns = {"columns": {"gpus": [1, 2, 4]}, "fields": ["speedup"]}
    assert in_shares(columns, of) == in_shares(columns, 1)
    assert in_shares({"gpus": 8}, of) == answer("predict", b'{"gpus": 8}')


@pytest.mark.parametrize("count", [1, 2, 7, 10_000])
def test_every_row_is_in_one_share(count: int):
    for of in (1, 2, 3, 16):
        rows = [row for number in range(of) for row in Share(number, of).rows(count)]
        assert rows == [*range(count)]


@pytest.mark.parametrize(
    ("command", "size", "shares"),
    [("predict", SHARED_FROM, 2), ("predict", SHARED_FROM - 1, 1), ("sweep", SHARED_FROM, 1)],
)
def test_only_large_batches_are_shared(command, size, shares, monkeypatch):
    asked: list[str] = []

    async def calculate(pool: Pool, name: str, body: bytes, share: Share = WHOLE) -> bytes:
        asked.append(name)
        if share.number:
            await asyncio.sleep(60)
        if share.of > 1:
            raise Refusal(503, "cut off")
        return b""

    monkeypatch.setattr(Pool, "calculate", calculate)
    run = asyncio.wait_for(Pool(Settings(pool=2)).run(command, b" " * size), 20)
    if shares == 1:
        asyncio.run(run)
    else:
        with pytest.raises(Refusal, match="cut off"):  # which ends the others
            asyncio.run(run)
    assert asked == [command] * shares
