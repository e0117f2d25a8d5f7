"""The answer card of a search for layouts."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from perfmodel.core.sentences import interval_80
from perfmodel.core.units import per_cent, percent, show
from perfmodel.interfaces.api.layout_row import LayoutRow
from perfmodel.interfaces.api.layout_ties import SAME_TIME, Ties
from perfmodel.model.prediction import Prediction
from perfmodel.model.prediction.answer_card import Card
from perfmodel.model.prediction.layout_order import NEARLY
from perfmodel.model.prediction.memory_odds import CERTAIN, verdict
from perfmodel.model.transformers.layout_words import difference, in_full


def card_of_layouts(
    ties: Ties,
    first: LayoutRow,
    fitting: int,
    next_slower: float | None,
    prediction: Prediction,
    money: Mapping[str, Any] | None,
) -> Card:
    """Return the answer card of a search: which layout to take, and how likely it is the fastest.

    Parameters
    ----------
    ties : layouts that tie with the first, and the one to take
    first, fitting : the fastest layout, and how many fit
    next_slower : probability that the second layout is slower than the first; None without a second
    prediction : of the layout to take
    money : result of ``economics`` for it, or None
    """
    from perfmodel.interfaces.reports.figures import card_with

    card = card_with(prediction, money)
    update = {
        "advice": _advice(ties, first),
        "chance": _chance(ties, fitting, next_slower),
        "machines": card.machines.replace(f"; {ties.preferred.words}", ""),  # the advice spells it
    }
    return with_amounts(card.model_copy(update=update))


def with_amounts(card: Card) -> Card:
    """Return a card whose advice begins with the time and the cost of the run where they are known.

    >>> card = Card(advice="Take tensor 4.", run="20.2 days (80 %: 15 days to 27 days)", cost="$2 an hour")
    >>> with_amounts(card).advice
    'Expect 20.2 days: take tensor 4.'
    """
    amounts = [text.partition(" (")[0] for text in (card.run, card.cost) if " (" in text]
    if not card.run or not amounts or not card.advice.startswith("Take "):
        return card
    return card.model_copy(
        update={"advice": f"Expect {' and '.join(amounts)}: take {card.advice.removeprefix('Take ')}"}
    )


def _advice(ties: Ties, first: LayoutRow) -> str:
    """Return which layout to take, and why it is not the fastest where it is not."""
    row, start = ties.preferred, "Take"
    if row.memory["fits_probability"] < CERTAIN:
        start = f"It {verdict(row.memory['fits_probability'])}; if it does, take"
    low, high = row.interval["low_80"], row.interval["high_80"]
    step = f"{show(row.iteration_time, 's')} a step ({interval_80(low, high, 's')})"
    least, most = (per_cent(row.mfu * row.iteration_time / end) for end in (high, low))
    words = (
        f"{start} {in_full(row.layout)}: {step}, at an MFU of {per_cent(row.mfu)} (80 %: {least} to {most})."
    )
    if row.slower_than_first is None:
        return words
    slower = row.time_ratio["value"] - 1
    less = "as long" if slower < SAME_TIME else f"{per_cent(slower / (1 + slower))} less"
    fits = first.memory["fits_probability"]
    if fits < ties.confidence:
        why = f": it fits with only {percent(fits)}, not {percent(ties.confidence)}"
    else:
        near = "its error" if row.ties_with_first else percent(NEARLY - 1)
        why = f"; this one is within {near}, and simpler"
    return (
        f"{words} The fastest, with {difference(row.layout, first.layout)}, takes "
        f"{show(first.iteration_time, 's')}, {less}{why}."
    )


def _chance(ties: Ties, fitting: int, next_slower: float | None) -> str:
    """Return how likely the layout to take is the fastest, and how many tie with the first."""
    row = ties.preferred
    if row.slower_than_first is not None:
        likely = percent(1 - row.slower_than_first)
        faster = f"{likely} that it is faster than the layout predicted fastest"
    elif next_slower is not None:
        faster = f"{percent(next_slower)} that it is faster than the next"
    else:
        return "no other layout fits"
    if ties.layouts == 1:
        return f"{faster}; no other layout that fits is too close to tell (80 %)"
    return f"{faster}; {ties.layouts:,} of {fitting:,} that fit are too close to tell (80 %)"
