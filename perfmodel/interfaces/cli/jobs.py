"""``--jobs``: how many processes a command starts."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

import click

from perfmodel.core.processes import jobs_of
from perfmodel.interfaces.cli.types import Read

_Command = TypeVar("_Command", bound=Callable[..., Any])


def jobs_option(help: str) -> Callable[[_Command], _Command]:
    """Return what gives a command ``--jobs``."""
    return click.option("--jobs", type=Read(jobs_of, "N|all"), metavar="N|all", help=help)
