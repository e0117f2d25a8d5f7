"""Renders reports from data and Jinja2 templates in ``perfmodel/templates/``, which hold their texts."""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import cache
from pathlib import Path
from textwrap import fill
from typing import TYPE_CHECKING, Any

from perfmodel.core.files.tables import markdown_cell
from perfmodel.core.units import per_cent

if TYPE_CHECKING:
    from jinja2 import Environment

WIDTH = 110
COLOURS = ("#1f6fb2", "#e0862c", "#c0392b", "#7a5195", "#2e8b57", "#8d6e63", "#5b6b7b", "#b0b7bf")
"""Colours of the parts of a bar, in order; the last is that of all further parts."""


def render(template: str, **data: Any) -> str:
    """Return the text of a template with data filled in; a missing name is jinja2's UndefinedError.

    Parameters
    ----------
    template : name of a file of ``templates/``
    data : values by the names that the template uses
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
    environment.filters |= {"percent": percent, "prose": prose, "to": written, "cell": markdown_cell}
    return environment


def written(number: float, form: str) -> str:
    """Return a number in a form of Python's ``format``, with a space before a per cent sign.

    >>> written(0.1234, ".1%"), written(1234.5, ",.0f")
    ('12.3 %', '1,234')
    """
    text = format(number, form)
    return f"{text[:-1]} %" if form.endswith("%") else text


def percent(share: float | None, signed: bool = False) -> str:
    """Return a fraction as a percentage, or a dash for None.

    >>> percent(0.1234), percent(-0.5, signed=True), percent(None)
    ('12.3 %', '-50.0 %', '-')
    """
    return "-" if share is None else per_cent(share, signed=signed)


def colour(index: int) -> str:
    """Return the colour of the part of a bar with a given index.

    >>> colour(0), colour(7) == colour(20)
    ('#1f6fb2', True)
    """
    return COLOURS[min(index, len(COLOURS) - 1)]


def bar(parts: Sequence[tuple[float, str]], whole: float = 1.0) -> list[tuple[str, float, str]]:
    """Return colour, width [%] and label of each part of a bar, for ``bars.html.j2``.

    Parameters
    ----------
    parts : size and label of each; a size below 0 has no width
    whole : size of the full width

    >>> bar([(1, "forward"), (3, "backward")], whole=4)
    [('#1f6fb2', 25.0, 'forward'), ('#e0862c', 75.0, 'backward')]
    """
    per_size = 100 / whole if whole > 0 else 0.0
    return [(colour(i), per_size * max(0.0, size), words) for i, (size, words) in enumerate(parts)]


def prose(text: str, first: str = "", later: str = "", hyphens: bool = True) -> str:
    r"""Return a paragraph wrapped to ``WIDTH`` letters, with a final line end; line breaks become spaces.

    Parameters
    ----------
    first, later : indent of the first line, and of the others
    hyphens : whether a line may break at a hyphen

    >>> prose("A sentence.  And\n    another.", "* ")
    '* A sentence.  And another.\n'
    """
    joined = re.sub(r"\s*\n\s*", " ", text.strip())
    return fill(joined, WIDTH, initial_indent=first, subsequent_indent=later, break_on_hyphens=hyphens) + "\n"
