"""What ``perfmodel validate --explain-row`` prints of one measured row."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from rich.text import Text

from perfmodel.core.units import show, show_range
from perfmodel.interfaces.cli.render import console, lines_to, table

if TYPE_CHECKING:
    from rich.console import Console

    from perfmodel.evidence.accuracy.campaign import Explanation

LARGEST_DIFFERENCE = 0.01
"""Between a row's prediction and what its command answers, beyond which that is said."""


def show_explanation(row: Explanation) -> None:
    """Print a row as published, as it was read, what was assumed, and what came of it."""
    out, campaign = console(), row.campaign
    path = row.line.path
    name = path.name if path == campaign.path else Path(path)
    out.print(
        Text(f"{row.id}: {campaign.kind}, {name} line {row.line.place}, {row.line.source}", style="bold")
    )
    if row.held_out:
        out.print(Text("held out: in no fit and in no table of the report"))
    elif row.is_learned_from:
        out.print(Text("the shipped fit has learned from this row"))
    out.print(Text("as published:"))
    for column, cell in row.line.published.items():
        lines_to(out, f"{column} = {cell}", "  ")
    if row.readings:
        shown = table("read", "as stated", "as read", left=3)
        shown.padding = (0, 1, 0, 0)
        for each in row.readings:
            if not each.is_assumed:
                read = f"{each.read_as} ({each.why})" if each.why else each.read_as
                shown.add_row(each.what, each.stated, read)
        out.print(shown)
    if assumed := [each for each in row.readings if each.is_assumed]:
        out.print(Text("assumed, as the row is silent:"))
        for each in assumed:
            lines_to(out, f"{each.what}: {each.read_as}" + (f" ({each.why})" if each.why else ""), "  ")
    _show_outcome(out, row)


def _show_outcome(out: Console, row: Explanation) -> None:
    outcome, unit = row.outcome, row.campaign.unit
    measured = "not stated" if outcome.measured is None else show(outcome.measured, unit)
    if outcome.predicted is None:
        out.print(Text(f"measured {row.campaign.measures}: {measured}"))
        lines_to(out, f"refused: {outcome.reason}")
        return
    if row.command is not None:
        lines_to(out, f"as a command: {row.command.line}")
        if said := _otherwise(row):
            lines_to(out, said, "  ")
    error = "" if outcome.error is None else f", error {outcome.error:+.1%}"
    predicted = show(outcome.predicted, unit)
    lines_to(out, f"{row.campaign.measures}: measured {measured}, predicted {predicted}{error}")
    if outcome.low_80 is not None and outcome.high_80 is not None:
        held = {True: "holds", False: "does not hold", None: ""}[outcome.holds_80]
        lines_to(
            out, f"80 % interval: {show_range(outcome.low_80, outcome.high_80, unit)}, {held}".rstrip(", ")
        )
    if row.terms:
        parts = ", ".join(f"{name} {show(size, unit)}" for name, size in row.terms.items())
        lines_to(out, f"made of: {parts}" if row.campaign.kind != "collectives" else f"beside: {parts}")


def _otherwise(row: Explanation) -> str:
    """What the command answers, where that is something else."""
    command, predicted = row.command, row.outcome.predicted
    if command is None or predicted is None:
        return ""
    if command.answer is None:
        return f"which is refused: {command.refusal}"
    answer = show(command.answer, row.campaign.unit)
    if command.of:
        return f"which answers {command.of}: {answer}"
    if abs(command.answer / predicted - 1) <= LARGEST_DIFFERENCE:
        return ""
    return f"which answers {answer}: it cannot be given all that the row says"
