"""What is wrong with an input is data: a code, fields and values; its sentence is said in one place."""

from __future__ import annotations

import ast
import pickle
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path
from string import Formatter

import pytest

from perfmodel.core.errors import InputError, missing, refusal, unknown_name
from perfmodel.core.problem import json_path, problem, python

PACKAGE = Path(__file__).parents[1] / "perfmodel"
TABLES = sorted(path.stem for path in (PACKAGE / "core" / "messages").glob("*.py") if path.stem != "__init__")
MESSAGES = {
    code: words
    for table in TABLES
    for code, words in import_module(f"perfmodel.core.messages.{table}").MESSAGES.items()
}
SENTENCES = 8
"""Errors that are made of a sentence, and have no code: of them there may only be fewer."""


def calls(*names: str) -> Iterator[tuple[str, ast.Call]]:
    """Return where functions of some names are called."""
    for path in sorted(PACKAGE.rglob("*.py")):
        text = path.read_text("utf-8")
        if not any(f"{name}(" in text for name in names):
            continue
        for node in ast.walk(ast.parse(text)):
            if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id in names:
                yield f"{path.relative_to(PACKAGE)}:{node.lineno}", node


def values_of(words: str) -> set[str]:
    return {name.split("!")[0] for _, name, _, _ in Formatter().parse(words) if name is not None}


def calls_with_codes() -> Iterator[tuple[str, ast.Call, str]]:
    for place, call in calls("refusal", "problem", "Problem"):
        if call.args and isinstance(call.args[0], ast.Constant) and isinstance(call.args[0].value, str):
            yield place, call, call.args[0].value


def test_no_more_errors_are_made_of_sentences():
    made = [
        place
        for place, call in calls("InputError")
        if call.args
        and not isinstance(call.args[0], ast.Starred)
        and not place.startswith("core/errors.py")
        and ast.unparse(call.args[0]).partition("(")[0] not in ("replace", "unknown")
    ]
    assert len(made) <= SENTENCES, made


def test_each_problem_has_a_sentence_and_its_values():
    wrong = []
    for place, call, code in calls_with_codes():
        wanted = values_of(MESSAGES.get(code, "{sentence}"))
        if len(call.args) > 1:
            wanted -= {"field", "option", "options"}
        if (
            isinstance(call.func, ast.Name)
            and call.func.id != "Problem"
            and all(k.arg for k in call.keywords)
        ):
            wanted -= {keyword.arg for keyword in call.keywords}
            wrong += [f"{place}: {code} lacks {wanted}"] if wanted else []
    assert not wrong


def test_each_sentence_is_of_a_problem_and_in_the_table_of_its_subject():
    source = "".join(
        path.read_text("utf-8") for path in PACKAGE.rglob("*.py") if "messages" not in path.parts
    )
    assert [code for code in MESSAGES if f'"{code}"' not in source] == []
    for table in TABLES:
        codes = import_module(f"perfmodel.core.messages.{table}").MESSAGES
        assert {code.partition(".")[0] for code in codes} == {table}


@pytest.mark.parametrize(
    ("error", "shell", "other", "fields"),
    [
        (
            refusal("failures.checkpoint_twice"),
            "--checkpoint-time and --checkpoint-bandwidth: give one",
            "checkpoint_time and checkpoint_bandwidth: give one",
            ["$.checkpoint_time", "$.checkpoint_bandwidth"],
        ),
        (
            refusal("failures.time", "node-mtbf", time=1.0, least=2.0, most=3.0).under("a.toml"),
            "a.toml: --node-mtbf: 1 s is not between 2 and 3 s",
            "a.toml: node_failure_interval: 1 s is not between 2 and 3 s",
            ["$.a.toml.node_failure_interval"],
        ),
        (
            refusal("profile.json").under("--gpus"),
            "--gpus: JSON, and a profile is TOML: `perfmodel calibrate --trace` writes one; what perfmodel "
            "calibrate made of measured runs goes to --calibration",
            "gpus: JSON, and a profile is TOML: `perfmodel calibrate --trace` writes one; what perfmodel "
            "calibrate made of measured runs goes to calibration",
            ["$.--gpus.calibration"],
        ),
        (
            unknown_name("node", "--gpus", ["dgx-1v"]),
            "unknown node '--gpus'; known: dgx-1v",
            "unknown node '--gpus'; known: dgx-1v",
            [],
        ),
    ],
)
def test_every_interface_calls_options_in_its_own_way(error, shell, other, fields):
    assert error.note() == shell
    assert str(error) == error.words(python) == other
    assert [json_path(path) for path in error.problems[0].fields] == fields


def test_a_long_value_is_said_in_part_where_that_is_wanted():
    words = unknown_name("node", "x" * 90 + " " + "y" * 90, ["dgx-1v"]).words(python, 20)
    assert words == f"unknown node '{'x' * 20}...'; known: dgx-1v"


def test_an_error_is_the_same_after_a_journey_to_another_process():
    for error in (
        missing("scipy", "stats", "the gamma law"),
        refusal("batch.exclusive").under("a", after="!"),
    ):
        other = pickle.loads(pickle.dumps(error))
        assert (type(other), str(other), other.problems) == (type(error), str(error), error.problems)


def test_a_sentence_is_a_problem_that_was_not_sorted():
    error = InputError("--gpus is wrong").under("scenario", said="A")
    assert (str(error), error.problems[0].code) == ("A: --gpus is wrong", "unsorted")


def test_a_problem_is_about_the_options_that_its_sentence_names():
    assert problem("batch.exclusive", "gpus").fields == (
        ("gpus",),
        ("local_batch_size",),
        ("global_batch_size",),
    )
