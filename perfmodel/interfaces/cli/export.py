"""The options by which a command prints its answer for programs: ``--json``, ``--csv``, ``--markdown``."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any, TypeVar

import click

from perfmodel.core.errors import refusal
from perfmodel.core.problem import Words
from perfmodel.interfaces.forms import TABLE, Form

_Command = TypeVar("_Command", bound=Callable[..., Any])


def form_options(forms: Mapping[str, Form]) -> list[Callable[[_Command], _Command]]:
    """Return what gives a command an option for each form; ``take_form`` reads them."""
    return [
        click.option(f"--{name}", f"as_{name}", is_flag=True, help=form.words) for name, form in forms.items()
    ]


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
