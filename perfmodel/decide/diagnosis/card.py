"""What a diagnosis says: its verdict, its sentence and its card, all by one rule.

The verdict follows from where the measurement lies and from what is likeliest: that nothing is wrong, one of
the causes, or something that no cause names.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from perfmodel.core.units import percent, show, show_range
from perfmodel.decide.diagnosis.answer import DiagnosedCause, Diagnosis, Pace, Verdict
from perfmodel.model.prediction.answer_card import Card


def verdict_of(pace: Pace, normal: float, unknown: float, causes: Sequence[float]) -> Verdict:
    """Return the verdict about a measurement.

    Parameters
    ----------
    pace : where it lies
    normal, unknown, causes : probabilities that nothing is wrong, of something that no cause names, and of
        the causes

    Examples
    --------
    >>> verdict_of("slow", 0.2, 0.1, [0.4, 0.3]), verdict_of("slow", 0.34, 0.1, [0.3, 0.26])
    ('slow', 'unclear')
    """
    if pace == "fast":
        return "fast"
    nothing = normal >= max(unknown, *causes, 0.0)
    return pace if nothing == (pace == "normal") else "unclear"


def with_card(limit: str, rests_on: str, pace: Pace, **fields: Any) -> Diagnosis:
    """Return the diagnosis of these fields, with its verdict, its sentence and its card.

    Parameters
    ----------
    limit : what takes most of the predicted time, as text
    rests_on : what the interval was learned from, as text
    pace : where the measurement lies
    """
    odds = [cause.probability for cause in fields["causes"]]
    made: Diagnosis = Diagnosis.model_construct(
        **fields,
        verdict=verdict_of(pace, fields["normal"], fields["unknown"], odds),
        sentence=lambda: f"{_conclusion(made)} ({_reached(made)})",
        card=lambda: Card.model_construct(
            advice=_advice(made),
            machines=made.job,
            time="" if made.kind == "collective" else _reached(made),
            chance=_chance(made),
            limit=limit,
            rests_on=rests_on,
        ),
    )
    return made


def likeliest(answer: Diagnosis) -> DiagnosedCause | None:
    """Return the cause that is likelier than that nothing is wrong or something without a name; else None."""
    first = answer.causes[0] if answer.causes else None
    return first if first and first.probability > max(answer.normal, answer.unknown) else None


def _conclusion(answer: Diagnosis) -> str:
    """Return the verdict and what is likeliest, as a clause."""
    if answer.verdict == "fast":
        return "Faster than predicted"
    if answer.verdict == "normal":
        return "Normal for this job"
    cause, normal = likeliest(answer), percent(answer.normal)
    if cause is None and answer.normal >= answer.unknown:
        return f"Unclear: slower than normal, but no cause is likelier than that nothing is wrong ({normal})"
    what = "something that has no name here" if cause is None else cause.words
    said = f"likeliest cause: {what} ({percent(cause.probability if cause else answer.unknown)})"
    if answer.verdict == "slow":
        return f"Slow; {said}"
    return f"Unclear: as fast as normal, but {said}; that nothing is wrong: {normal}"


def _advice(answer: Diagnosis) -> str:
    """Return the verdict, what is likeliest, and what to do first."""
    reached = f" {_reached(answer)[0].upper()}{_reached(answer)[1:]}." if answer.kind == "collective" else ""
    said = f"{_conclusion(answer)}.{reached}"
    if answer.verdict == "fast":
        return f"{said} Check that the job is stated as it ran."
    if answer.verdict == "normal":
        return f"{said} Nothing says that something is wrong."
    cause = likeliest(answer)
    if cause is not None:
        return f"{said} First: {cause.next}."
    return f"{said} First measure {answer.next[0].words}." if answer.next else said


def _reached(answer: Diagnosis) -> str:
    """Return what was measured and what is predicted: an iteration time, or a listing's largest message."""
    if answer.kind == "training":
        span = show_range(answer.low_80, answer.high_80, "s")
        return (
            f"{show(answer.measured, 's')} measured, {show(answer.predicted, 's')} predicted (80 %: {span}); "
            f"{among(answer.quantile)}"
        )
    span = show_range(answer.low_80, answer.high_80, "B/s")
    size = show(max(row.message_bytes for row in answer.sizes), "B")
    measured, predicted = show(answer.measured, "B/s"), show(answer.predicted, "B/s")
    return f"{measured} at {size} where {predicted} are predicted (80 %: {span})"


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
