"""The page of a comparison."""

from __future__ import annotations

from collections.abc import Sequence

from perfmodel.decide.comparison import Comparison
from perfmodel.decide.comparison.comparison_words import label, shown, shown_input, shown_percent
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
    first, *others = result.names
    tables = [in_short(result.card)]
    if result.inputs:
        inputs = [[entry.option, *map(shown_input, entry.values)] for entry in result.inputs]
        tables.append(Listing("What differs", ("option", *result.names), inputs, texts=1 + len(result.names)))
    rows = []
    for row in result.rows:
        cells = [shown(value, row.unit) for value in row.values]
        changes = [shown_percent(change) for change in row.relative[1:]]
        rows.append(
            [
                label(row).strip(),
                cells[0],
                *(cell for pair in zip(cells[1:], changes, strict=True) for cell in pair),
            ]
        )
    columns = ("", first, *(name for other in others for name in (other, "change")))
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
    heading = f"How fast, as a multiple of {result.names[0]}"
    return [
        Spans(heading, spans, f"From 0, with 80 % intervals; the line is {result.names[0]}, 1.", line=1.0)
    ]
