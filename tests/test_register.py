"""Every command of the register gives one answer in the shell, in Python, over HTTP and to the client."""

from __future__ import annotations

import json
import shlex
from typing import Any

import pytest
from click.testing import CliRunner

import perfmodel
from perfmodel.core.errors import InputError
from perfmodel.interfaces import stub
from perfmodel.interfaces.cli import COMMANDS as OF_SHELL
from perfmodel.interfaces.cli import main
from perfmodel.interfaces.register import NAMES, OF_HAND, command, commands
from perfmodel.interfaces.service.commands import answer
from perfmodel.interfaces.service.problems import Refused
from tests.clients import served

BODIES = [(name, words) for name in NAMES for words in command(name).bodies]


@pytest.fixture(scope="module")
def client():
    """Give a client of a service."""
    with served() as one:
        yield one


def function(name: str) -> Any:
    return getattr(perfmodel, command(name).function)


def test_the_register_is_sorted_and_in_the_shell():
    assert list(NAMES) == sorted(NAMES)
    assert {name for name in NAMES if "shell" not in command(name).without} <= set(OF_SHELL)


@pytest.mark.parametrize(("name", "words"), BODIES)
def test_python_http_and_client_agree(name, words, client):
    body = command(name).bodies[words]
    told = json.loads(answer(command(name).path, json.dumps(body).encode()))
    if name in OF_HAND:
        return
    own = function(name)(**body)
    assert json.loads(own.to_json()) == told
    sent = getattr(client, command(name).function)(**body)
    assert type(sent) is type(own)
    assert json.loads(sent.to_json()) == told


FORMS = [
    (line, form)
    for name in NAMES
    for line in command(name).examples
    for form in ("", *command(name).forms)
    if not (form and any(f"--{each}" in line for each in command(name).forms))
]


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """Return a folder with the files that examples name."""
    path = tmp_path_factory.mktemp("examples")
    (path / "a.toml").write_text("gpus = 8\n")
    (path / "b.toml").write_text("gpus = 16\n")
    (path / "saved.json").write_text(perfmodel.predict(gpus=32).to_json())
    return path


@pytest.mark.parametrize(("line", "form"), FORMS)
def test_examples_of_the_shell_answer_in_every_form(line, form, folder, monkeypatch):
    monkeypatch.chdir(folder)
    result = CliRunner().invoke(main, [*shlex.split(line)[1:], *([f"--{form}"] if form else [])])
    assert result.exit_code in (0, 1), result.output
    assert result.stdout.strip()
    assert form != "json" or json.loads(result.stdout)


@pytest.mark.parametrize("name", sorted({*NAMES} - {*OF_HAND}))
def test_a_function_refuses_what_is_unknown_in_one_line(name):
    body = next(iter(command(name).bodies.values()))
    with pytest.raises(InputError, match="unknown option 'no_such'"):
        function(name)(**body, no_such=1)
    if not command(name).takes_all:
        with pytest.raises(TypeError, match="without their names"):
            function(name)(*range(20))


BOUNDED = [
    (name, one)
    for name in NAMES
    for one in command(name).fields.values()
    if one.least is not None and one.type in (int, float)
]


@pytest.mark.parametrize(("name", "one"), BOUNDED, ids=lambda each: getattr(each, "field", each))
def test_a_number_out_of_its_range_is_refused_by_field_everywhere(name, one):
    wrong: Any = one.least - 1
    field = {"world_size": "gpus"}.get(one.field, one.field)
    body = {**next(iter(command(name).bodies.values())), field: [wrong] if one.many else wrong}
    with pytest.raises(InputError, match=field):
        function(name)(**body)
    with pytest.raises(Refused) as refused:
        answer(command(name).path, json.dumps(body).encode())
    assert refused.value.mistakes[0].field.startswith(field)
    if "shell" not in command(name).without:
        done = CliRunner().invoke(main, [*shlex.split(name), f"--{one.name}", str(wrong)])
        assert done.exit_code == 2
        assert f"--{one.name}" in done.stderr


@pytest.mark.parametrize("name", NAMES)
def test_every_field_has_words_and_every_number_a_unit(name):
    for one in command(name).fields.values():
        assert one.words.endswith((".", "]")), one.field
        assert one.unit or one.type not in (int, float), one.field


def test_the_stub_is_what_the_register_makes():
    assert stub.FILE.read_text("utf-8") == stub.stub()  # python -m perfmodel.interfaces.stub


def test_names_of_functions_are_no_others():
    assert {one.function for one in commands()} <= set(perfmodel.__all__)
