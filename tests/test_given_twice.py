"""An option given twice is refused by every command, unless it is a list: the last would count in silence."""

import json

import click
import pytest
from click.testing import CliRunner

from perfmodel.interfaces.cli import COMMANDS, main


def commands(command, words=()):
    """Every command with the words that name it, those inside groups too."""
    if isinstance(command, click.Group):
        ctx = click.Context(command)
        for name in command.list_commands(ctx):
            yield from commands(command.get_command(ctx, name), (*words, name))
    else:
        yield words, command


OPTIONS = [
    (words, option)
    for words, command in commands(main)
    for option in command.params
    if isinstance(option, click.Option) and not option.multiple and not option.is_eager
]


def given(option):
    return (option.opts[0],) if option.is_flag else (option.opts[0], "1")


@pytest.mark.parametrize("words", sorted({words for words, _ in OPTIONS}), ids=" ".join)
def test_every_option_that_is_no_list_is_refused_twice(words):
    for option in (option for of, option in OPTIONS if of == words):
        result = CliRunner().invoke(main, [*words, *given(option), *given(option)])
        assert result.exit_code == 2, option.name
        assert f"'{option.opts[0]}" in result.stderr
        assert "is given twice: give it once" in result.stderr
        assert f"{' '.join(words)} --help" in result.stderr


def test_every_command_has_such_options():
    assert {words[0] for words, _ in OPTIONS} == set(COMMANDS)


def test_spellings_of_one_option_and_a_flag_and_its_opposite_are_one():
    for words in (
        ["predict", "--gpus", "8", "--gpus=16"],
        ["predict", "--pinned-memory", "--no-pinned-memory"],
        ["predict", "--gpus", "8", "--world-size", "8"],
    ):
        result = CliRunner().invoke(main, words)
        assert result.exit_code == 2, words
        assert "is given twice" in result.stderr or "No such option" in result.stderr


def test_lists_take_several_values():
    words = ["sweep", "--gpus", "8", "--gpus", "16", "--json"]
    result = CliRunner().invoke(main, words)
    assert result.exit_code == 0
    assert [row["world_size"] for row in json.loads(result.stdout)["rows"]] == [8, 16]


def test_other_mistakes_are_said_first():
    result = CliRunner().invoke(main, ["predict", "--gpus", "8", "--gpus"])
    assert "requires an argument" in result.stderr
    assert "No such option" in CliRunner().invoke(main, ["predict", "--gpu", "8", "--gpus", "8"]).stderr
