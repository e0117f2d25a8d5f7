"""``perfmodel sensitivity --vary NAME --until SHARE``: how much of something is enough."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from perfmodel.core.errors import refusal
from perfmodel.core.files.tables import markdown_table, with_values
from perfmodel.interfaces.cli.economics_options import take_conditions
from perfmodel.interfaces.cli.export import exported, take_form
from perfmodel.interfaces.cli.options import catalogue_from, scenario_from
from perfmodel.interfaces.cli.types import Counts
from perfmodel.model.options.conditions import Conditions

if TYPE_CHECKING:
    from perfmodel.decide.sensitivity.until import Enough, Tried

MOST_ROWS = 20
"""Of the table in plain text; of more, powers of two and those around the answer."""
_COLUMNS = {
    "value": "value",
    "bandwidth": "bandwidth [B/s]",
    "scaling_efficiency": "efficiency",
    "low_80": "80 %, from",
    "high_80": "to",
    "iteration_time": "iteration [s]",
    "reaches": "enough",
}


def show_enough(
    vary: str | None, until: float | None, specs: tuple[str, ...], options: dict[str, Any]
) -> None:
    """Answer the options of ``perfmodel sensitivity`` that ask how much is enough.

    Parameters
    ----------
    vary, until : as typed
    specs, options : of the command

    Raises
    ------
    InputError : ``--until`` alone; prices, which decide nothing here; as ``enough``
    """
    from perfmodel.decide.sensitivity.until import USUAL_SHARE, enough

    form = take_form(options)
    if take_conditions(options) != Conditions():
        raise refusal("sensitivity.vary_conditions")
    if vary is None:
        raise refusal("sensitivity.vary_missing")
    name, equals, text = vary.partition("=")
    name = name.strip().replace("_", "-")
    values = _values(name, text) if equals else None
    answer = enough(
        scenario_from(options),
        name,
        USUAL_SHARE if until is None else until,
        values,
        catalogue_from(specs),
    )
    if form == "markdown":
        rows = answer.records()
        columns = with_values(rows, _COLUMNS)
        click.echo(f"{answer.headline}\n\n{answer.words}\n\n{markdown_table(rows, columns)}", nl=False)
    elif not exported(answer, form):
        _show(answer)
    if answer.answer is None:
        click.get_current_context().exit(1)


def _values(name: str, text: str) -> list[int | str]:
    if name == "inter-link":
        return [part.strip() for part in text.split(",") if part.strip()]
    try:
        return list(Counts().convert(text, None, None))
    except click.BadParameter as error:
        raise refusal("sensitivity.vary_value", name=name, message=error.message) from None


def _show(answer: Enough) -> None:
    from rich.text import Text

    from perfmodel.core.units import show
    from perfmodel.interfaces.cli.render import console, table

    out = console()
    out.print(Text(answer.words), style="bold")
    if answer.binds is not None:
        out.print(Text(f"there: {answer.binds}"))
    out.print(Text(f"{answer.headline}; {answer.scaling} scaling"))
    links = answer.vary == "inter-link"
    of = {"inter-link": "link", "gpus": "GPUs"}.get(answer.vary, answer.vary)
    rows = table(of, *(["adapter"] if links else []), "efficiency", "80 %", "iteration", "enough")
    for column in rows.columns:
        column.no_wrap = True
    shown = _shown(answer)
    for row in shown:
        between = "-" if row.low_80 is None else f"{row.low_80:.0%} to {row.high_80:.0%}"
        rate = [show(row.bandwidth, "B/s")] if links and row.bandwidth is not None else []
        mark = "*" if row.value == answer.answer else ""
        name = f"{row.value:,}{mark}" if isinstance(row.value, int) else f"{row.value}{mark}"
        cells = [f"{row.scaling_efficiency:.1%}", between, show(row.iteration_time, "s")]
        rows.add_row(name, *rate, *cells, "yes" if row.reaches else "no")
    out.print(rows)
    if answer.answer is not None:
        out.print(Text("*: the answer"))
    if len(shown) < len(answer.tried):
        out.print(Text(f"{len(shown)} of {len(answer.tried)} tried (--csv: all)"))
    for line in answer.left_out[:3]:
        out.print(Text(f"left out: {line}"))
    if len(answer.left_out) > 3:
        out.print(Text(f"and {len(answer.left_out) - 3} more left out (--json: all)"))


def _shown(answer: Enough) -> list[Tried]:
    """Every row of a short table; of a long one of counts, powers of two and those around the answer."""
    if len(answer.tried) <= MOST_ROWS or answer.vary == "inter-link":
        return answer.tried
    at = next((i for i, row in enumerate(answer.tried) if row.value == answer.answer), 0)
    near = range(at - 1, at + 2)
    last = len(answer.tried) - 1
    return [
        row
        for i, row in enumerate(answer.tried)
        if i in near or i == last or (isinstance(row.value, int) and row.value & (row.value - 1) == 0)
    ]
