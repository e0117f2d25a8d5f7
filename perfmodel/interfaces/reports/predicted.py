"""The page of one prediction."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from perfmodel.core.units import per_cent, show
from perfmodel.hardware.catalogue.store import Catalogue
from perfmodel.interfaces.reports.costs import cost_listing, cost_notes
from perfmodel.interfaces.reports.figures import (
    card_with,
    figures,
    interval_lines,
    notes_of,
    target_lines,
    term_rows,
)
from perfmodel.interfaces.reports.given import in_short
from perfmodel.interfaces.reports.page import Listing, Page, Shares, Span, Spans
from perfmodel.interfaces.reports.sources import sources_behind
from perfmodel.model.options.conditions import Conditions
from perfmodel.model.options.risk import PLANNING_CONFIDENCE
from perfmodel.model.prediction.result import Prediction


def page_of_prediction(
    prediction: Prediction,
    command: str | None,
    catalogue: Catalogue,
    conditions: Conditions,
    reached: dict[str, Any] | None = None,
    money: Mapping[str, Any] | None = None,
    confidence: float = PLANNING_CONFIDENCE,
) -> Page:
    """Return the page of a prediction.

    Parameters
    ----------
    command : shell command that repeats it, or None
    catalogue, conditions : of the prediction
    reached : result of ``time_to_target``, or None
    money : result of ``economics``, or None
    confidence : how sure to be of what the card plans with
    """
    time, interval = prediction.iteration_time, prediction.interval
    facts = [*interval_lines(prediction), *figures(prediction), *target_lines(reached)]
    tables = [Listing("In figures", ("", ""), facts, texts=2)]
    assumptions = [f"defaults taken: {', '.join(prediction.defaults)}"] if prediction.defaults else []
    notes = notes_of(prediction)
    if money is not None:
        tables.append(cost_listing(money))
        assumptions += money["assumed"]
        notes += cost_notes(money)
    charts: list[Shares | Spans] = [
        Shares(
            "Where the time goes",
            [
                (label, part / time, f"{show(part, 's')}, {per_cent(part / time)}")
                for label, part in term_rows(prediction)
            ],
        )
    ]
    if interval is not None:
        spans = [
            Span(f"{level} % interval", time, low, high, f"{show(low, 's')} to {show(high, 's')}")
            for level, low, high in (
                (80, interval.low_80, interval.high_80),
                (95, interval.low_95, interval.high_95),
            )
            if low is not None and high is not None
        ]
        charts.append(
            Spans("How sure it is", spans, f"Time of an iteration, from 0; the point is {show(time, 's')}.")
        )
    card = card_with(prediction, money, confidence)
    tables.insert(0, in_short(card))
    answer = [card.advice, f"{card.time}; {card.throughput}.", prediction.verdict]
    if not prediction.memory.fits:
        answer = [card.advice, f"It would take {card.time} if it did.", prediction.verdict]
    return Page(
        question=f"How long does an iteration take: {prediction.headline}?",
        answer=answer,
        charts=charts,
        tables=tables,
        assumptions=assumptions,
        notes=notes,
        sources=sources_behind([prediction.scenario], catalogue, conditions),
        command=command,
    )
