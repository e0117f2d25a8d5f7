"""The register: every command by its name; its file is imported when somebody first needs it."""

from __future__ import annotations

from importlib import import_module

from perfmodel.interfaces.command import Command

NAMES = (
    "adaptive-synchrony",
    "collective",
    "compare",
    "compression",
    "downpour",
    "enough",
    "explain",
    "layouts",
    "learning-rate",
    "model-parallel",
    "predict",
    "scale",
    "sensitivity",
    "servers",
    "stragglers",
)

OF_HAND = ("predict",)
"""Commands whose function and call of the client are written by hand: they return the prediction alone."""


def command(name: str) -> Command:
    """Return a command of ``NAMES``."""
    module = import_module(f"perfmodel.interfaces.commands.{name.replace('-', '_')}")
    one: Command = module.COMMAND
    return one


def commands() -> list[Command]:
    """Return every command, in the order of their names."""
    return [command(name) for name in NAMES]
