"""Answers as JSON, CSV or a Markdown table: the options, and rows as text."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Literal, TypeVar

import click

from perfmodel.errors import refusal
from perfmodel.problem import Words
from perfmodel.tables import cell_text, columns_of, csv_text, flat, markdown_cell

if TYPE_CHECKING:
    from typing import Protocol

    class Answer(Protocol):
        """What a command prints for programs: whole as JSON, or its rows."""

        def to_json(self) -> str:
            """Return the answer as text that holds JSON."""

        def records(self) -> Iterable[Row]:
            """Return its rows."""


Form = Literal["json", "csv", "markdown"]
Row = Mapping[str, Any]
_Command = TypeVar("_Command", bound=Callable[..., Any])

FORMS: tuple[Form, ...] = ("json", "csv", "markdown")
_HELP = {"json": "Print JSON.", "csv": "Print CSV.", "markdown": "Print a Markdown table."}


def export_options(command: _Command) -> _Command:
    """Give a command ``--json``, ``--csv`` and ``--markdown``; ``take_form`` reads them."""
    for form in reversed(FORMS):
        command = click.option(f"--{form}", f"as_{form}", is_flag=True, help=_HELP[form])(command)
    return command


def take_form(options: dict[str, Any]) -> Form | None:
    """Take the options of ``export_options`` out of a command's; None asks for plain text.

    Raises
    ------
    InputError : more than one was given
    """
    asked = [form for form in FORMS if options.pop(f"as_{form}", False)]
    if len(asked) > 1:
        raise refusal("options.one_form", known=Words(" and ".join(f"--{form}" for form in asked)))
    return asked[0] if asked else None


def markdown_table(
    rows: Iterable[Row], columns: Sequence[str] | Mapping[str, str] | None = None, digits: int = 4
) -> str:
    r"""Return rows as a Markdown table, numbers to so many digits, columns of numbers to the right.

    Parameters
    ----------
    rows, columns : as of ``csv_text``; a mapping gives the columns their headings

    >>> rows = [{"link": "a|b", "time": 0.123456}]
    >>> print(markdown_table(rows, {"link": "link", "time": "time [s]"}), end="")
    | link | time [s] |
    | :--- | ---: |
    | a\|b | 0.1235 |
    """
    spread = [flat(row) for row in rows]
    names = columns_of(spread, columns)
    headings = columns if isinstance(columns, Mapping) else {name: name for name in names}
    sides = [":---" if any(isinstance(row.get(name), str) for row in spread) else "---:" for name in names]
    lines = [[markdown_cell(headings[name]) for name in names], sides]
    lines += [[markdown_cell(_short(row.get(name), digits)) for name in names] for row in spread]
    return "".join(f"| {' | '.join(cells)} |\n" for cells in lines)


def exported(answer: Answer, form: Form | None) -> bool:
    """Print an answer in the form that was asked for, if any; return whether one was."""
    if form == "json":
        click.echo(answer.to_json())
    elif form is not None:
        show_rows(answer.records(), form)
    return form is not None


def show_rows(rows: Iterable[Row], form: Form, columns: Sequence[str] | None = None) -> None:
    """Print rows as CSV or Markdown."""
    text = csv_text(rows, columns) if form == "csv" else markdown_table(rows, columns)
    click.echo(text, nl=False)


def _short(value: Any, digits: int) -> str:
    if hasattr(value, "item"):
        value = value.item()
    if isinstance(value, float) and math.isfinite(value):
        return _figures(value, digits)
    return {"true": "yes", "false": "no"}[cell_text(value)] if isinstance(value, bool) else cell_text(value)


def _figures(value: float, digits: int) -> str:
    """Round to significant digits, but keep all before the point: no powers of ten."""
    if 10**digits <= abs(value) < 1e15:
        return f"{value:.0f}"
    return f"{value:.{digits}g}"
