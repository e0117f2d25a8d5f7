"""What ``perfmodel validate`` prints of submissions and claims, and parts of all its tables."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterable

    from rich.console import Console

    from perfmodel.api.validate import Validation


def percent(share: float | None, sign: str = "") -> str:
    """Return a share in percent, to a tenth below 100 %, so that a line of the table fits."""
    if share is None:
        return "-"
    return f"{share:{sign}.{1 if abs(share) < 0.9995 else 0}%}"


def show_refused(reasons: Iterable[str | None], out: Console) -> None:
    """Print how many rows were not predicted, by reason."""
    from textwrap import fill

    from rich.text import Text

    from perfmodel.accuracy.summary import refusals

    refused = refusals(reasons)
    if refused:
        out.print(Text("not predicted:"))
    for count, reason in refused:
        out.print(Text(fill(reason, out.width, initial_indent=f"{count:>6}  ", subsequent_indent=" " * 8)))


def show_mlperf(answer: Validation[Any]) -> None:
    """Print times to train of submissions."""
    from rich.text import Text

    from perfmodel.cli.render import console, table

    out = console()
    rows = len(answer.reasons) + sum(not row.reason for row in answer.rows)
    how = "from specs alone" if answer.mode == "specs" else "anchored on machines of the other rounds"
    out.print(
        Text(f"{rows} submissions to MLPerf Training, {len(answer.reasons)} not predicted, {how}"),
        style="bold",
    )
    out.print(Text("error = predicted / measured - 1 of time to train; epochs from the other rounds"))
    shown = table("", "n", "mean", "median", "bias", "<10%", "<20%")
    for of in ({"all": answer.errors}, *answer.groups.values()):
        shown.add_section()
        for name, group in of.items():
            cells = (group.mean_absolute_error, group.median_absolute_error)
            shares = map(percent, (group.within_10, group.within_20))
            shown.add_row(name, str(group.n), *map(percent, cells), percent(group.bias, "+"), *shares)
    if answer.errors.n:
        out.print(shown)
    show_refused(answer.reasons, out)


def show_claims(answer: Validation[Any]) -> None:
    """Print published claims."""
    from rich.text import Text

    from perfmodel.cli.render import console, table

    out = console()
    out.print(Text(f"{len(answer.rows)} published claims, from specs alone", style="bold"))
    out.print(Text("error = predicted / published - 1 of the time; + is too slow; none is fitted"))
    shown = table("claim", "published", "predicted", "80 % interval", "error")
    shown.padding = (0, 1, 0, 0)
    for row in answer.rows:
        shown.add_row(*row.cells())
    out.print(shown)
    mean = percent(answer.errors.mean_absolute_error)
    held = percent(answer.coverage_80)
    out.print(Text(f"mean error of {answer.errors.n}: {mean}; inside the 80 % interval: {held}"))
