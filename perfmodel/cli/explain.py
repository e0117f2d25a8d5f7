"""``perfmodel explain``: the equations of a prediction with its numbers in them."""

from __future__ import annotations

from typing import Any

import click

from perfmodel.cli.economics_options import economics_options, take_economics
from perfmodel.cli.options import catalogue_from, scenario_from, scenario_options
from perfmodel.errors import refusal
from perfmodel.problem import Words

FORMS = ("json", "latex", "markdown")


@click.command("explain")
@scenario_options()
@economics_options
@click.option("--latex", is_flag=True, help="Print a LaTeX document.")
@click.option("--markdown", is_flag=True, help="Print Markdown, equations in LaTeX.")
@click.option("--json", "as_json", is_flag=True, help="Print JSON, every number in full.")
def command(latex: bool, markdown: bool, as_json: bool, specs: tuple[str, ...], **options: Any) -> None:
    """The equations of this prediction, term by term, with every number it took and every source.

    With --cost, or any option of prices, power and failures, also those of money, energy and carbon.

    \b
    Examples:
      perfmodel explain --gpus 32
      perfmodel explain --workload vgg16 --accelerator k80 --gpus 4
      perfmodel explain --gpus 16 --strategy parameter-server --servers 2
      perfmodel explain --gpus 16 --node aws-p3.16xlarge --cost --epochs 90
    """
    from perfmodel.explanations import explain
    from perfmodel.specs.conditions import Conditions

    asked = [form for form, given in zip(FORMS, (as_json, latex, markdown), strict=True) if given]
    if len(asked) > 1:
        raise refusal("options.one_form", known=Words(" and ".join(f"--{form}" for form in asked)))
    asked_money = take_economics(options)
    conditions = None if asked_money is None else Conditions(**asked_money)
    explained = explain(scenario_from(options), catalogue_from(specs), None, conditions)
    if as_json:
        click.echo(explained.to_json())
    else:
        form = explained.to_latex if latex else explained.to_markdown if markdown else explained.__str__
        click.echo(form(), nl=False)
