"""``perfmodel sensitivity``: what the time and the cost of an iteration hang on."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import click

from perfmodel.core.errors import refusal
from perfmodel.core.files.tables import csv_text, markdown_table
from perfmodel.interfaces.cli.economics_options import price_options, take_conditions
from perfmodel.interfaces.cli.export import export_options, take_form
from perfmodel.interfaces.cli.options import catalogue_from, scenario_from, scenario_options
from perfmodel.interfaces.cli.report import report_file, report_option, typed_command
from perfmodel.interfaces.cli.types import Number

if TYPE_CHECKING:
    from rich.console import Console

    from perfmodel.decide.sensitivity.sensitivity_tables import SensitivityReport

SMALL = 0.005
"""An elasticity below it is printed in one line with the others."""
HALF_BAR = 22
MOST_BARS = 12


@click.command("sensitivity")
@scenario_options()
@price_options
@click.option(
    "--vary",
    metavar="NAME[=VALUES]",
    help="servers, inter-link, nics or gpus: how much of it is enough for --until; servers=1-16 tries those.",
)
@click.option(
    "--until",
    type=Number(0.0, 1.0),
    help="Scaling efficiency to reach by what --vary names, e.g. 95%.  [default: 95%]",
)
@report_option
@export_options
def command(
    specs: tuple[str, ...], vary: str | None, until: float | None, report: str | None, **options: Any
) -> None:
    """What the time and the cost of an iteration depend on, and where that changes.

    An elasticity of -0.8 says: 1 % more of this input takes 0.8 % off the time.  At a kink, where two arms
    of a maximum meet, the sides differ and both are shown.

    With --vary and --until instead: how many parameter servers, or adapters, are enough for a scaling
    efficiency, which is the slowest network that is, or up to how many GPUs it holds.  Exit code 1 where
    none is enough.

    \b
    Examples:
      perfmodel sensitivity --gpus 32
      perfmodel sensitivity --gpus 16 --node aws-p3.16xlarge
      perfmodel sensitivity --gpus 8 --workload vgg16 --accelerator k80 --price 7.2
      perfmodel sensitivity --gpus 32 --report sensitivity.html
      perfmodel sensitivity --gpus 32 --workload vgg16 --vary inter-link --until 90%
      perfmodel sensitivity --gpus 32 --workload vgg16 --strategy parameter-server --vary servers --until 80%
    """
    if vary is not None or until is not None:
        from perfmodel.interfaces.cli.until import show_enough

        if report is not None:
            raise refusal("sensitivity.report")
        show_enough(vary, until, specs, options)
        return
    from perfmodel.decide.sensitivity import sensitivity
    from perfmodel.decide.sensitivity.sensitivity_tables import sensitivity_report
    from perfmodel.model.fitted.calibration import calibration

    form, page = take_form(options), report_file(report)
    conditions = take_conditions(options)
    catalogue = catalogue_from(specs)
    scenario = scenario_from(options)
    result = sensitivity(scenario, catalogue, None, conditions)
    answer = sensitivity_report(result, catalogue, calibration())
    if page is not None:
        from perfmodel.interfaces.reports.page import write_page
        from perfmodel.interfaces.reports.sensitive import page_of_sensitivity

        write_page(page, page_of_sensitivity(answer, scenario, typed_command(), catalogue, conditions))
    if form == "json":
        click.echo(json.dumps(answer))
    elif form == "csv":
        click.echo(csv_text(answer["inputs"]), nl=False)
    elif form == "markdown":
        click.echo(_markdown(answer), nl=False)
    else:
        _show(answer)


_COLUMNS = {
    "name": "input",
    "value": "value",
    "unit": "unit",
    "time.elasticity": "time",
    "time.below": "below",
    "time.above": "above",
    "cost.elasticity": "cost",
    "at_-25%": "-25 % [s]",
    "at_+25%": "+25 % [s]",
}


def _markdown(answer: SensitivityReport) -> str:
    priced = answer["cost_per_1000_samples"] is not None
    columns = {key: text for key, text in _COLUMNS.items() if priced or not key.startswith("cost")}
    parts = [
        f"## {answer['title']}\n",
        *([f"**The job {answer['unfit']}.**\n"] if answer["unfit"] else []),
        f"Iteration time {answer['iteration_time']:.6g} s.  Elasticities: percent for each percent.\n",
        *([f"Price {answer['price_words']}.\n"] if answer["price_words"] else []),
        markdown_table(answer["inputs"], columns),
        "### What binds\n",
        "".join(f"- {arm['of']}: {arm['words']}\n" for arm in answer["maxima"]) or "- none\n",
        "### Where that changes\n",
        "".join(f"- {turn['words']}\n" for turn in answer["crossovers"]) or "- none\n",
    ]
    return "\n".join(parts)


def _show(answer: SensitivityReport) -> None:
    from rich.text import Text

    from perfmodel.core.units import show
    from perfmodel.interfaces.cli.render import console

    out = console()
    out.print(Text(answer["title"]), style="bold")
    if answer["unfit"]:
        out.print(Text(f"the job {answer['unfit']}"), style="bold")
    line = f"iteration time {show(answer['iteration_time'], 's')}"
    cost = answer["cost_per_1000_samples"]
    if cost is not None:
        line += f"; {cost:.3g} USD for 1,000 {answer['sample']}s"
    out.print(Text(line))
    if answer["price_words"]:
        out.print(Text(f"price {answer['price_words']}"))
    _show_inputs(out, answer)
    _show_tornado(out, answer)
    for heading, lines in (
        ("what binds", [f"{arm['of']}: {arm['words']}" for arm in answer["maxima"]]),
        ("where that changes", [turn["words"] for turn in answer["crossovers"]]),
        ("note", answer["notes"]),
    ):
        if lines:
            out.print(Text(heading), style="bold")
        for report in lines:
            out.print(Text(f"- {report}"))


def _show_inputs(out: Console, answer: SensitivityReport) -> None:
    from rich.text import Text

    from perfmodel.core.units import show
    from perfmodel.decide.sensitivity.sensitivity_tables import sides_words
    from perfmodel.interfaces.cli.render import table

    priced = answer["cost_per_1000_samples"] is not None
    rows = table("elasticity to", "value", "of time", *(["of cost"] if priced else []))
    small: list[str] = []
    none: list[str] = []
    for each in answer["inputs"]:
        sides = [side for of in (each["time"], each["cost"]) if of for side in (of["below"], of["above"])]
        known = [abs(side) for side in sides if side is not None]
        largest = max(known, default=SMALL)  # where it jumps it has none, and counts
        if largest < SMALL:
            (small if largest > 1e-9 else none).append(each["name"])
            continue
        value = show(each["value"], each["unit"]) if each["unit"] != "1" else f"{each['value']:.4g}"
        cells = [sides_words(each["time"]), *([sides_words(each["cost"])] if priced else [])]
        rows.add_row(each["name"], value, *cells)
    if answer["counts"]:
        rows.add_section()
    for count in answer["counts"]:
        cells = [sides_words(count["time"]), *([sides_words(count["cost"])] if priced else [])]
        rows.add_row(f"{count['name']} (halved, doubled)", str(count["value"]), *cells)
    out.print(rows)
    if small:
        out.print(Text(f"below {SMALL:g}: {', '.join(small)}"))
    if none:
        out.print(Text(f"no effect: {', '.join(none)}"))
    out.print(Text(_dimensions(answer)))
    out.print()


def _dimensions(answer: SensitivityReport) -> str:
    totals = [
        f"{unit} {round(total, 6) + 0.0:.3f}" for unit, total in answer["sums"].items() if total is not None
    ]
    if not answer["sums"]:
        return "check of units: not made of transformers"
    if not totals:
        return "check of units: not defined, messages are fused by a clock"
    report = f"check of units (elasticities in s add up to 1, in others to 0): {', '.join(totals)}"
    together = " and ".join(answer["sums_together"])
    return (
        f"{report}; at a kink, where two limits bind, so all inputs in {together} changed at once"
        if together
        else report
    )


def _show_tornado(out: Console, answer: SensitivityReport) -> None:
    """Bars from the smaller to the larger time, around the time as it is."""
    from rich.text import Text

    whole = answer["iteration_time"]
    swings = [
        (each["name"], each["at_-25%"] / whole - 1, each["at_+25%"] / whole - 1) for each in answer["inputs"]
    ]
    swings.sort(key=lambda swing: -abs(swing[1] - swing[2]))
    swings = [swing for swing in swings if max(abs(swing[1]), abs(swing[2])) >= SMALL / 4][:MOST_BARS]
    if not swings:
        return
    widest = max(abs(side) for _, *sides in swings for side in sides)
    out.print(Text("iteration time with an input at -25 % (-) and at +25 % (+)"), style="bold")
    for name, low, high in swings:
        out.print(Text(f"{name[:25]:<25}{_bar(low, high, widest)}{low:+6.1%}{high:+7.1%}".rstrip()))
    out.print()


def _bar(low: float, high: float, widest: float) -> str:
    cells = [" "] * (2 * HALF_BAR - 4)
    middle = len(cells) // 2
    for side, mark in ((low, "-"), (high, "+")):
        length = round(abs(side) / widest * middle)
        for i in range(length):
            cells[middle - 1 - i if side < 0 else middle + i] = mark
    return "".join(cells[:middle]) + "|" + "".join(cells[middle:])
