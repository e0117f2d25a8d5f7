"""The command line as pages: what ``--help`` says of each command, its examples and its options."""

from __future__ import annotations

import inspect
import re

import click

from docs.site import rst
from docs.site.commands import Command, commands

FOLDER = "reference/commands"


def pages() -> dict[str, str]:
    """Return the pages by their path in the site."""
    each = commands()
    result = {f"{FOLDER}/{_name(command)}.rst": _page(command) for command in each}
    rows = [
        (f":doc:`perfmodel {' '.join(command.path)} <{_name(command)}>`", rst.text(_first_line(command)))
        for command in each
    ]
    result[f"{FOLDER}/index.rst"] = rst.page(
        rst.heading("Commands"),
        "What ``--help`` prints. Exit codes: 0; 1 where a check failed; 2 for input that cannot be, with a "
        "line that says what would be right. ``--json`` prints an answer for scripts.\n",
        rst.table(("command", "answers"), rows),
        ".. toctree::\n   :hidden:\n\n" + "".join(f"   {_name(command)}\n" for command in each),
    )
    return result


def _name(command: Command) -> str:
    return "-".join(command.path)


def _first_line(command: Command) -> str:
    return " ".join((command.command.help or "").partition("\n\n")[0].split())


def _page(command: Command) -> str:
    arguments = [each for each in command.command.params if isinstance(each, click.Argument)]
    usage = " ".join(
        ["perfmodel", *command.path, *(each.make_metavar(command.context) for each in arguments), "[OPTIONS]"]
    )
    first, *rest = _help(command.command.help or "")
    return rst.page(
        rst.heading(f"perfmodel {' '.join(command.path)}"),
        first,
        rst.code(usage, "none"),
        *rest,
        rst.heading("Options", "-"),
        rst.definitions(_options(command)),
    )


def _help(text: str) -> list[str]:
    parts = []
    for block in re.split(r"\n\s*\n", inspect.cleandoc(text)):
        body = block.strip("\n")
        if body.startswith(("\b\n", "Example: ", "Examples:")):
            lines = re.sub(r"^Example: ", "", body.removeprefix("\b\n")).splitlines()
            shown = [line for line in lines if line.strip() != "Examples:"]
            parts += ["Examples:\n", rst.code("\n".join(line.strip() for line in shown), "none")]
        else:
            parts.append(rst.text(" ".join(body.split())) + "\n")
    return parts


def _options(command: Command) -> list[tuple[str, str, str]]:
    records = [
        option.get_help_record(command.context)
        for option in command.command.params
        if isinstance(option, click.Option)
    ]
    return [_option(names, words) for names, words in filter(None, records)]


def _option(names: str, words: str) -> tuple[str, str, str]:
    """An option's names, what it takes, and its meaning with the words it may be."""
    name, _, takes = names.rpartition(" ")
    name, takes = (name, takes) if name and not takes.startswith("-") else (names, "")
    if "|" in takes:
        choices = ", ".join(map(rst.literal, takes.strip("[]").split("|")))
        return rst.literal(name), "", f"{rst.text(words)} One of {choices}."
    return rst.literal(name), rst.text(takes.lower()), rst.text(words)
