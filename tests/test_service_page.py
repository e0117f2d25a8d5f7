"""docs/service.md: each line of curl is sent, and answered as the page says."""

from __future__ import annotations

import json
import re
import shlex
from collections.abc import Iterator
from pathlib import Path

import click
import pytest

from perfmodel.interfaces.cli import main
from perfmodel.interfaces.service.application import application
from perfmodel.interfaces.service.commands import COMMANDS
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


def _with_json(group: click.Group, before: str = "") -> Iterator[str]:
    """Name every command that prints JSON, those of groups after the group's name."""
    context = click.Context(group)
    for name in group.list_commands(context):
        one = group.get_command(context, name)
        if isinstance(one, click.Group):
            yield from _with_json(one, f"{before}{name} ")
        elif one is not None and any("--json" in each.opts for each in one.params):
            yield f"{before}{name}"


SERVED_AS = {
    **{f"specs {name}": "specs" for name in ("list", "show")},
    **{f"workloads {name}": "workloads" for name in ("list", "show", "recipes")},
}


def test_every_command_that_prints_json_is_served_or_said_not_to_be():
    left_out = PAGE.partition("## What is not served")[2].partition("\n## ")[0]
    names = [*_with_json(main)]
    assert {"predict", "workloads recipes", "trace diff"} <= {*names}
    for name in names:
        assert SERVED_AS.get(name, name.replace(" ", "/")) in COMMANDS or f"`{name}`" in left_out, name


def test_the_page_names_every_command():
    for name in COMMANDS:
        assert f"`{name}`" in PAGE
    assert all(json.loads(shlex.split(line)[-1]) for line in LINES)
