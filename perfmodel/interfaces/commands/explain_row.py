"""``explain-row``: how a measured row was read, and what came of it."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

from perfmodel.core.records.options import Described, OptionInfo
from perfmodel.core.units import per_cent
from perfmodel.interfaces.command import Command, Context

if TYPE_CHECKING:
    from rich.console import Console

    from perfmodel.evidence.accuracy.campaign import Explanation
    from perfmodel.evidence.explained_rows import ExplainedRows

LARGEST_DIFFERENCE = 0.01
"""Between a row's prediction and what its command answers, beyond which that is said."""


class ExplainRowRequest(Described):
    """A measured row.

    Parameters
    ----------
    row : Its id.
    kind : What was measured.  [default: whichever has the id; of a file, the one with its column of ids, or
        training]
    data : CSV of measured rows.  [default: those that come with the package, held-out rows too]
    """

    row: str
    kind: Literal["training", "transformers", "collectives", "mlperf", "memory"] | None = None
    data: Annotated[str | None, OptionInfo(file=True)] = None


def run(request: ExplainRowRequest, context: Context) -> "ExplainedRows":
    """Explain a measured row: what it states, how that was read, what was assumed, and what came of it.

    Of a run whose time and memory were both published there are two rows.

    Raises
    ------
    InputError : an unknown kind or row; a file that cannot be read

    Examples
    --------
    >>> from perfmodel import explain_row
    >>> (explained,) = explain_row("titan-0006").rows
    >>> explained.readings[0].read_as, explained.outcome.holds_80
    ('torchtitan of 2024', True)
    """
    from perfmodel.core.files.attachments import attached
    from perfmodel.evidence.explained_rows import explained_rows

    if request.data is not None:
        attached(request.data)  # a service reads none but those that came with the request
    return explained_rows(request.row, request.kind, request.data, context.catalogue)


def _read(answer: Any, request: object) -> "ExplainedRows":
    from perfmodel.evidence.explained_rows import ExplainedRows

    return ExplainedRows.of_json(answer)


def text(answer: "ExplainedRows", request: object) -> None:
    """Print each row."""
    for row in answer.rows:
        _show(row)


def _show(row: "Explanation") -> None:
    """Print a row as published, as it was read, what was assumed, and what came of it."""
    from rich.text import Text

    from perfmodel.interfaces.cli.render import console, lines_to, table

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


def _show_outcome(out: "Console", row: "Explanation") -> None:
    from rich.text import Text

    from perfmodel.core.units import show, show_range
    from perfmodel.interfaces.cli.render import lines_to

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
    error = "" if outcome.error is None else f", error {per_cent(outcome.error, signed=True)}"
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


def _otherwise(row: "Explanation") -> str:
    """What the command answers, where that is something else."""
    from perfmodel.core.units import show

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


COMMAND = Command(
    name="explain-row",
    summary="How a measured row was read: what it states, what was assumed, what came of it.",
    request=ExplainRowRequest,
    answers=("perfmodel.evidence.explained_rows:ExplainedRows",),
    json=("perfmodel.interfaces.service.answer_types:ExplainedRowsAnswer",),
    read=_read,
    run=run,
    text=text,
    positional=("row",),
    examples=("perfmodel validate --explain-row titan-0006",),
    bodies={"a run of torchtitan": {"row": "titan-0006"}},
    without={"shell": "it is validate --explain-row"},
)
