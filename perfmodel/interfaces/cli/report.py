"""``--report``: an answer as a page in a file."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

import click

from perfmodel.interfaces import report

_Command = TypeVar("_Command", bound=Callable[..., Any])

WORDS = "perfmodel.words"
"""Key under which the context keeps the words typed after ``perfmodel``."""


def report_option(command: _Command) -> _Command:
    """Give a command ``--report``; ``report_file`` checks what it names."""
    return click.option("--report", metavar="FILE", help=report.WORDS)(command)


def report_file(name: str | None) -> Path | None:
    """Return the path of ``--report``, after a check that it can be written; None without the option.

    Raises
    ------
    InputError : it cannot be written, or is neither .html nor .md
    """
    if name is None:
        return None
    from perfmodel.interfaces.reports.page import check_page

    check_page(Path(name))
    return Path(name)


def typed_command() -> str:
    """Return the running command as a line for a shell, without its ``--report``."""
    import shlex

    typed: list[str] = list(click.get_current_context().meta[WORDS])
    kept: list[str] = []
    words = iter(typed)
    for word in words:
        if word == "--report":
            next(words, None)
        elif not word.startswith("--report="):
            kept.append(word)
    return shlex.join(["perfmodel", *kept])
