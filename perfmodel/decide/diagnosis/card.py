"""The answer card of a diagnosis: what to do first, how likely its cause is, and how slow the run is."""

from __future__ import annotations

from typing import Any

from perfmodel.core.units import percent, show, show_range
from perfmodel.decide.diagnosis.answer import DiagnosedCause, Diagnosis
from perfmodel.model.prediction.answer_card import Card


def with_card(limit: str, rests_on: str, **fields: Any) -> Diagnosis:
    """Return the diagnosis of these fields, with its card.

    Parameters
    ----------
    limit : what takes most of the predicted time, as text
    rests_on : what the interval was learned from, as text
    """
    made: Diagnosis = Diagnosis.model_construct(
        **fields,
        card=lambda: Card.model_construct(
            advice=_advice(made),
            machines=made.job,
            time=_time(made),
            chance=_chance(made),
            limit=limit,
            rests_on=rests_on,
        ),
    )
    return made


def likeliest(answer: Diagnosis) -> DiagnosedCause | None:
    """Return the cause that is likelier than that nothing is wrong or something without a name; else None."""
    first = answer.causes[0] if answer.causes else None
    return first if first and first.probability >= max(answer.normal, answer.unknown) else None


def _advice(answer: Diagnosis) -> str:
    """Return whether the speed is normal, the likeliest cause, and what to do first."""
    reached = f", {_bandwidths(answer)}" if answer.kind == "collective" else ""
    if answer.verdict == "fast":
        return f"Faster than predicted{reached}. Check that the job is stated as it ran."
    if answer.verdict == "normal":
        return f"Normal for this job{reached}: nothing says that something is wrong."
    cause = likeliest(answer)
    if cause is not None:
        return f"Slow{reached}; likeliest cause: {cause.words}. First: {cause.next}."
    other = "that nothing is wrong" if answer.normal > answer.unknown else "something that has no name here"
    first = f" First measure {answer.next[0].words}." if answer.next else ""
    return f"Slow{reached}; likelier than any one cause is {other}.{first}"


def _bandwidths(answer: Diagnosis) -> str:
    """Return the bus bandwidth of a listing's largest message, and what is predicted."""
    span = show_range(answer.low_80, answer.high_80, "B/s")
    size = show(max(row.message_bytes for row in answer.sizes), "B")
    measured, predicted = show(answer.measured, "B/s"), show(answer.predicted, "B/s")
    return f"{measured} at {size} where {predicted} are predicted (80 %: {span})"


def _time(answer: Diagnosis) -> str:
    """Return the iteration time of a training run against its interval; empty of a listing."""
    if answer.kind == "collective":
        return ""
    span = show_range(answer.low_80, answer.high_80, "s")
    return (
        f"{show(answer.measured, 's')} measured, {show(answer.predicted, 's')} predicted (80 %: {span}); "
        f"{among(answer.quantile)}"
    )


def among(quantile: float) -> str:
    """Return a run's place among such runs, of which a share is at least as fast.

    >>> among(0.9), among(0.001)
    ('slower than 90 % of such runs', 'faster than over 99 % of such runs')
    """
    order, share = ("slower", quantile) if quantile >= 0.5 else ("faster", 1 - quantile)
    return f"{order} than {percent(share)} of such runs"


def _chance(answer: Diagnosis) -> str:
    """Return the probabilities of the likeliest cause, of none, and of one that has no name."""
    first = [] if answer.verdict == "fast" else answer.causes[:1]
    return ", ".join(
        [
            f"{percent(answer.normal)} that nothing is wrong",
            *(f"{percent(each.probability)} {each.id} (the likeliest cause)" for each in first),
            f"{percent(answer.unknown)} something that has no name here",
        ]
    )
