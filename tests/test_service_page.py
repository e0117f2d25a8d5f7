"""docs/service.md: each line of curl is sent, and answered as the page says."""

from __future__ import annotations

import json
import re
import shlex
from pathlib import Path

import pytest

from perfmodel.service.application import application
from perfmodel.service.commands import COMMANDS
from tests.asgi import Caller

PAGE = (Path(__file__).parents[1] / "docs" / "service.md").read_text("utf-8")
LINES = re.findall(r"^curl .*$", PAGE, re.MULTILINE)
REFUSED = ['{"gpus": "eight"}']


@pytest.mark.parametrize("line", LINES)
def test_each_line_of_curl_is_answered(line):
    words = shlex.split(line)
    place = next(word for word in words if word.startswith("localhost"))
    headers = dict(words[at + 1].split(": ", 1) for at, word in enumerate(words) if word == "-H")
    body = words[words.index("--json") + 1]
    answer = Caller(application()).post(
        place.removeprefix("localhost:8080"), content=body.encode(), headers=headers
    )
    assert answer.status_code == (422 if body in REFUSED else 200), answer.content
    assert answer.content


def test_plans_come_in_pages():
    caller = Caller(application())
    asked = {"epochs": 90, "deadline": "24h", "accelerators": ["v100-sxm2-16gb"], "max_gpus": 16}
    whole = caller.post("/v1/plan", json=asked).json()
    assert "plans" not in whole
    pages, offset = [], 0
    while offset is not None:
        page = caller.post("/v1/plan", json={**asked, "limit": 400, "offset": offset}).json()
        pages += page["plans"]
        offset = page["next_offset"]
    assert len({json.dumps(plan) for plan in pages}) == len(pages) == whole["candidates"] > 400
    assert whole["cheapest"] in pages
    costs = [plan["cost"] for plan in pages if plan["cost"] is not None]
    assert costs == sorted(costs)


@pytest.mark.parametrize(
    "kind",
    [
        '"scenarios": [',
        '"columns": {',
        "-H 'accept: application/x-ndjson'",
        "-H 'accept: application/vnd.apache.arrow.stream'",
        '"limit": ',
        '"traces": {',
        '"specs": {',
        '"files": {',
        '"base64": ',
        '-H "authorization: Bearer',
    ],
)
def test_each_kind_of_request_has_a_line_of_curl(kind):
    assert any(kind in line for line in LINES)


def test_the_page_names_every_command():
    for name in COMMANDS:
        assert f"`{name}`" in PAGE
    assert all(json.loads(shlex.split(line)[-1]) for line in LINES)
