"""Answers as JSON, CSV or a Markdown table: the options, and rows as text."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Literal, TypeVar

import click

from perfmodel.core.errors import refusal
from perfmodel.core.files.tables import csv_text, markdown_table
from perfmodel.core.problem import Words
from perfmodel.interfaces.forms import TABLE
from perfmodel.interfaces.forms import Form as OfAnswer

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


def form_options(forms: Mapping[str, OfAnswer]) -> list[Callable[[_Command], _Command]]:
    """Return what gives a command an option for each form; ``take_form`` reads them."""
    return [
        click.option(f"--{name}", f"as_{name}", is_flag=True, help=form.words) for name, form in forms.items()
    ]


def export_options(command: _Command) -> _Command:
    """Give a command ``--json``, ``--csv`` and ``--markdown``."""
    for give in reversed(form_options(TABLE)):
        command = give(command)
    return command


def take_form(options: dict[str, Any], forms: Iterable[str] = TABLE) -> Any:
    """Take the options of forms out of a command's; None where people read the answer.

    Raises
    ------
    InputError : more than one was given
    """
    asked = [form for form in forms if options.pop(f"as_{form}", False)]
    if len(asked) > 1:
        raise refusal("options.one_form", known=Words(" and ".join(f"--{form}" for form in asked)))
    return asked[0] if asked else None


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
