"""The page of a search for layouts of a transformer."""

from __future__ import annotations

from perfmodel.core.units import per_cent, rate, show, without_rounding
from perfmodel.hardware.catalogue.store import Catalogue
from perfmodel.interfaces.api.layout_row import LayoutRow
from perfmodel.interfaces.api.layouts import SHOWN, Layouts
from perfmodel.interfaces.api.run_costs import options_of_layout
from perfmodel.interfaces.reports.costs import cost_listing, cost_notes
from perfmodel.interfaces.reports.figures import ruled_out_lines
from perfmodel.interfaces.reports.given import in_short
from perfmodel.interfaces.reports.layout_comparison import against_lines, full_name, tie_lines
from perfmodel.interfaces.reports.page import Listing, Page, Shares, Span, Spans
from perfmodel.interfaces.reports.sources import sources_behind
from perfmodel.model.options.conditions import Conditions
from perfmodel.model.prediction.memory_odds import short_verdict
from perfmodel.model.step.memory import listed
from perfmodel.model.step.terms import TERMS, sent
from perfmodel.model.transformers.flops import COUNTED
from perfmodel.model.transformers.grid import TOO_LARGE
from perfmodel.model.transformers.memory import Memory


def page_of_layouts(
    answer: Layouts,
    command: str | None,
    catalogue: Catalogue,
    most: int = SHOWN,
    conditions: Conditions | None = None,
) -> Page:
    """Return the page of a search for layouts.

    Parameters
    ----------
    command : shell command that repeats it, or None
    catalogue : of the search
    most : number of layouts to list, the fastest first
    conditions : prices, power and failures
    """
    taken, rows = answer.taken, answer.distinct()[:most]
    capacity = answer.capacity / 2**30
    ruled_out = "; ".join(line.strip() for line in ruled_out_lines(answer.ruled_out))
    tables = [
        in_short(answer.card),
        _listed([row for row, _ in rows], len(answer.distinct())),
        _memory(taken),
        *([] if answer.economics is None else [cost_listing(answer.economics)]),
        Listing("Degrees not tried", ("why", "layouts"), _untried(answer)),
        Listing(f"{taken.words} starts with", ("option",), [[flag] for flag in taken.flags]),
    ]
    notes = [
        *answer.notes,
        *(f"intervals are wider because {reason}" for reason in answer.wider_because),
        *(f"of the layout to take, {caveat}" for caveat in taken.caveats),
        f"{answer.fitting:,} of {answer.candidates:,} layouts fit into {capacity:.1f} GiB of each "
        "accelerator",
        *([ruled_out] if ruled_out else []),
        COUNTED,
    ]
    if answer.economics is not None:
        notes += cost_notes(answer.economics)
    if folded := sum(more for _, more in rows):
        notes.append(f"{folded:,} more take as long as one of these, and no less memory")
    return Page(
        question=f"Which layout trains {answer.workload} fastest on {answer.machine}?",
        answer=[
            answer.card.advice,
            f"{answer.card.time} a step, {rate(taken.tokens_per_second)} tokens/s; MFU {per_cent(taken.mfu)} "
            f"({per_cent(taken.mfu_nominal)} nominal).",
            *tie_lines(answer),
            *against_lines(answer),
        ],
        charts=[_times([row for row, _ in rows]), _terms(taken)],
        tables=[table for table in tables if table.rows],
        assumptions=[] if answer.economics is None else answer.economics["assumed"],
        notes=notes,
        sources=sources_behind(
            [options_of_layout(taken.layout, answer.question)], catalogue, conditions or Conditions()
        ),
        command=command,
    )


def _listed(rows: list[LayoutRow], whole: int) -> Listing:
    """Return a table of layouts."""
    of = "" if len(rows) == whole else f" ({len(rows)} of {whole:,} that differ in time)"
    columns = (
        "layout, micro-batch x passes",
        "step",
        "at 80 %",
        "over the first's, 80 %",
        "MFU",
        "nominal",
        "HFU",
        "GiB",
        "fits",
        "idle",
        "exposed",
    )
    return Listing(
        f"The fastest layouts that fit{of}",
        columns,
        [
            [
                full_name(row),
                show(row.iteration_time, "s"),
                f"{show(row.interval['low_80'], 's')} to {show(row.interval['high_80'], 's')}",
                _over_first(row),
                per_cent(row.mfu),
                per_cent(row.mfu_nominal),
                per_cent(row.hfu),
                f"{row.memory['bytes'] / 2**30:.1f}",
                short_verdict(row.memory["fits_probability"]),
                per_cent(row.bubble_fraction),
                per_cent(sent(row.terms) / row.iteration_time),
            ]
            for row in rows
        ],
    )


def _over_first(row: LayoutRow) -> str:
    """Return the interval of a layout's time over the first's, and whether they tie."""
    if row.slower_than_first is None:
        return "the first"
    low, high = (f"{row.time_ratio[end]:.2f}" for end in ("low_80", "high_80"))
    return f"{low} to {high}" + ", a tie" * row.ties_with_first


def _memory(row: LayoutRow) -> Listing:
    """Return a table of the memory of a layout by use."""
    uses = {name: row.memory[name] for name in Memory._fields}
    return Listing(
        f"Memory of {row.words}, on its fullest accelerator",
        ("", "GiB"),
        [[label, f"{size / 2**30:.2f}"] for label, size in listed(uses)],
    )


def _untried(answer: Layouts) -> list[list[str]]:
    """Return rows with the reasons why layouts were not tried, and their number."""
    return [[reason, f"{count:,}"] for reason, count in answer.rejected.items() if reason != TOO_LARGE]


def _times(rows: list[LayoutRow]) -> Spans:
    """Return a chart of the step times of layouts with their intervals."""
    spans = [
        Span(
            full_name(row),
            row.iteration_time,
            row.interval["low_80"],
            row.interval["high_80"],
            f"{show(row.iteration_time, 's')}, MFU {per_cent(row.mfu)}",
        )
        for row in rows
    ]
    return Spans("How long a step takes", spans, "Time of a step with its 80 % interval, from 0.")


def _terms(row: LayoutRow) -> Shares:
    """Return a chart of the terms of a layout's step."""
    time = row.iteration_time
    return Shares(
        f"Where the time of {row.words} goes",
        [
            (TERMS[name].label, part / time, f"{show(part, 's')}, {per_cent(part / time)}")
            for name, part in row.terms.items()
            if without_rounding(part, time)
        ],
    )
