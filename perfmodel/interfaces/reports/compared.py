"""The page of a comparison."""

from __future__ import annotations

from collections.abc import Sequence

from perfmodel.decide.comparison import Comparison
from perfmodel.decide.comparison.comparison_words import (
    ALIKE,
    is_alike,
    label,
    shown,
    shown_input,
    shown_percent,
    speed_axis,
)
from perfmodel.hardware.catalogue.store import Catalogue
from perfmodel.interfaces.reports.given import in_short
from perfmodel.interfaces.reports.page import Listing, Page, Span, Spans
from perfmodel.interfaces.reports.sources import sources_behind
from perfmodel.model.options.conditions import Conditions


def page_of_comparison(
    result: Comparison, command: str | None, catalogue: Catalogue, conditions: Sequence[Conditions]
) -> Page:
    """Return the page of a comparison.

    Parameters
    ----------
    command : shell command that repeats it, or None
    catalogue : of the comparison
    conditions : of each case
    """
    tables = [in_short(result.card)]
    if result.inputs:
        inputs = [[entry.option, *map(shown_input, entry.values)] for entry in result.inputs]
        tables.append(Listing("What differs", ("option", *result.names), inputs, texts=1 + len(result.names)))
    columns = ["", result.names[0]]
    for index, name in enumerate(result.names[1:], 1):
        columns += [f"{name}{ALIKE}"] if is_alike(result, index) else [name, "change"]
    rows = []
    for row in result.rows:
        cells = [label(row).strip(), shown(row.values[0], row.unit)]
        for index in range(1, len(result.names)):
            cells.append(shown(row.values[index], row.unit))
            cells += [] if is_alike(result, index) else [shown_percent(row.relative[index])]
        rows.append(cells)
    tables.append(Listing("Side by side", columns, rows))
    return Page(
        question=f"Which {_better(result)}: {', '.join(result.names[:-1])} or {result.names[-1]}?",
        answer=[result.card.advice],
        charts=_ratios(result),
        tables=tables,
        assumptions=[
            f"defaults taken by {case.name}: {', '.join(case.defaults)}"
            for case in result.cases
            if case.defaults
        ],
        notes=result.notes,
        sources=sources_behind(result.scenarios, catalogue, conditions),
        command=command,
    )


def _better(result: Comparison) -> str:
    """Return what is asked of the cases: their cost, where conditions alone differ, else their speed."""
    options = {entry.option for entry in result.inputs}
    return "costs less" if options and options <= Conditions.model_fields.keys() else "is faster"


def _ratios(result: Comparison) -> list[Spans]:
    """Return a chart of the speed of each case compared with the first; none where there are no ratios."""
    spans = [
        Span(
            case.name,
            case.ratio.value,
            case.ratio.low_80,
            case.ratio.high_80,
            case.ratio.words,
        )
        for case in result.cases
        if case.ratio is not None
    ]
    if not spans:
        return []
    first, axis = result.names[0], speed_axis(result)
    return [
        Spans(
            f"How fast, as a multiple of {first}",
            [Span(first, 1.0, None, None, "1 x"), *spans],
            f"With 80 % intervals; the line is {first}, 1 x.",
            line=1.0,
            logarithmic=axis.is_logarithmic,
            ends=(axis.low, axis.high),
        )
    ]
