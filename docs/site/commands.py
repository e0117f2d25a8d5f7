"""The commands of perfmodel as click has them: their help, options and examples."""

from __future__ import annotations

import re
from typing import NamedTuple

import click

from perfmodel.interfaces.cli import main

_EXAMPLE = re.compile(r"(?:Example: |^  +)(perfmodel .*)$", re.MULTILINE)


class Command(NamedTuple):
    """One command that answers."""

    path: tuple[str, ...]
    """Its words after ``perfmodel``."""
    command: click.Command
    context: click.Context

    def examples(self) -> list[str]:
        """Return the command lines that its help shows."""
        return _EXAMPLE.findall(self.command.help or "")


def commands() -> list[Command]:
    """Return every command that answers, those of groups one by one."""
    return _below(main, (), None)


def _below(command: click.Command, path: tuple[str, ...], parent: click.Context | None) -> list[Command]:
    context = click.Context(command, parent=parent, info_name=path[-1] if path else "perfmodel")
    if not isinstance(command, click.Group):
        return [Command(path, command, context)]
    children = [(name, command.get_command(context, name)) for name in command.list_commands(context)]
    return [each for name, child in children if child for each in _below(child, (*path, name), context)]
