"""``perfmodel cite``: the sources a prediction stands on."""

from __future__ import annotations

import json
import textwrap
from typing import TYPE_CHECKING, Any

import click

from perfmodel.core.errors import refusal
from perfmodel.interfaces.cli.economics_options import economics_options, take_economics
from perfmodel.interfaces.cli.options import catalogue_from, scenario_from, scenario_options

if TYPE_CHECKING:
    from perfmodel.decide.explanations.sources import Source

KINDS = {
    "formula": "formulas that ran",
    "workload": "workload",
    "spec": "hardware",
    "software": "software",
    "price": "price of a node",
    "fit": "measurements the constants come from",
}
WIDTH = 80


@click.command("cite")
@scenario_options()
@economics_options
@click.option("--bibtex", "as_bibtex", is_flag=True, help="Print BibTeX.")
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
def command(as_json: bool, as_bibtex: bool, specs: tuple[str, ...], **options: Any) -> None:
    """List the sources of the formulas, specs, prices and constants that a prediction used.

    With --cost, or any option of prices, power and failures, also those of its money, energy and carbon.

    \b
    Examples:
      perfmodel cite --gpus 32
      perfmodel cite --gpus 16 --node aws-p3.16xlarge --algorithm tree
      perfmodel cite --gpus 16 --node aws-p3.16xlarge --cost --epochs 90
    """
    from perfmodel.decide.economics import economics
    from perfmodel.decide.explanations.derivation import derivation
    from perfmodel.decide.explanations.money import costs
    from perfmodel.decide.explanations.sources import assumed_of, bibtex, sources_of
    from perfmodel.decide.sensitivity.elasticity import case_of
    from perfmodel.model.fitted.calibration import calibration
    from perfmodel.model.options.conditions import Conditions
    from perfmodel.model.prediction import predict

    if as_json and as_bibtex:
        raise refusal("cite.forms")
    asked = take_economics(options)
    conditions = Conditions(**(asked or {}))
    scenario, catalogue = scenario_from(options), catalogue_from(specs)
    prediction = predict(scenario, catalogue)
    case = case_of(scenario, catalogue, calibration(), conditions)
    result = derivation(case)
    assumed = assumed_of(case, result, catalogue)
    if asked is None:
        case = case._replace(price=None)
    else:
        spent, _, more = costs(case, result, prediction, conditions, catalogue)
        result.trace.ran |= more.ran
        assumed += economics(prediction, conditions, catalogue, spent)["assumed"]
    sources = sources_of(case, result, catalogue)
    if as_json:
        answer = {"scenario": prediction.scenario, "sources": sources, "assumed": assumed}
        click.echo(json.dumps(answer))
    elif as_bibtex:
        click.echo(bibtex(sources), nl=False)
    else:
        for line in _wrapped(prediction.headline, ""):
            click.echo(line)
        for line in _lines(sources, assumed):
            click.echo(line)


def _lines(result: list[Source], assumed: list[str]) -> list[str]:
    lines = []
    for kind, heading in KINDS.items():
        of_kind = [source for source in result if source["kind"] == kind]
        if of_kind:
            lines += ["", heading]
        for source in of_kind:
            is_read = kind in ("spec", "software", "price") and source["date"]
            read = f", read {source['date']}" if is_read else ""
            lines += _wrapped(f"[{source['key']}] {source['cited']}{read}", "  ")
            if source["url"]:
                lines.append(f"      {source['url']}")  # not wrapped, so that it can be copied
            lines += _wrapped(f"for {', '.join(source['used_for'])}", "      ")
    if assumed:
        lines += ["", "assumed, with no source"]
        lines += _wrapped("; ".join(assumed), "  ")
    return lines


def _wrapped(line: str, indent: str) -> list[str]:
    return textwrap.wrap(
        line, WIDTH, initial_indent=indent, subsequent_indent=indent + "    ", break_on_hyphens=False
    )
