"""What may be the case of a measurement, with probabilities that sum to 1: in words and as a list."""

from __future__ import annotations

from collections.abc import Sequence

from perfmodel.core.units import percent
from perfmodel.decide.diagnosis.answer import DiagnosedCause, Diagnosis
from perfmodel.decide.diagnosis.first_action import flag_of
from perfmodel.decide.diagnosis.verdict_rule import faults_of

LEAST = 0.05
"""Least probability of a cause that is named."""
_SUBJECTS = {"collective": "machines are", "training": "job is"}
"""Kind of a measurement -> what was taken of it."""


def listed(answer: Diagnosis, most: int) -> list[DiagnosedCause]:
    """Return the causes that are named: the likeliest, and other values on which the verdict turns."""
    turning = tuple(f"{flag_of(turn)} " for turn in answer.turns)

    def turns(cause: DiagnosedCause) -> bool:
        return bool(turning) and (cause.is_assumption or cause.change.startswith(turning))

    return [cause for index, cause in enumerate(answer.causes) if index < most or turns(cause)]


def named_causes(answer: Diagnosis) -> int:
    """Return how many causes are worth a name: those of at least ``LEAST``, where something is wrong one."""
    count = sum(cause.probability >= LEAST for cause in answer.causes)
    return max(count, int(bool(answer.causes) and answer.verdict != "normal"))


def shares(answer: Diagnosis, most: int) -> list[tuple[float, str | DiagnosedCause]]:
    """Return what may be the case with its probabilities, which sum to 1: a cause, or else its words.

    That nothing is wrong comes first where it is the likeliest, else last.

    Parameters
    ----------
    most : number of causes that are named, as of ``listed``
    """
    named = listed(answer, most)
    rows: list[tuple[float, str | DiagnosedCause]] = [(cause.probability, cause) for cause in named]
    rows += [*_other_faults(answer, named), (answer.unknown, "none of these causes")]
    rows += _not_as_assumed(answer, named)
    is_likeliest = answer.normal >= max(share for share, _ in rows)
    rows.insert(0 if is_likeliest else len(rows), (answer.normal, nothing_wrong(answer)))
    return rows


def _other_faults(answer: Diagnosis, named: Sequence[DiagnosedCause]) -> list[tuple[float, str]]:
    """Return the probability of the causes that are not named, in words that say how many; empty of none."""
    rest = faults_of(cause for cause in answer.causes if cause not in named)
    if not rest:
        return []
    alone = "another cause we know" if named else "the one cause we know"
    several = f"one of {'' if named else 'the '}{len(rest)} {'other ' if named else ''}causes we know"
    return [(sum(rest), several if len(rest) > 1 else alone)]


def _not_as_assumed(answer: Diagnosis, named: Sequence[DiagnosedCause]) -> list[tuple[float, str]]:
    """Return the probability that something was assumed that is not named, in words; empty of nothing."""
    assumed = [cause for cause in answer.causes if cause.is_assumption]
    rest = [cause.probability for cause in assumed if cause not in named]
    otherwise = "otherwise " if len(rest) < len(assumed) else ""
    return [(sum(rest), f"the {_SUBJECTS[answer.kind]} {otherwise}not as assumed")] if rest else []


def chance(answer: Diagnosis) -> str:
    """Return the probabilities that nothing is wrong, that it is a cause we know, and that it is none.

    None of a listing or run that is too fast: causes only slow down.
    """
    if answer.verdict == "fast":
        return "no cause that we know makes it faster"
    share, of, others = chance_parts(answer)
    return f"{share} {of}{others}"


def chance_parts(answer: Diagnosis) -> tuple[str, str, str]:
    """Return the chance that is said first, what it is of, and the other chances.

    That what was assumed is otherwise is said by itself: nothing is wrong then.
    Where a cause is likelier than that nothing is wrong, the likeliest comes first.
    """
    first = answer.causes[0] if answer.causes else None
    is_first = first is not None and first.probability > max(answer.normal, LEAST)
    named = answer.causes[:1] if is_first else []
    others = [f"{percent(share)} {words}" for share, words in _other_faults(answer, named)]
    others.append(f"{percent(answer.unknown)} a cause that we do not know")
    others += [f"{percent(share)} that {words}" for share, words in _not_as_assumed(answer, named)]
    share = percent(answer.normal)
    if first is None or not is_first:
        return share, "that nothing is wrong", f"{_as_assumed(answer)}; {', '.join(others)}"
    others.append(f"{share} that {nothing_wrong(answer)}")
    return percent(first.probability), first.name, f"; {', '.join(others)}"


def nothing_wrong(answer: Diagnosis) -> str:
    """Return what ``normal`` is the probability of, as a clause."""
    return f"nothing is wrong{_as_assumed(answer)}"


def _as_assumed(answer: Diagnosis) -> str:
    """Return that the job or the machines are as assumed, to follow that nothing is wrong.

    Empty where nothing was assumed that may be otherwise.
    """
    if not answer.turns and not any(cause.is_assumption for cause in answer.causes):
        return ""
    return f" and the {_SUBJECTS[answer.kind]} as assumed"
