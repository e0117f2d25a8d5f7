"""``--jobs``: how many processes a command starts."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

import click

_Command = TypeVar("_Command", bound=Callable[..., Any])


class _Jobs(click.ParamType):  # type: ignore[type-arg,unused-ignore]  # no generic in click 8.2
    """A number of processes, or ``all``."""

    name = "jobs"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> int:
        """Return the number of processes, which for ``all`` is that of the cores."""
        if value == "all":
            from perfmodel.core.processes import cores

            return cores()
        text = str(value)
        if not (text.isascii() and text.isdigit() and 1 <= int(text) <= MOST):
            self.fail(f"{text!r}: expected a whole number from 1 to {MOST}, or all (cores)", param, ctx)
        return int(text)


MOST = 4096
"""More processes than any machine has cores are a slip."""


def jobs_option(help: str) -> Callable[[_Command], _Command]:
    """Return what gives a command ``--jobs``."""
    return click.option("--jobs", type=_Jobs(), metavar="N|all", help=help)
