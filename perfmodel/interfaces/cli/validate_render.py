"""What ``perfmodel validate`` prints of many rows: their errors, by group."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterable

    from rich.console import Console

    from perfmodel.interfaces.api.validate import Validation

STARTS = {
    "specs": "from specs alone",
    "anchored": "each from the time of one accelerator",
    "anchored-machine": "each from the time of one machine",
}


def show_training(answer: Validation[Any], by: tuple[str, ...], out_of_sample: bool) -> None:
    """Print errors of training runs, by group."""
    from rich.text import Text

    from perfmodel.interfaces.cli.render import console, table

    result: Any = answer.summary
    out = console()
    out.print(
        Text(
            f"{result['rows']} measured runs, {result['rows'] - result['refused']} predicted, "
            + STARTS[result["mode"]]
            + (", by a fit to all other sources" if out_of_sample else ", by the shipped fit")
        ),
        style="bold",
    )
    out.print(
        Text(
            f"error = predicted / measured - 1 of iteration time; + is too slow\n"
            f"mean: over runs; sources: over the means of sources; <20%: share of runs missed by less\n"
            f"naive: median error of {result['baseline_name']}; 80 %: share of runs inside that interval"
        )
    )
    columns = ("n", "mean", "median", "bias", "<20%", "naive", "80 %")
    overall = {"trust A and B": result}
    if result["ambiguous"]["n"]:
        overall |= {"ambiguous anchor": result["ambiguous"], "A and B with it": result["with_ambiguous"]}
    overall["trust C"] = result["trust_c"]
    groups = [("all", {name: group for name, group in overall.items() if group["n"]})]
    for name, shown in [*groups, *((name, result["by"][name]) for name in by)]:
        whole = name == "all"  # long names leave no room for another column
        rows = table(name, *columns[:2], *(["sources"] if whole else []), *columns[2:])
        if not shown:
            continue
        rows.padding = (0, 1, 0, 0)  # the longest strategy's name fits
        for key, group in shown.items():
            cells = _cells(group)
            of_sources = [_percent(group["mean_over_sources"])] if whole else []
            shares = [*cells[2:4], *cells[5:], _percent(group["coverage_80"])]
            rows.add_row(key, *cells[:2], *of_sources, *shares)
        out.print(rows)
    _show_refused(answer.reasons, out)
    if result["trust_d"]:
        out.print(Text(f"{result['trust_d']} runs of trust D are left out of every statistic"))


def _show_refused(reasons: Iterable[str | None], out: Console) -> None:
    from textwrap import fill

    from rich.text import Text

    from perfmodel.evidence.accuracy.report.error_statistics import refusals

    refused = refusals(reasons)
    if refused:
        out.print(Text("not predicted:"))
    for count, reason in refused:
        out.print(Text(fill(reason, out.width, initial_indent=f"{count:>6}  ", subsequent_indent=" " * 8)))


def _cells(group: dict[str, Any]) -> list[str]:
    return [
        str(group["n"]),
        _percent(group["mean_absolute_error"]),
        _percent(group["median_absolute_error"]),
        _percent(group["bias"], "+"),
        _percent(group["within_10"]),
        _percent(group["within_20"]),
        _percent(group["baseline"]["median_absolute_error"]),
    ]


def _percent(share: float | None, sign: str = "") -> str:
    """To a tenth below 100 %, so that a line of the table fits."""
    if share is None:
        return "-"
    return f"{share:{sign}.{1 if abs(share) < 0.9995 else 0}%}"


def show_collectives(answer: Validation[Any], by: tuple[str, ...], out_of_sample: bool) -> None:
    """Print errors of collectives, by part and group."""
    from rich.text import Text

    from perfmodel.interfaces.cli.render import console, table

    result: Any = answer.summary
    out = console()
    how = "each source by a fit to the others" if out_of_sample else "by the shipped fit"
    out.print(
        Text(f"{result['rows']} measured collectives, {result['refused']} not predicted, {how}"), style="bold"
    )
    out.print(Text("error = predicted / measured - 1 of the time; naive: median error of a nominal ring"))
    out.print(Text("80 %: share of rows inside that interval; rows of trust A and B"))
    for part, groups in result["nodes"].items():
        if not groups["all"]["n"]:
            continue
        shown = table(part, "n", "mean", "median", "bias", "<20%", "80 %", "naive")
        shown.padding = (0, 1, 0, 0)
        for name in by:
            for key, group in groups[name].items():
                shown.add_row(key, *_cells_with_coverage(group))
            shown.add_section()
        every = groups["all"]
        shown.add_row("all rows", *_cells_with_coverage(every))
        means = (every["mean_over_sources"], every["mean_of_medians"])
        held = _percent(every["coverage_80_over_sources"])
        shown.add_row(f"mean of {every['sources']} sources", "", *map(_percent, means), "", "", held, "")
        shown.add_row("median of sources", "", "", _percent(every["median_over_sources"]), *[""] * 4)
        out.print(shown)
    if (untrusted := result["untrusted"])["n"]:
        median = _percent(untrusted["median_absolute_error"])
        out.print(Text(f"rows of trust C, in no number above: {untrusted['n']}, median error {median}"))
    _show_refused(answer.reasons, out)


def _cells_with_coverage(group: dict[str, Any]) -> list[str]:
    return [
        str(group["n"]),
        _percent(group["mean_absolute_error"]),
        _percent(group["median_absolute_error"]),
        _percent(group["bias"], "+"),
        _percent(group["within_20"]),
        _percent(group["coverage_80"]),
        _percent(group["baseline"]["median_absolute_error"]),
    ]


def show_transformers(answer: Validation[Any], by: tuple[str, ...], out_of_sample: bool) -> None:
    """Print errors of transformers, by group, and what choosing layouts by prediction costs."""
    from rich.text import Text

    from perfmodel.evidence.accuracy.transformers.transformer_compare import STATED_NODES
    from perfmodel.interfaces.cli.render import console, table

    result: Any = answer.summary
    out = console()
    how = "from specs alone" if answer.mode == "specs" else "each from another run of its network and source"
    fit = "each source by a fit to the others" if out_of_sample else "by the shipped fit"
    head = f"{result['rows']} measured runs of transformers, {result['refused']} not predicted, {how}, {fit}"
    out.print(Text(head, style="bold"))
    out.print(Text("error = predicted / measured - 1 of iteration time; rows of trust A and B"))
    out.print(Text("naive: median error of one utilisation for all; 80 %: share inside that interval"))
    whole = {"all": result["all"], STATED_NODES: result[STATED_NODES]}
    for name, groups in (("", whole), *((name, result["by"][name]) for name in by)):
        shown = table(name, "n", "mean", "median", "bias", "<20%", "80 %", "naive")
        shown.padding = (0, 1, 0, 0)
        if not name:
            every = result["all"]
            means = _percent(every["mean_over_sources"]), _percent(every["coverage_80_over_sources"])
            shown.add_row(f"mean of {every['sources']} sources", "", means[0], "", "", "", means[1], "")
        for key, group in groups.items():
            shown.add_row(key, *_cells_with_coverage(group))
        out.print(shown)
    if answer.mode == "specs":
        for name, each in result["regret"].items():
            if each["groups"]:
                lost, worst, chance = map(_percent, (each["mean"], each["worst"], each["random"]))
                text = f"the layout predicted best costs {lost} (worst {worst}, a random one {chance})"
                out.print(Text(f"{name}: {text}, {each['groups']} groups"))
    if (other := result.get("as_stated")) is not None:
        every = other["all"]
        names = ("mean_over_sources", "mean_absolute_error", "median_absolute_error")
        sources, rows, median = (_percent(every[name]) for name in names)
        out.print(Text("vtrain-single is read as selective recomputation, though its rows say full;"))
        out.print(Text(f"as stated: mean of sources {sources}, mean of rows {rows}, median of rows {median}"))
    for stack, names in result["read_as_nearest"].items():
        called = ", ".join(f"{name}: {count} rows" for name, count in names.items())
        out.print(Text(f"not described, read as its nearest, {stack}, with wider intervals: {called}"))
    if by_rate := result["without_batch"]:
        out.print(Text(f"{by_rate} rows state neither batch nor step time: compared by rate, usual batch"))
    _show_refused(answer.reasons, out)


def show_mlperf(answer: Validation[Any]) -> None:
    """Print errors of times to train."""
    from rich.text import Text

    from perfmodel.interfaces.cli.render import console, table

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
            shares = map(_percent, (group.within_10, group.within_20))
            shown.add_row(name, str(group.n), *map(_percent, cells), _percent(group.bias, "+"), *shares)
    if answer.errors.n:
        out.print(shown)
    _show_refused(answer.reasons, out)


def show_claims(answer: Validation[Any]) -> None:
    """Print published claims beside what is predicted."""
    from rich.text import Text

    from perfmodel.interfaces.cli.render import console, table

    out = console()
    out.print(Text(f"{len(answer.rows)} published claims, from specs alone", style="bold"))
    out.print(Text("error = predicted / published - 1 of the time; + is too slow; none is fitted"))
    shown = table("claim", "published", "predicted", "80 % interval", "error")
    shown.padding = (0, 1, 0, 0)
    for row in answer.rows:
        shown.add_row(*row.cells())
    out.print(shown)
    mean = _percent(answer.errors.mean_absolute_error)
    held = _percent(answer.coverage_80)
    out.print(Text(f"mean error of {answer.errors.n}: {mean}; inside the 80 % interval: {held}"))
