"""Texts made of a template and of data: what a report says stands in ``templates/``, its numbers in code."""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import cache
from pathlib import Path
from textwrap import fill
from typing import TYPE_CHECKING, Any

from perfmodel.core.files.tables import markdown_cell

if TYPE_CHECKING:
    from jinja2 import Environment

WIDTH = 110
COLOURS = ("#1f6fb2", "#e0862c", "#c0392b", "#7a5195", "#2e8b57", "#8d6e63", "#5b6b7b", "#b0b7bf")
"""Of the parts of a bar, in turn; the last serves all that follow."""


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
        loader=FileSystemLoader(Path(__file__).parents[2] / "templates"),
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


def colour(index: int) -> str:
    """Return the colour of a part of a bar, by its place.

    >>> colour(0), colour(7) == colour(20)
    ('#1f6fb2', True)
    """
    return COLOURS[min(index, len(COLOURS) - 1)]


def bar(parts: Sequence[tuple[float, str]], whole: float = 1.0) -> list[tuple[str, float, str]]:
    """Return colour, width [%] and words of each part of a bar, as ``bars.html.j2`` draws it.

    Parameters
    ----------
    parts : each a size and its words; nothing is drawn of a size below 0
    whole : what the full width stands for

    >>> bar([(1, "forward"), (3, "backward")], whole=4)
    [('#1f6fb2', 25.0, 'forward'), ('#e0862c', 75.0, 'backward')]
    """
    per_size = 100 / whole if whole > 0 else 0.0
    return [(colour(i), per_size * max(0.0, size), words) for i, (size, words) in enumerate(parts)]


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
