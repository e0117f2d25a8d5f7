"""The register: every command by its name; its file is imported when somebody first needs it."""

from __future__ import annotations

from importlib import import_module

from perfmodel.interfaces.command import Command

NAMES = (
    "compare",
    "compression",
    "downpour",
    "enough",
    "explain",
    "learning-rate",
    "model-parallel",
    "sensitivity",
    "servers",
)


def command(name: str) -> Command:
    """Return a command of ``NAMES``."""
    module = import_module(f"perfmodel.interfaces.commands.{name.replace('-', '_')}")
    one: Command = module.COMMAND
    return one


def commands() -> list[Command]:
    """Return every command, in the order of their names."""
    return [command(name) for name in NAMES]
