"""A TOML file of a command's options, each read and checked as the command line reads it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

import click
from click.core import ParameterSource

from perfmodel.core.errors import InputError, refusal, unknown_name
from perfmodel.core.files.reading import read_toml
from perfmodel.core.problem import python

FILE = "options_file"
"""The parameter that has its name."""
LISTS = ("names", "counts")
"""Names of the types that take several values, joined by commas."""


def read_options(ctx: click.Context, asked: click.Parameter, path: str | None) -> str | None:
    """Take what a file says as the defaults of a command: the callback of an eager option.

    A key is an option without its dashes; a list stands for values joined by commas, a table for
    ``NAME=VALUE`` given several times.  What the command line says goes before.

    Raises
    ------
    InputError : a file that cannot be read, an unknown key, a value that does not fit; file and key are named
    """
    if path is None:
        return None
    known = {
        name.removeprefix("--"): option
        for option in ctx.command.params
        if _may_stand(option, asked)
        for name in option.opts
    }
    result: dict[str, Any] = {}
    for key, value in read_toml(path).items():
        option = known.get(key.replace("_", "-"))
        if option is None:
            raise unknown_name("key", key, known).under(path)
        name = str(option.name)
        if name in result:
            raise refusal("options_file.twice", key=key).under(path)
        try:
            result[name] = _as_typed(option, value)
            option.type_cast_value(ctx, result[name])
        except click.BadParameter as error:
            raise refusal("options_file.value", (key,), value=value, message=error.message).under(
                path
            ) from None
    ctx.default_map = {**(ctx.default_map or {}), **result}
    return path


options_file_option = click.option(
    "--scenario",
    FILE,
    metavar="FILE",
    is_eager=True,
    callback=read_options,
    help="TOML file with any of these options.",
)


@contextmanager
def naming_the_file(path: str | None) -> Iterator[None]:
    """Name file and key in an error about a value that only the file has."""
    try:
        yield
    except InputError as error:
        if path is None:
            raise
        ctx = click.get_current_context()
        defaults: Mapping[str, Any] = ctx.default_map or {}
        fields = {each for one in error.problems for each in one.fields}
        values = {str(each) for one in error.problems for each in one.values.values()}
        for option in ctx.command.params:
            name = str(option.name)
            if name not in defaults or ctx.get_parameter_source(name) is not ParameterSource.DEFAULT_MAP:
                continue
            value = defaults[name]
            words = value if isinstance(value, list) else str(value).split(",")
            parts = [part for word in words for part in (str(word), str(word).rpartition("=")[0]) if part]
            if (python(_key(option)),) in fields or any(part in values for part in parts):
                raise error.under(_key(option)).under(path) from None
        raise


def _key(option: click.Parameter) -> str:
    return option.opts[0].removeprefix("--")


def _may_stand(option: click.Parameter, asked: click.Parameter) -> bool:
    return isinstance(option, click.Option) and not option.is_flag and option is not asked


def _as_typed(option: click.Parameter, value: Any) -> Any:
    """A value as the command line has it: text, or several of them."""
    if isinstance(value, dict) and option.multiple:
        return [f"{name}={_text(one)}" for name, one in value.items()]
    if isinstance(value, list) and option.multiple:
        return [_text(one) for one in value]
    if isinstance(value, list) and option.type.name in LISTS:
        return ",".join(_text(one) for one in value)
    text = _text(value)
    return [text] if option.multiple else text


def _text(value: Any) -> str:
    if isinstance(value, bool) or not isinstance(value, str | int | float):
        raise click.BadParameter("expected a number or a text")
    return str(value)
