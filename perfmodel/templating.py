"""Texts made of a template and of data: what a report says stands in ``templates/``, its numbers in code."""

from __future__ import annotations

import re
from functools import cache
from pathlib import Path
from textwrap import fill
from typing import TYPE_CHECKING, Any

from perfmodel.tables import markdown_cell

if TYPE_CHECKING:
    from jinja2 import Environment

WIDTH = 110


def render(template: str, **data: Any) -> str:
    """Return the text that a file of ``templates/`` makes of the data; what it lacks is an error.

    Parameters
    ----------
    template : the file's name
    data : what the template names
    """
    return _environment().get_template(template).render(**data)


@cache
def _environment() -> Environment:
    from jinja2 import Environment, FileSystemLoader, StrictUndefined, select_autoescape

    environment = Environment(
        loader=FileSystemLoader(Path(__file__).parent / "templates"),
        undefined=StrictUndefined,
        autoescape=select_autoescape(("html.j2",)),
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
    )
    environment.filters |= {"percent": percent, "prose": prose, "to": format, "cell": markdown_cell}
    return environment


def percent(share: float | None, signed: bool = False) -> str:
    """Return a share as people read it, or a dash.

    >>> percent(0.1234), percent(-0.5, signed=True), percent(None)
    ('12.3 %', '-50.0 %', '-')
    """
    if share is None:
        return "-"
    return f"{100 * share:{'+' if signed else ''}.1f} %"


def prose(text: str, first: str = "", later: str = "", hyphens: bool = True) -> str:
    r"""Return a paragraph filled to ``WIDTH``, with its line end; a line break in the template is a space.

    Parameters
    ----------
    first, later : what the first line begins with, and the others
    hyphens : whether a line may end within a word that has one

    >>> prose("A sentence.  And\n    another.", "* ")
    '* A sentence.  And another.\n'
    """
    joined = re.sub(r"\s*\n\s*", " ", text.strip())
    return fill(joined, WIDTH, initial_indent=first, subsequent_indent=later, break_on_hyphens=hyphens) + "\n"
