"""The register: every command by its name; its file is imported when somebody first needs it.

``import perfmodel`` reads this file for the names of functions, so it imports next to nothing.
"""

from __future__ import annotations

from importlib import import_module

from perfmodel.interfaces.function_names import function_name

TYPE_CHECKING = False  # as of typing, whose import takes longer than this file
if TYPE_CHECKING:
    from collections.abc import Mapping

    from perfmodel.interfaces.command import Command

NAMES = (
    "adaptive-synchrony",
    "calibrate",
    "check-quote",
    "cite",
    "collective",
    "compare",
    "compression",
    "diagnose",
    "downpour",
    "emulate",
    "enough",
    "explain",
    "explain-row",
    "fits",
    "fleets",
    "layouts",
    "learning-rate",
    "model-parallel",
    "plan",
    "predict",
    "scale",
    "schema",
    "sensitivity",
    "servers",
    "specs",
    "specs check",
    "stragglers",
    "sweep",
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
NO_FUNCTIONS = ("trace report",)
"""Commands without a function in Python; their records say why."""
FUNCTIONS = {function_name(name): name for name in NAMES if name not in (*OF_HAND, *NO_FUNCTIONS)}
"""Commands by the names of their functions, which are made of the records."""

OF_SHELL_ALONE: Mapping[str, str] = {
    "app": "it opens pages in a browser",
    "serve": "it is the service",
}
"""Commands of the shell that are in no other interface, and why."""
IN_OTHERS = ("adaptive-synchrony", "enough", "explain-row", "fleets")
"""Commands that the shell has as options of others."""
COMMANDS = tuple(
    sorted({name.partition(" ")[0] for name in NAMES if name not in IN_OTHERS} | {*OF_SHELL_ALONE})
)
"""Every command of the shell."""
NOT_DRAWN: Mapping[str, str] = {
    "adaptive-synchrony": "the page of stragglers has it",
    "calibrate": "the page of one's own runs takes files",
    "check-quote": "its page shows each claim",
    "cite": "the explanation on the page of predict names its sources",
    "collective": "the page of communication draws it",
    "compare": "its page has a column for each job",
    "diagnose": "its page takes files",
    "emulate": "it sleeps as long as the steps take",
    "enough": "it tries values until one is enough, as the pages of scale and compare show them",
    "explain": "the page of predict has it",
    "explain-row": "the page of validation shows the rows",
    "fits": "its page draws the memory",
    "fleets": "its page has fields for the machines one has",
    "layouts": "the page of transformers has it",
    "plan": "its page has the limits of a search",
    "predict": "its page draws the terms",
    "scale": "its page draws the curve",
    "schema": "it is for programs",
    "sensitivity": "its page draws what matters",
    "specs": "the page of hardware has it",
    "specs check": "it is for files of one's own, on this machine",
    "stragglers": "its page draws the waiting",
    "sweep": "millions of rows are for files; the page of scale draws some",
    "trace diff": "the page of trace takes files",
    "trace report": "the page of trace hands it on",
    "trace summary": "the page of trace takes files",
    "validate": "the page of validation has it",
    "workloads": "every page lists the networks to choose from",
}
"""Commands whose pages in a browser are not drawn from their records, and why."""
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
