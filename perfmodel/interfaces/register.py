"""The register: every command by its name; its file is imported when somebody first needs it."""

from __future__ import annotations

from collections.abc import Mapping
from importlib import import_module

from perfmodel.interfaces.command import Command

NAMES = (
    "adaptive-synchrony",
    "calibrate",
    "check-quote",
    "cite",
    "collective",
    "compare",
    "compression",
    "downpour",
    "emulate",
    "enough",
    "explain",
    "explain-row",
    "layouts",
    "learning-rate",
    "model-parallel",
    "predict",
    "scale",
    "schema",
    "sensitivity",
    "servers",
    "specs",
    "specs check",
    "stragglers",
    "trace diff",
    "trace report",
    "trace summary",
    "validate",
    "workloads",
)

SELDOM = (
    "cite",
    "compression",
    "downpour",
    "emulate",
    "learning-rate",
    "model-parallel",
    "schema",
    "servers",
)
"""Commands that help lists last."""
OF_HAND = ("predict",)
"""Commands whose function and call of the client are written by hand: they return the prediction alone."""


OF_SHELL_ALONE: Mapping[str, str] = {
    "app": "it opens pages in a browser",
    "serve": "it is the service",
}
"""Commands of the shell that are in no other interface, and why."""
NO_RECORDS = ("plan", "sweep")
"""Commands of the shell that are written for each interface by hand."""
IN_OTHERS = ("adaptive-synchrony", "enough", "explain-row")
"""Commands that the shell has as options of others."""
COMMANDS = tuple(
    sorted(
        {name.partition(" ")[0] for name in NAMES if name not in IN_OTHERS} | {*OF_SHELL_ALONE, *NO_RECORDS}
    )
)
"""Every command of the shell."""
GROUPS: Mapping[str, str] = {
    "specs": "Hardware and software: list it, show where each number comes from, check the files.\n\n"
    "Example: perfmodel specs show v100-sxm2-16gb",
    "trace": "What happened in a step, from a file of PyTorch Profiler, Nsight Systems or nccl-tests.",
    "workloads": "Networks: list them, show their layers, list how they are trained.\n\n"
    "Example: perfmodel workloads show resnet50",
}
"""Groups of commands in the shell, with their help; ``specs check`` is one of ``specs``."""


def command(name: str) -> Command:
    """Return a command of ``NAMES``."""
    module = import_module(f"perfmodel.interfaces.commands.{name.replace('-', '_').replace(' ', '_')}")
    one: Command = module.COMMAND
    return one


def commands() -> list[Command]:
    """Return every command, in the order of their names."""
    return [command(name) for name in NAMES]


def members(group: str) -> list[str]:
    """Return the names of the commands of a group."""
    return [name for name in NAMES if name == group or name.startswith(f"{group} ")]
