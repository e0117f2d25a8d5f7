"""A refusal repeats little of a request, however long, blank or deep what it speaks of is."""

from __future__ import annotations

from typing import Any

import pytest

pytest.importorskip("fastapi")

from perfmodel.interfaces.service import costly
from perfmodel.interfaces.service.application import application
from perfmodel.interfaces.service.commands import COMMANDS
from perfmodel.interfaces.service.problems import Refused
from perfmodel.interfaces.service.settings import Settings
from tests.asgi import Caller

WORDS = "ß1 " * 700
MOST = 210
"""Letters of a request that one text of an answer may repeat: 200 of a value, and its quotes."""
ODD = {"tab": "ß1\t", "quote": "ß'1 ", "backslash": "ß\\1 ", "option": "--q-ß ", "long word": "ß1" * 99 + " "}


@pytest.fixture(scope="module")
def client() -> Caller:
    return Caller(application())


def texts(value: Any) -> list[str]:
    if isinstance(value, str):
        return [value]
    parts = value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()
    return [text for part in parts for text in texts(part)]


def repeated(answer: Any, letter: str) -> int:
    """Return how many letters lie between the first and the last of a request's own in one text."""
    ends = [(text.find(letter), text.rfind(letter)) for text in texts(answer)]
    return max(last - first for first, last in ends)


@pytest.mark.any_version
@pytest.mark.parametrize("name", [name for name in COMMANDS if name != "validate"])
def test_no_option_is_repeated_at_length(client, name):
    command = COMMANDS[name]
    example = next(iter(command.examples.values()))
    refused = 0
    for option in (*command.request.model_fields, WORDS):
        for value in (WORDS, [WORDS], {WORDS: WORDS}):
            if value == WORDS and option not in TEXTS:
                continue
            answer = client.post(f"/v1/{name}", json={**example, option: value})
            if answer.status_code == 422:
                refused += 1
                assert repeated(answer.json(), "ß") <= MOST, (option, answer.json()["detail"])
    assert refused > len(command.request.model_fields)


TEXTS = ("anchor", "sample_bytes", "decode_rate", "torus_dimensions", "deadline", "budget", "size", "jitter")
"""Options that texts are parsed of, whose errors quote them."""


@pytest.mark.parametrize("odd", ODD.values(), ids=ODD.keys())
@pytest.mark.parametrize("option", ["anchor", "sample_bytes", "torus_dimensions", "workload"])
def test_odd_letters_are_not_repeated_at_length_either(client, option, odd):
    answer = client.post("/v1/predict", json={"gpus": 8, option: odd * 400})
    assert answer.status_code == 422
    assert repeated(answer.json(), "ß") <= MOST


def test_what_would_be_right_is_still_said(client):
    answer = client.post("/v1/predict", json={"sample_bytes": WORDS}).json()
    assert "expected" in answer["detail"][-200:]
    short = client.post("/v1/predict", json={"sample_bytes": "many bytes"}).json()
    assert "many bytes" in short["detail"]


@pytest.mark.parametrize("depth", [60, 900, 5000, 200_000])
@pytest.mark.parametrize("key", ["conditions", "gpus", "specs", "no"])
def test_a_deep_body_is_refused_in_words(client, key, depth):
    body = b'{"%b": ' % key.encode() + b'{"a": [' * depth + b"1" + b"]}" * depth + b"}"
    answer = client.post("/v1/predict", content=body)
    assert answer.status_code in (400, 422)
    assert len(answer.content) < 2000


def test_a_process_that_calls_itself_too_often_says_so_and_goes_on():
    def deeper(settings: Settings, name: str, body: bytes) -> bytes:
        return deeper(settings, name, body)

    with pytest.raises(Refused, match="nested too deeply"):
        costly.calculate(deeper, Settings(), "predict", b"{}")
    assert costly.calculate(lambda settings, name, body: body, Settings(), "a", b"b") == b"b"
