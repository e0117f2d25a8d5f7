"""A command as click has it."""

from __future__ import annotations

from typing import Any

import click

from perfmodel.cli.export import export_options, exported, take_form
from perfmodel.cli.options import catalogue_from, option_of, specs_option
from perfmodel.interfaces.command import Command, Context
from perfmodel.specs.record import REQUIRED


def click_command(one: Command) -> click.Command:
    """Return the command with its options, in the order in which its request declares them."""

    def call(specs: tuple[str, ...] = (), **options: Any) -> None:
        form = take_form(options)
        given = {name: value for name, value in options.items() if value is not None}
        request = one.request.model_construct(**given)  # each option has checked its value
        answer = one.run(request, Context(catalogue_from(specs)))
        if not exported(answer, form):
            one.text(answer)

    made: Any = export_options(call)
    if one.hardware:
        made = specs_option(made)
    for each in reversed(one.fields.values()):
        made = option_of(each, **({"required": True} if each.default is REQUIRED else {}))(made)
    examples = "".join(f"\n  {line}" for line in one.examples)
    return click.command(one.name, help=f"{one.summary}\n\n\b\nExamples:{examples}")(made)
