"""The page of whether a job fits into memory."""

from __future__ import annotations

from perfmodel.core.records.options import Described
from perfmodel.core.sentences import capitalised
from perfmodel.core.units import show
from perfmodel.decide.fits.answer import Fits
from perfmodel.decide.fits.listing import changes_title, largest_words, shown_places, started_words
from perfmodel.decide.fits.words import cost_words, other_training
from perfmodel.hardware.catalogue.store import Catalogue
from perfmodel.interfaces.reports.given import given, in_short
from perfmodel.interfaces.reports.page import Listing, Page, Span, Spans
from perfmodel.interfaces.reports.sources import sources_behind
from perfmodel.model.options.conditions import Conditions
from perfmodel.model.options.scenario import Scenario
from perfmodel.model.prediction.memory_odds import short_verdict
from perfmodel.model.step.memory import listed


def page_of_fits(
    answer: Fits,
    command: str | None,
    catalogue: Catalogue,
    request: Described | None = None,
    scenario: Scenario | None = None,
) -> Page:
    """Return the page of whether a job fits.

    Parameters
    ----------
    command : shell command that repeats it, or None
    catalogue : hardware
    request : what was given, or None
    scenario : the job, for its sources; or None
    """
    fullest = max(answer.places, key=lambda place: place.bytes)
    memory = [(label, f"{size / 2**30:.1f} GiB") for label, size in listed(fullest.rows)]
    tables = [in_short(answer.card), *given(request), Listing("Memory of the fullest GPU", ("", ""), memory)]
    if answer.changes:
        rows = [
            (
                change.words,
                "; ".join(
                    (*([] if change.same_training else [other_training(change.options)]), *change.warnings)
                ),
                show(change.iteration_time, "s"),
                cost_words(change.slowdown),
                f"{change.bytes / 2**30:.1f} GiB",
                short_verdict(change.fits_probability),
            )
            for change in answer.changes
        ]
        heading = changes_title(answer)
        columns = ("change", "but", "step", "cost", "memory", "fits")
        tables.append(Listing(capitalised(heading), columns, rows, texts=2))
    started, starts = started_words(answer)
    if lines := starts.get(answer.software):
        tables.append(Listing(f"{answer.software} starts {started} with", ("",), [(line,) for line in lines]))
    spans = [
        Span(place.name, place.bytes, None, None, f"{place.bytes / 2**30:.1f} GiB")
        for place in shown_places(answer)
    ]
    low, high = (f"{end / 2**30:.1f}" for end in (answer.low_80, answer.high_80))
    spans.append(Span("80 % interval", answer.bytes, answer.low_80, answer.high_80, f"{low} to {high} GiB"))
    end = f"{answer.capacity / 2**30:.1f} GiB"
    sources = []
    if scenario is not None:
        sources = sources_behind([scenario.model_dump(exclude_unset=True)], catalogue, Conditions())
    return Page(
        question=f"Does it fit: {answer.headline}?",
        answer=[answer.card.advice, f"Largest micro-batch: {largest_words(answer)}."],
        charts=[
            Spans(
                "Memory", spans, f"From 0; the line is what a program can use, {end}.", line=answer.capacity
            )
        ],
        tables=tables,
        assumptions=[f"defaults taken: {', '.join(answer.defaults)}"] if answer.defaults else [],
        notes=answer.warnings,
        sources=sources,
        command=command,
    )
