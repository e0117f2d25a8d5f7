"""Every command of the register gives one answer in the shell, in Python, over HTTP and to the client."""

from __future__ import annotations

import json
import shlex
from pkgutil import resolve_name
from typing import Any

import pytest
from click.testing import CliRunner

import perfmodel
from perfmodel.core.errors import InputError
from perfmodel.core.records.options import declared
from perfmodel.interfaces import register, stub
from perfmodel.interfaces.cli import COMMANDS as OF_SHELL
from perfmodel.interfaces.cli import main
from perfmodel.interfaces.register import IN_OTHERS, NAMES, OF_HAND, OF_SHELL_ALONE, command, commands
from perfmodel.interfaces.service.commands import answer
from perfmodel.interfaces.service.problems import Refused
from tests.clients import served

BODIES = [(one.name, words) for one in commands() if "http" not in one.without for words in one.bodies]
FUNCTIONS = [one.name for one in commands() if "python" not in one.without and one.name not in OF_HAND]
OF_A_SHELL = [one for one in commands() if "shell" not in one.without]


@pytest.fixture(scope="module")
def client():
    """Give a client of a service."""
    with served() as one:
        yield one


def function(name: str) -> Any:
    return getattr(perfmodel, command(name).function)


def test_the_register_is_sorted_and_in_the_shell():
    assert list(NAMES) == sorted(NAMES)
    heads = {one.name.partition(" ")[0] for one in OF_A_SHELL}
    assert {*IN_OTHERS} == {*NAMES} - {one.name for one in OF_A_SHELL}
    assert heads <= set(OF_SHELL)
    assert OF_SHELL_ALONE.keys() <= set(OF_SHELL) - heads


@pytest.mark.parametrize(("name", "words"), BODIES)
def test_python_http_and_client_agree(name, words, client):
    body = command(name).bodies[words]
    told = json.loads(answer(command(name).path, json.dumps(body).encode()))
    if name in OF_HAND:
        return
    own = function(name)(**body)
    assert json.loads(own.to_json()) == told
    sent = getattr(client, command(name).function)(**body)
    of_client = command(name).of_client
    assert type(sent) is (resolve_name(of_client) if of_client else type(own))
    assert json.loads(sent.to_json()) == told


@pytest.mark.parametrize("name", FUNCTIONS)
def test_a_function_refuses_what_is_unknown_in_one_line(name):
    body = next(iter(command(name).bodies.values()))
    with pytest.raises(InputError, match="unknown option 'no_such'"):
        function(name)(**body, no_such=1)
    if not command(name).takes_all:
        with pytest.raises(TypeError, match="without their names"):
            function(name)(*range(20))


BOUNDED = [
    (name, one)
    for name in FUNCTIONS
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
    if "http" not in command(name).without:
        with pytest.raises(Refused) as refused:
            answer(command(name).path, json.dumps(body).encode())
        assert refused.value.mistakes[0].field.startswith(field)
    for line in command(name).in_shell if command(name) in OF_A_SHELL else ():
        if one.field in declared(line.typed or line.request):
            done = CliRunner().invoke(main, [*shlex.split(line.name), f"--{one.name}", str(wrong)])
            assert done.exit_code == 2
            assert f"--{one.name}" in done.stderr


@pytest.mark.parametrize("name", NAMES)
def test_every_field_has_words_and_every_number_a_unit(name):
    for one in command(name).fields.values():
        assert one.words.endswith((".", "]")), one.field
        assert one.unit or one.type not in (int, float), one.field


def test_the_stub_is_what_the_register_makes():
    assert stub.CALLS.read_text("utf-8") == stub.stub()  # python -m perfmodel.interfaces.stub
    assert stub.PACKAGE.read_text("utf-8") == stub.package_stub()


def test_names_of_functions_are_no_others():
    assert {command(name).function: name for name in FUNCTIONS} == register.FUNCTIONS
    assert {*register.FUNCTIONS} <= {*perfmodel.__all__}
