"""What was typed, for a report of the answer."""

from __future__ import annotations

import click

WORDS = "perfmodel.words"
"""Key under which the context keeps the words typed after ``perfmodel``."""


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
