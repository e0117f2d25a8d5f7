"""``--report FILE``: an answer as one page."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

from perfmodel.interfaces.command import Context, Writes

WORDS = (
    "Also write the answer as one page, with the command that repeats it: FILE.html, or FILE.md for Markdown."
)
"""Of the option's help."""


def report(page: Callable[[Any, Any, Context], Any]) -> Writes:
    """Return the option of a command's report.

    Parameters
    ----------
    page : makes the page of an answer and its request
    """

    def check(file: Path, _: Any) -> None:
        from perfmodel.interfaces.reports.page import check_page

        check_page(file)

    def write(file: Path, answer: Any, request: Any, context: Context) -> None:
        from perfmodel.interfaces.reports.page import write_page

        write_page(file, page(answer, request, context))

    return Writes(WORDS, check, write, page=page)
