"""The frozen answers of the suite's sample, and that a comparison finds what moves."""

from __future__ import annotations

import math
import shlex
from collections import Counter
from typing import Any

import pytest

from perfmodel.interfaces.cli import COMMANDS
from tests.frozen.__main__ import listing
from tests.frozen.answers import FILES, read, requests, shortened
from tests.frozen.comparison import Difference, differences
from tests.frozen.sample import SAMPLE, fingerprint, sampled

CLOSE = 1e-6
"""Of a fingerprint's logarithms: what machines differ by, over all numbers of an answer, is less."""
UNANSWERED = {"app", "serve", "schema"}
"""Commands that start something, or print what changes with every option."""


@pytest.mark.any_version
def test_no_answer_of_the_sample_has_moved():
    """CONTRIBUTING.md says how to see what moved, and how to write the sample anew where it was meant to."""
    before = {each["request"]: each for each in read(SAMPLE)}
    after = {each["request"]: each for each in sampled(1)}
    assert before.keys() == after.keys()
    assert not [line for line in before if not same(before[line], after[line])]


def same(one: dict[str, Any], other: dict[str, Any]) -> bool:
    sums = [each["logarithms"] for each in (one, other)]
    return math.isclose(*sums, rel_tol=0, abs_tol=CLOSE) and one | {"logarithms": 0} == other | {
        "logarithms": 0
    }


@pytest.mark.parametrize(
    "after",
    [
        {"time": 1.00001, "n": 0, "by": "ring", "note": "in words"},
        {"time": 1.0, "n": 1, "by": "ring", "note": "in words"},
        {"time": -1.0, "n": 0, "by": "ring", "note": "in words"},
        {"time": 1.0, "n": 0, "by": "tree", "note": "in words"},
        {"time": 1.0, "n": 0, "note": "in words"},
    ],
)
def test_a_fingerprint_tells_answers_apart(after):
    before = {"time": 1.0, "n": 0, "by": "ring", "note": "in other words"}
    prints = [fingerprint({"request": "predict", "exit": 0, "answer": each}) for each in (before, after)]
    assert not same(*prints)
    assert same(
        prints[1], fingerprint({"request": "predict", "exit": 0, "answer": after | {"note": "so so"}})
    )


def test_every_command_that_answers_is_asked_and_no_request_twice():
    lines = requests()
    counts = Counter(shlex.split(line)[0] for line in lines)
    assert set(COMMANDS) - UNANSWERED <= counts.keys()
    assert len({*lines}) == len(lines) > 3000
    assert counts["predict"] > 1500


def test_files_of_requests_are_asked_for():
    text = "\n".join(requests())
    assert not [path.name for path in FILES.iterdir() if path.name not in text]


def moved(before: Any, after: Any) -> list[Difference]:
    pair = ([{"request": "predict --gpus 8", "answer": each}] for each in (before, after))
    return list(differences(*pair))


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ({"time": 1.0}, {"time": 1.0 + 1e-11}),
        ({"time": 1.0}, {"time": None}),
        ({"time": 1e-13}, {"time": 2e-13}),
        ({"time": 0.0}, {"time": 1e-10}),
        ({"time": 1.0}, {}),
        ({"fits": True}, {"fits": 1}),
        ({"rows": [{"time": 1}]}, {"rows": [{"time": 1}, {"time": 2}]}),
        ({"algorithm": "ring"}, {"algorithm": "tree"}),
        ({"defaults": ["--gpus 1"]}, {"defaults": ["--gpus 2"]}),
    ],
)
def test_what_moves_is_found(before, after):
    (one,) = moved(before, after)
    assert not one.is_text
    assert one.command == "predict"


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ({"time": 1.0}, {"time": 1.0 + 1e-13}),
        ({"time": 1}, {"time": 1.0}),
        ({"time": 0.0}, {"time": 1e-15}),
        ({"time": 1e-5}, {"time": 1e-5 + 1e-15}),
        (
            {"inputs": [{"name": "a", "n": 1}, {"name": "b"}]},
            {"inputs": [{"name": "b"}, {"name": "a", "n": 1}]},
        ),
        ({"sums": {"B": 0.0}}, {"sums": {"B": 1e-10}}),
        ({"notes": []}, {"notes": None} | {"notes": {}}),
    ],
)
def test_what_is_equal_is_not(before, after):
    assert not moved(before, after)


def test_texts_are_told_from_answers():
    (one,) = moved({"notes": []}, {"notes": ["does not fit"]})
    assert one.is_text


def test_the_largest_difference_is_listed_first():
    text = [
        *listing(moved({"small": 1.0, "large": [1, 2.0], "kind": "a"}, {"small": 1.1, "large": [1, 1.0]}))
    ]
    assert text[0] == "predict: 1 request"
    assert [line.split(":")[0].strip() for line in text[1::2]] == [
        "answer.kind",
        "answer.large[]",
        "answer.small",
    ]
    assert "-0.5, 2 -> 1" in text[3]


def test_equations_are_sets_whatever_their_order():
    def equation(number: int, formula: str, value: float) -> dict[str, Any]:
        symbols = [{"parameter": "rate", "value": value, "equation": None}]
        return {"number": number, "term": "t", "formula": formula, "value": value, "symbols": symbols}

    pair = [equation(1, "a", 1.0), equation(2, "b", 2.0)]
    other = [equation(1, "b", 2.0), equation(2, "a", 1.0)]
    assert shortened({"equations": pair}) == shortened({"equations": other})
    assert moved(shortened({"equations": pair}), shortened({"equations": pair[:1]}))


def test_long_lists_are_summed_up():
    assert shortened([1.0] * 20) == {"count": 20, "sum": 20.0, "largest": 1.0}
    assert shortened(["a"] * 20) == ["a"] * 20
