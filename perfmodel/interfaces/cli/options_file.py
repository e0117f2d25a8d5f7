"""A TOML file of a command's options, each parsed and checked as on the command line."""

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


def read_options(ctx: click.Context, file_option: click.Parameter, path: str | None) -> str | None:
    """Take the values of a file as the defaults of a command: the callback of an eager option.

    A key is the name of an option without its dashes; a list stands for values joined by commas, a table for
    ``NAME=VALUE`` given several times.  The command line overrides the file.

    Parameters
    ----------
    ctx, file_option, path : as of a click callback: context, the option of the file, its value

    Raises
    ------
    InputError : a file that cannot be read, an unknown key, a value that does not fit; file and key are named
    """
    if path is None:
        return None
    known = {
        name.removeprefix("--"): option
        for option in ctx.command.params
        if _may_be_in_file(option, file_option)
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
    """Name file and key in an error about a value that comes from the file."""
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
    """Return the key of an option in a file."""
    return option.opts[0].removeprefix("--")


def _may_be_in_file(option: click.Parameter, file_option: click.Parameter) -> bool:
    """Return whether an option may be in a file: any with a value, except that of the file itself."""
    return isinstance(option, click.Option) and not option.is_flag and option is not file_option


def _as_typed(option: click.Parameter, value: Any) -> Any:
    """Return a value as on the command line: a text, or a list of texts."""
    if isinstance(value, dict) and option.multiple:
        return [f"{name}={_text(one)}" for name, one in value.items()]
    if isinstance(value, list) and option.multiple:
        return [_text(one) for one in value]
    if isinstance(value, list) and option.type.name in LISTS:
        return ",".join(_text(one) for one in value)
    text = _text(value)
    return [text] if option.multiple else text


def _text(value: Any) -> str:
    """Return a number or text as text; a BadParameter for anything else."""
    if isinstance(value, bool) or not isinstance(value, str | int | float):
        raise click.BadParameter("expected a number or a text")
    return str(value)
