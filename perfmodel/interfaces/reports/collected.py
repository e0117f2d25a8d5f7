"""The page of a collective, of one message size or of several."""

from __future__ import annotations

from perfmodel.core.records.options import Described
from perfmodel.core.sentences import capitalised
from perfmodel.core.units import show
from perfmodel.interfaces.reports.given import given
from perfmodel.interfaces.reports.page import Listing, Page, Span, Spans
from perfmodel.model.prediction.collectives.by_size import Collectives
from perfmodel.model.prediction.collectives.collective import Collective
from perfmodel.model.prediction.collectives.measured_collective import MeasuredCollective, verdict_on_listing


def page_of_collective(
    answer: Collective | Collectives, command: str | None, request: Described | None = None
) -> Page:
    """Return the page of a collective.

    Parameters
    ----------
    command : shell command that repeats it, or None
    request : what was given, or None
    """
    rows = answer.rows if isinstance(answer, Collectives) else (answer,)
    first, last = rows[0], rows[-1]
    measured = [row for row in rows if isinstance(row, MeasuredCollective)]
    verdict = verdict_on_listing(measured)
    reasons = [] if last.interval is None else last.interval.wider_because
    limits = dict.fromkeys(row.network_limit for row in rows if row.network_limit)
    return Page(
        question=f"How long does {first.collective} take over {first.group_size} ranks {first.where}?",
        answer=[_said(last), *([f"{capitalised(verdict)}."] if verdict else [])],
        charts=[_over_sizes(rows)],
        tables=[*given(request), _table(rows), *([_after(measured)] if measured else [])],
        assumptions=first.warnings,
        notes=[
            *(f"what binds is {limit}" for limit in limits),
            *(f"interval wider because: {reason}" for reason in reasons),
        ],
        sources=["data sheets and a fit to published listings"],
        command=command,
    )


def _said(row: Collective) -> str:
    """Return what the largest message takes as a sentence."""
    ends = f" (80 %: {row.interval_text})" if row.interval_text else ""
    rate = show(row.bus_bandwidth, "B/s")
    size, time = show(row.message_bytes, "B"), show(row.time, "s")
    return f"{size} take {time}{ends} by {row.way}, at a bus bandwidth of {rate}."


def _table(rows: tuple[Collective, ...]) -> Listing:
    """Return a row for each message size."""
    cells = [
        (
            show(row.message_bytes, "B"),
            show(row.time, "s"),
            row.interval_text or "-",
            row.way,
            show(row.bus_bandwidth, "B/s"),
            show(row.lower_bound, "s"),
            f"{row.runner_up.way} {show(row.runner_up.time, 's')}" if row.runner_up else "-",
        )
        for row in rows
    ]
    columns = ("size", "time", "80 % interval", "algorithm", "bus bandwidth", "lower bound", "runner-up")
    return Listing("Each message size", columns, cells, texts=0)


def _after(rows: list[MeasuredCollective]) -> Listing:
    """Return what a listing says of each message size."""
    cells = [
        (
            show(row.message_bytes, "B"),
            row.measured_text,
            row.measured_bus_text,
            row.after_text,
            row.measured_verdict or "-",
        )
        for row in rows
    ]
    columns = ("size", "measured", "bus bandwidth", "80 % after it", "verdict")
    return Listing("With the listing", columns, cells, texts=0)


def _over_sizes(rows: tuple[Collective, ...]) -> Spans:
    """Return a chart of the time of each message size with its interval, and what was measured."""
    spans = []
    for row in rows:
        low, high = (row.interval.low_80, row.interval.high_80) if row.interval else (None, None)
        mark = row.measured_time if isinstance(row, MeasuredCollective) else None
        spans.append(Span(show(row.message_bytes, "B"), row.time, low, high, show(row.time, "s"), mark=mark))
    caption = "Time, equal steps are equal factors, with 80 % intervals"
    marked = any(span.mark is not None for span in spans)
    caption += "; the red mark (a diamond in text) is measured." if marked else "."
    return Spans("Time by message size", spans, caption, logarithmic=True)
