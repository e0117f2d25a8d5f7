"""``perfmodel compare``: scenarios side by side."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from perfmodel.core.errors import InputError, refusal, unknown_name
from perfmodel.core.files.tables import markdown_table
from perfmodel.interfaces.cli.economics_options import economics_options, take_economics
from perfmodel.interfaces.cli.export import export_options, exported, take_form
from perfmodel.interfaces.cli.options import catalogue_from, scenario_from, scenario_options
from perfmodel.interfaces.cli.report import report_file, report_option, typed_command
from perfmodel.interfaces.cli.types import Word
from perfmodel.model.options.scenario import OPTIONS, Scenario, field_of, laid_over
from perfmodel.workloads.recipes.recipes import NAMES

if TYPE_CHECKING:
    from rich.console import Console

    from perfmodel.decide.comparison import Comparison

LEFT_OUT = "default"
"""In place of a value: the variant leaves the option to the model."""
_NEXT_KEY = re.compile(r",(?=([A-Za-z_-]+)=)")


@click.command("compare")
@click.argument("files", nargs=-1, metavar="[SCENARIO.toml ...]")
@click.option(
    "--set",
    "changes",
    multiple=True,
    metavar="KEY=VALUE,...",
    help="A variant: the scenario with these; KEY=default leaves one to the model.",
)
@click.option(
    "--name",
    "names",
    multiple=True,
    metavar="NAME",
    help="What a case is called: once for each case, the first first.  [default: what it changes]",
)
@click.option("--time-to-target", "target", is_flag=True, help="Also the time to a published accuracy.")
@click.option(
    "--recipe",
    type=Word(NAMES),
    help="How training to it goes, of every case.  [default: what goes with the framework of each]",
)
@click.option("--compare-to", "saved", metavar="FILE", help="A saved predict --json, to compare with.")
@scenario_options()
@economics_options
@report_option
@export_options
def command(
    files: tuple[str, ...],
    changes: tuple[str, ...],
    names: tuple[str, ...],
    saved: str | None,
    target: bool,
    recipe: str | None,
    report: str | None,
    specs: tuple[str, ...],
    **options: Any,
) -> None:
    """Predictions side by side: what changed, by how much, and which is faster or cheaper.

    The first is what the others are compared with: the saved prediction, or the first scenario.  Options
    are laid over every file; without a file they are the scenario that --set varies.

    \b
    Examples:
      perfmodel compare --gpus 32 --set algorithm=tree --set inter_link=ethernet-100g-tcp
      perfmodel compare --node aws-p3.16xlarge --gpus 16 --set node=aws-p4d.24xlarge
      perfmodel compare a.toml b.toml
      perfmodel compare --gpus 32 --time-to-target --set framework=mxnet-ngc
      perfmodel compare --compare-to saved.json --gpus 64
      perfmodel compare --gpus 32 --set inter_link=ethernet-100g-tcp --report network.html
      perfmodel compare --gpus 8 --set gpus=16 --name now --name twice
    """
    from perfmodel.decide.comparison import case_of, saved_case
    from perfmodel.interfaces.api.compare import compare
    from perfmodel.model.options.conditions import Conditions

    form, page = take_form(options), report_file(report)
    conditions = Conditions(**(take_economics(options) or {}))
    catalogue = catalogue_from(specs)
    cases = [saved_case(Path(saved), catalogue, conditions)] if saved is not None else []
    scenarios = _scenarios(files, changes, options, bool(cases))
    cases += [
        case_of(name, scenario, catalogue, conditions, target=target, recipe=recipe)
        for name, scenario in scenarios.items()
    ]
    if names and len(names) != len(cases):
        raise refusal("compare.name", count=len(names), scenarios=len(cases))
    result = compare(*cases, names=names or None)
    if page is not None:
        from perfmodel.interfaces.reports.compared import page_of_comparison
        from perfmodel.interfaces.reports.page import write_page

        write_page(page, page_of_comparison(result, typed_command(), catalogue, conditions))
    if form == "markdown":
        click.echo(_markdown(result))
    elif not exported(result, form):
        _print(result)


def _scenarios(
    files: tuple[str, ...], changes: tuple[str, ...], options: dict[str, Any], saved: bool
) -> dict[str, Scenario]:
    """The cases to predict, by their names."""
    if files and options.get("scenario_file"):
        raise refusal("compare.scenario_twice")
    if changes and len(files) > 1:
        raise refusal("compare.set_of_one")
    names = {file: Path(file).stem for file in files}
    if len(set(names.values())) < len(files):
        names = {file: file for file in files}
    result: dict[str, Scenario] = {}
    for file, name in names.items():
        if name in result:
            raise refusal("compare.file_twice").under(file)
        result[name] = scenario_from(options | {"scenario_file": file})
    if len(names) < len(files):
        twice = refusal("compare.file_twice").under(files[0])
        raise twice if len(files) == 2 else refusal("compare.given_twice")
    if not files:
        result["now" if saved else "base"] = scenario_from(options)
    base = next(iter(result.values()))
    for text in changes:
        if text in result:
            raise refusal("compare.set_twice", text=text)
        result[text] = _changed(base, text)
    if len(result) + saved < 2:
        raise refusal("compare.nothing")
    return result


def _changed(base: Scenario, text: str) -> Scenario:
    """Return the scenario with the options of one ``--set``."""
    try:
        asked = laid_over(base.model_dump(exclude_unset=True), _options_of(text))
        return Scenario(**{key: value for key, value in asked.items() if value != LEFT_OUT})
    except InputError as error:
        raise error.under("set", said=f"--set {text}") from None


def _options_of(text: str) -> dict[str, Any]:
    """``gpus=64,precision=bf16`` as a table; a comma that no option follows is part of the value."""
    pieces: list[str] = []
    last = 0
    for comma in _NEXT_KEY.finditer(text):
        if field_of(comma[1]) in Scenario.model_fields:
            pieces.append(text[last : comma.start()])
            last = comma.end()
    pieces.append(text[last:])
    table: dict[str, Any] = {}
    for piece in pieces:
        key, equals, value = piece.partition("=")
        if not (equals and value.strip()):
            raise refusal("compare.set_malformed")
        key = key.strip()
        if field_of(key) not in Scenario.model_fields:
            raise unknown_name("option", key, OPTIONS)
        if key in table:
            raise refusal("compare.key_twice", key=key, piece=piece)
        table[key] = _value(value.strip())
    return table


def _value(text: str) -> Any:
    """A number or a truth value, where it is one."""
    try:
        value = tomllib.loads(f"value = {text}")["value"]
    except (ValueError, RecursionError):
        return text
    return value if isinstance(value, (int, float)) else text.strip("\"'")


def _print(result: Comparison) -> None:
    from rich.text import Text

    from perfmodel.decide.comparison.comparison_words import (
        label,
        shown,
        shown_difference,
        shown_input,
        shown_percent,
    )
    from perfmodel.interfaces.cli.render import console, table

    out = console()
    out.print(Text(result.verdict), style="bold")
    out.print()
    letters = [chr(ord("A") + index) if index < 26 else str(index) for index in range(len(result.names))]
    for letter, name in zip(letters, result.names, strict=True):
        out.print(Text(f"{letter}  {name}"))
    for chosen in _parts(len(letters), 3):
        if result.inputs:
            inputs = table("what changed", *(letters[i] for i in chosen))
            for entry in result.inputs:
                inputs.add_row(entry.option, *(shown_input(entry.values[i]) for i in chosen))
            out.print(inputs)
    if len(letters) == 2:
        rows = table("", "A", "B", "B - A", "%")
        for row in result.rows:
            values = (shown(value, row.unit) for value in row.values)
            rows.add_row(label(row), *values, shown_difference(row, 1), shown_percent(row.relative[1]))
        out.print(rows)
    else:
        _print_several(result, letters, out)
    for note in result.notes:
        out.print(Text(f"note: {note}"))


def _parts(count: int, most: int) -> list[range]:
    """Return the columns in groups narrow enough to print."""
    return [range(first, min(first + most, count)) for first in range(0, count, most)]


def _print_several(result: Comparison, letters: list[str], out: Console) -> None:
    """Values of all cases, then what the others differ by from the first."""
    from perfmodel.decide.comparison.comparison_words import label, shown, shown_difference, shown_percent
    from perfmodel.interfaces.cli.render import table

    for chosen in _parts(len(letters), 5):
        rows = table("", *(letters[i] for i in chosen))
        for row in result.rows:
            rows.add_row(label(row), *(shown(row.values[i], row.unit) for i in chosen))
        out.print(rows)
    for chosen in _parts(len(letters) - 1, 2):
        rows = table("against A", *(head for i in chosen for head in (f"{letters[i + 1]} - A", "%")))
        for row in result.rows:
            if any(row.differences[1:]):
                cells = ((shown_difference(row, i + 1), shown_percent(row.relative[i + 1])) for i in chosen)
                rows.add_row(label(row), *(cell for pair in cells for cell in pair))
        out.print(rows)


def _markdown(result: Comparison) -> str:
    from perfmodel.decide.comparison.comparison_words import label, shown, shown_input, shown_percent

    rows = []
    for row in result.rows:
        cells = {"": label(row).strip()}
        cells |= {name: shown(value, row.unit) for name, value in zip(result.names, row.values, strict=True)}
        cells |= {
            f"{name}, change": shown_percent(relative)
            for name, relative in zip(result.names[1:], row.relative[1:], strict=True)
        }
        rows.append(cells)
    parts = [f"**{result.verdict}**"]
    if result.inputs:
        parts.append(
            markdown_table(
                {
                    "what changed": entry.option,
                    **dict(zip(result.names, map(shown_input, entry.values), strict=True)),
                }
                for entry in result.inputs
            ).rstrip()
        )
    parts.append(markdown_table(rows).rstrip())
    return "\n\n".join([*parts, *(f"Note: {note}." for note in result.notes)])
