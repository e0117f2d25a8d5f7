"""The answer card of a scaling table: up to how many accelerators it pays, how fast, how sure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from perfmodel.core.units import counted, per_cent, percent, three_digits
from perfmodel.model.prediction import card as prediction_card
from perfmodel.model.prediction.answer_card import Card
from perfmodel.model.prediction.card import is_too_wide, samples_per_second, throughput_range
from perfmodel.model.prediction.intervals.ratio import ratio_between
from perfmodel.model.prediction.result import Prediction
from perfmodel.model.prediction.speed_words import SAME, range_words

PAYS = 0.5
"""Least throughput that a further accelerator adds, as a share of that of one alone, at which it pays."""
NOTHING = 0.005
"""Such a share that counts as nothing."""


def card_of_scaling(
    predictions: Sequence[Prediction], others: Mapping[str, Sequence[Prediction]] = {}
) -> Card:
    """Return the answer card of the same job on different numbers of accelerators.

    Parameters
    ----------
    predictions : of the job, in rising numbers of accelerators
    others : name -> predictions of other jobs on the same numbers

    Examples
    --------
    >>> from perfmodel import predict
    >>> card_of_scaling([predict(gpus=gpus) for gpus in (8, 16)]).advice.partition(":")[0]
    'It pays up to 16 GPUs, the most tried'
    """
    first, most = predictions[0], up_to(predictions)
    of_most = prediction_card.card_of(most)
    chance = f"{gpus(most)}: {ratio_between(most, first, gpus(first)).sentence}" if most is not first else ""
    return Card.model_construct(
        advice=_advice(predictions, most, others),
        machines=of_most.machines,
        time=of_most.time,
        chance=chance,
        memory=of_most.memory,
        limit=of_most.limit,
        rests_on=of_most.rests_on,
    )


def gpus(prediction: Prediction) -> str:
    """Return the number of accelerators of a prediction, as text."""
    return counted(prediction.scenario["world_size"], "GPU")


def added_share(before: Prediction, after: Prediction) -> float:
    """Return the throughput that each further accelerator adds, as a share of that of one alone.

    Of two, the second adds 1.93 - 1 of one alone.

    >>> from perfmodel import predict
    >>> round(added_share(*(predict(gpus=gpus) for gpus in (1, 2))), 2)
    0.93
    """
    more = after.scenario["world_size"] - before.scenario["world_size"]
    alone = after.samples_per_second / (after.scaling_efficiency * after.scenario["world_size"])
    return float((after.samples_per_second - before.samples_per_second) / (more * alone))


def up_to(predictions: Sequence[Prediction]) -> Prediction:
    """Return the prediction on the most accelerators that pay; the last one where none fits.

    More pay where each adds at least ``PAYS`` over the most that paid before: the step from one machine to
    two costs once.
    """
    fitting = [each for each in predictions if each.memory.fits]
    most = fitting[0] if fitting else predictions[-1]
    for each in fitting[1:]:
        if added_share(most, each) >= PAYS:
            most = each
    return most


def _advice(
    predictions: Sequence[Prediction], most: Prediction, others: Mapping[str, Sequence[Prediction]]
) -> str:
    """Return up to how many accelerators it pays, the throughput there, and what each other job gives."""
    if not most.memory.fits:
        return f"On {gpus(most)} it {most.memory.verdict}."
    speed = f"{samples_per_second(most, most.samples_per_second)}{_span(throughput_range(most))}"
    beyond = predictions[[each is most for each in predictions].index(True) + 1 :]
    asked = "" if beyond else ", the most tried"
    start = f"On {gpus(most)}" if len(predictions) == 1 else f"It pays up to {gpus(most)}{asked}"
    lines = [f"{start}: {speed}, {per_cent(most.scaling_efficiency, 0)} of linear scaling."]
    if beyond:
        lines.append(_further(most, beyond[0]))
    for name, rows in others.items():
        at_same = [each for each in rows if each.scenario["world_size"] == most.scenario["world_size"]]
        lines += [f"{_gain(name, each, most)}." for each in at_same]
    if is_too_wide(most):
        lines.append("This is too wide to plan with: measure first.")
    return " ".join(lines)


def _further(most: Prediction, after: Prediction) -> str:
    """Return what accelerators beyond the most that pay would add, in a sentence."""
    if not after.memory.fits:
        return f"On {gpus(after)} it {after.memory.verdict}."
    share = added_share(most, after)
    adds = "nothing" if share < NOTHING else f"{percent(share)} of what one alone does"
    return f"From there to {gpus(after)} each further one adds {adds}."


def _span(rates: tuple[float, float] | None) -> str:
    return "" if rates is None else f" (80 %: {' to '.join(map(three_digits, rates))})"


def _gain(name: str, other: Prediction, own: Prediction) -> str:
    """Return what another job gives in place of the own one, and whether that is certain."""
    if not other.memory.fits:
        return f"{name} {other.memory.verdict}"
    ratio = ratio_between(other, own, name)
    if abs(ratio.value - 1) < SAME:
        return f"{name} is about as fast{range_words(ratio)}"
    speed = samples_per_second(other, other.samples_per_second)
    words = (
        f"{name} gives {speed}, {per_cent(abs(ratio.value - 1), 0)} {'more' if ratio.value > 1 else 'less'}"
    )
    if ratio.low_80 is None or ratio.high_80 is None:
        return words
    return f"{words}, within the uncertainty" if ratio.low_80 <= 1 <= ratio.high_80 else words
