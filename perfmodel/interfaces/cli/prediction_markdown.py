"""One prediction as Markdown, to paste into a proposal or a review."""

from __future__ import annotations

from typing import Any

from perfmodel.core.files.tables import markdown_table
from perfmodel.core.units import per_cent, show
from perfmodel.interfaces.cli.card_markdown import card_markdown
from perfmodel.interfaces.reports.figures import (
    cost_rows,
    figures,
    interval_lines,
    notes_of,
    target_lines,
    term_rows,
)
from perfmodel.model.prediction.answer_card import Card
from perfmodel.model.prediction.result import Prediction


def prediction_markdown(
    prediction: Prediction,
    card: Card,
    reached: dict[str, Any] | None = None,
    money: dict[str, Any] | None = None,
) -> str:
    """Return a prediction as Markdown, with its time to a target and its costs if given."""
    whole = prediction.iteration_time
    terms = [
        {"iteration": label, "time": show(time, "s"), "share": per_cent(time / whole)}
        for label, time in term_rows(prediction)
    ]
    terms.append({"iteration": "iteration time", "time": show(whole, "s"), "share": "100.0 %"})
    report = [*interval_lines(prediction), *figures(prediction), *target_lines(reached)]
    facts = [{"figure": label, "value": value} for label, value in report]
    heading = [f"**{prediction.headline}**", card_markdown(card)]
    parts = [
        *(heading if prediction.memory.fits else reversed(heading)),
        markdown_table(terms),
        markdown_table(facts),
    ]
    if money is not None:
        parts.append(markdown_table(cost_rows(money)))
        if money["price"]:
            from perfmodel.decide.prices import Price, price_words

            parts.append(f"Price: {price_words(Price(**money['price']))}")
    parts.append(prediction.verdict)
    if prediction.defaults:
        parts.append("Defaults taken: " + ", ".join(f"`{option}`" for option in prediction.defaults))
    parts += [f"Note: {warning}" for warning in notes_of(prediction)]
    if money is not None:
        parts += [f"Assumed: {line}" for line in money["assumed"]]
        parts += [f"Unknown: {line}" for line in money["unknown"]]
    return "\n\n".join(part.rstrip() for part in parts)
