"""The page of a diagnosis, and its tables as every interface has them."""

from __future__ import annotations

from perfmodel.core.records.options import Described
from perfmodel.core.units import percent, show, show_range
from perfmodel.decide.diagnosis.answer import Diagnosis
from perfmodel.decide.diagnosis.card import own_error, with_cause
from perfmodel.decide.diagnosis.chances import listed, shares
from perfmodel.decide.diagnosis.first_action import pointers
from perfmodel.hardware.catalogue.store import Catalogue
from perfmodel.interfaces.reports.given import given, in_short
from perfmodel.interfaces.reports.page import Listing, Page, Span, Spans
from perfmodel.interfaces.reports.sources import sources_behind
from perfmodel.model.options.conditions import Conditions
from perfmodel.model.options.scenario import Scenario
from perfmodel.model.step.terms import TERMS

DRAWN = 24
"""Most message sizes in the chart; of more, every second, and so on."""


def sizes(answer: Diagnosis) -> Listing:
    """Return the message sizes of a listing as a table."""
    rows = [
        (
            show(row.message_bytes, "B"),
            show(row.measured_time, "s"),
            show_range(row.low_80, row.high_80, "s"),
            show(row.measured_bus_bandwidth, "B/s"),
            show(row.predicted_bus_bandwidth, "B/s"),
            f"{100 * row.ratio:.0f} %",
            row.verdict,
        )
        for row in answer.sizes
    ]
    columns = ("size", "time", "80 % interval", "busbw", "predicted", "of it", "")
    return Listing("Each message size", columns, rows, texts=0)


def terms(answer: Diagnosis) -> Listing:
    """Return the terms of the iteration as a table: what each would have to take, those that could first."""
    named = {cause.id: cause.name for cause in answer.causes}
    rows = [
        (
            TERMS[term.name].label,
            show(term.time, "s"),
            show(term.needed, "s"),
            show(term.reached, "s") if term.by else "-",
            f"{named[term.by]}{'' if term.plausible else ', not enough'}" if term.by else "no cause",
        )
        for term in sorted(answer.terms, key=lambda each: not each.plausible)
    ]
    heading = (
        f"Each term of the iteration: what it needed to explain the {show(answer.measured, 's')} alone, and "
        "what it takes at most with a cause"
    )
    return Listing(heading, ("term", "predicted", "needed", "at most", "with"), rows)


def heading_of_causes(answer: Diagnosis) -> str:
    """Return what stands over what may be the case."""
    return "Is something wrong?" if answer.verdict == "normal" else "Likely causes"


def causes(answer: Diagnosis) -> Listing:
    """Return what may be the case as a table, with probabilities that sum to 1, and what to try."""
    rows = []
    for share, what in shares(answer, len(answer.causes)):
        if isinstance(what, str):
            rows.append((what, "", "", percent(share)))
        else:
            rows.append((f"{what.words} ({what.change})", with_cause(what), what.next, percent(share)))
    columns = ("cause", "what it would mean", "what to try", "probability")
    return Listing(heading_of_causes(answer), columns, rows, texts=3)


NEXT = "What to measure next"


def next_steps(answer: Diagnosis) -> Listing:
    """Return what to measure next as a table: a row for each time, and the causes that it points to."""
    rows = [
        ("" if index else each.words, time, causes)
        for each in answer.next
        for index, (time, causes) in enumerate(pointers(each.expected, answer))
    ]
    value = "iteration time" if answer.kind == "training" else "bus bandwidth"
    return Listing(NEXT, ("run", value, "points to"), rows, texts=3)


def similar(answer: Diagnosis) -> Listing:
    """Return published runs or listings like it as a table."""
    is_run = answer.kind == "training"
    rows = [
        (show(each.value, "s" if is_run else "B/s"), each.words, each.software or "", each.title)
        for each in answer.similar
    ]
    heading = "Published runs like it" if is_run else "Published listings"
    columns = "for this job" if is_run else "bus bandwidth", "what was measured", "software", "source"
    return Listing(heading, columns, rows, texts=4)


def page_of_diagnosis(
    answer: Diagnosis,
    command: str | None,
    catalogue: Catalogue,
    request: Described | None = None,
    scenario: Scenario | None = None,
) -> Page:
    """Return the page of a diagnosis.

    Parameters
    ----------
    command : shell command that repeats it, or None
    catalogue : hardware
    request : what was given, or None
    scenario : of a training run, the job, for its sources; or None
    """
    is_run = answer.kind == "training"
    tables = [in_short(answer.card), *given(request), terms(answer) if is_run else sizes(answer)]
    tables += [table for table in (causes(answer), next_steps(answer), similar(answer)) if table.rows]
    sources = [answer.card.rests_on]
    if is_run and scenario is not None:
        sources = sources_behind([scenario.model_dump(exclude_unset=True)], catalogue, Conditions())
    return Page(
        question=f"Is it normal: {answer.job}?",
        answer=[answer.card.advice, f"Measured: {answer.reading}."],
        charts=[_in_interval(answer) if is_run else _over_sizes(answer)],
        tables=tables,
        assumptions=[f"defaults taken: {', '.join(answer.defaults)}"] if answer.defaults else [],
        notes=[*filter(None, (answer.above_ports, own_error(answer))), *answer.notes],
        sources=[*sources, *dict.fromkeys(each.title for each in answer.similar)],
        command=command,
    )


def _in_interval(answer: Diagnosis) -> Spans:
    """Return a chart of the measured time in the predicted interval, and with the likeliest causes."""
    low, high = answer.low_80, answer.high_80
    spans = [
        Span("predicted", answer.predicted, low, high, show_range(low, high, "s"), mark=answer.measured),
        *(
            Span(f"with {cause.name}", cause.predicted_time, None, None, show(cause.predicted_time, "s"))
            for cause in listed(answer, 4)
        ),
    ]
    caption = (
        f"Time of an iteration, from 0: the point is predicted, its bar the 80 % interval, the red mark (a "
        f"diamond in text) the {show(answer.measured, 's')} measured."
    )
    return Spans("Measured against predicted", spans, caption)


def _over_sizes(answer: Diagnosis) -> Spans:
    """Return a chart of the measured bus bandwidth of each size in the predicted interval."""
    spans = []
    for row in answer.sizes[::-1][:: -(-len(answer.sizes) // DRAWN)][::-1]:
        moved = row.predicted_bus_bandwidth * row.predicted_time
        ends = moved / row.high_80, moved / row.low_80
        words = f"{show(row.measured_bus_bandwidth, 'B/s')}, {row.verdict}"
        size = show(row.message_bytes, "B")
        spans.append(Span(size, row.predicted_bus_bandwidth, *ends, words, mark=row.measured_bus_bandwidth))
    caption = (
        "Bus bandwidth, equal steps are equal factors: the point is predicted, its bar the 80 % interval, "
        "the red mark (a diamond in text) measured."
    )
    return Spans("Measured against predicted", spans, caption, logarithmic=True)
