"""What a request costs grows with its length, not with the square of it, whatever it holds."""

from __future__ import annotations

import json
import subprocess
import sys

import pytest

pytest.importorskip("fastapi")

from perfmodel.interfaces.service.nesting import nests_deeper

pytestmark = pytest.mark.any_version
CAP = 100.0
"""Seconds: a hundred times what the largest of these takes; with a square in it each would take longer."""
NESTS = "from perfmodel.interfaces.service.nesting import nests_deeper\nassert nests_deeper({body}, 64)"
REFUSED = """
import json
from perfmodel.interfaces.service.commands import answer
from perfmodel.interfaces.service.problems import Refused
try:
    answer({command!r}, json.dumps({body}).encode())
except Refused as error:
    assert len(error.mistakes) == 20, error.mistakes
else:
    raise AssertionError("answered")
"""
CASES = {
    "escaped quotes": NESTS.format(body=r"""b"[" * 65 + b'"' + b'\\"' * 1_900_000"""),
    "unknown keys": REFUSED.format(command="predict", body='{f"k{i}": 1 for i in range(40_000)}'),
    "wrong members": REFUSED.format(command="scale", body='{"gpus": ["a"] * 60_000}'),
    "wrong names": REFUSED.format(
        command="predict", body='{"files": {f"{i}/../k": 1 for i in range(12_000)}}'
    ),
}


@pytest.mark.parametrize("code", CASES.values(), ids=CASES.keys())
def test_no_request_costs_the_square_of_its_length(code):
    done = subprocess.run([sys.executable, "-c", code], timeout=CAP, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize(
    ("table", "depth"),
    [
        ({}, 1),
        ({"a": [[]], "b": [{}] * 9}, 3),
        ({"a": ["[[[", '\\"{{', '"[', "\\\\", "]]]"], "[": [[1]]}, 3),
        ([[['\\\\"[']]], 3),
    ],
)
def test_brackets_outside_of_texts_count(table, depth):
    body = json.dumps(table).encode()
    assert [nests_deeper(body, most) for most in (depth - 1, depth)] == [True, False]
