"""What a diagnosis says: its sentence and its card, by its verdict and its probabilities."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from perfmodel.core.sentences import capitalised, in_a_list, in_sentences
from perfmodel.core.units import per_cent, percent, show, show_range, three_digits
from perfmodel.decide.assumed_adapters import are_own, with_assumed, with_others
from perfmodel.decide.diagnosis.answer import (
    DiagnosedCause,
    DiagnosedSize,
    Diagnosis,
    Pace,
    TurningDefault,
)
from perfmodel.decide.diagnosis.chances import LEAST, chance, listed, named_causes, nothing_wrong
from perfmodel.decide.diagnosis.first_action import (
    checks,
    flag_of,
    likeliest_words,
    lookups,
)
from perfmodel.decide.diagnosis.verdict_rule import faults_of, is_nothing_likeliest, verdict_of
from perfmodel.model.prediction.answer_card import Card

NEAR = 0.1
"""Relative distance below an interval up to which a bandwidth is just under it."""
AS_MEASURED = 0.05
"""Relative difference from the measured time below which a time is about that."""


def with_card(limit: str, rests_on: str, pace: Pace, **fields: Any) -> Diagnosis:
    """Return the diagnosis of these fields, with its verdict, its sentence and its card.

    Parameters
    ----------
    limit : what takes most of the predicted time, as text; nothing of a run that is slow by something else
    rests_on : what the interval was learned from, as text
    pace : where the measurement lies
    """
    faults = faults_of(fields["causes"])
    made: Diagnosis = Diagnosis.model_construct(
        **fields,
        verdict=verdict_of(pace, fields["normal"], fields["unknown"], faults),
        sentence=lambda: _sentence(made),
        card=lambda: Card.model_construct(
            advice=_advice(made),
            machines=made.job,
            time="" if made.kind == "collective" else _reached(made),
            chance=chance(made),
            limit="" if pace == "slow" else limit,
            rests_on=rests_on,
        ),
    )
    return made


def _sentence(answer: Diagnosis) -> str:
    """Return the verdict and what is likeliest."""
    said = "; ".join(part for part in (_verdict(answer), _with_others(answer), _cause(answer)) if part)
    return capitalised(said) if answer.kind == "collective" else f"{said} ({_reached(answer)})"


def _advice(answer: Diagnosis) -> str:
    """Return the verdict, what to look up, what is likeliest, what to do, and which machine was taken.

    That a listing is of other machines than the stated ones comes before all.
    """
    if answer.mismatch:
        return in_sentences((answer.mismatch, _verdict(answer)))
    if answer.verdict == "fast":
        return in_sentences((_verdict(answer), "check that the job is stated as it ran", _taken(answer)))
    first = [f"{'then' if place else 'first'}: {each}" for place, each in enumerate(lookups(answer))]
    action, *meaning = checks(answer) or [""]
    then = [f"{'then' if first else 'first'}: {action}", *meaning] if action else []
    verdict = _verdict(answer), _with_others(answer), None if first else _nothing_to_do(answer)
    return in_sentences((*verdict, *first, _cause(answer), *then, _taken(answer)))


def _nothing_to_do(answer: Diagnosis) -> str | None:
    """Return what is said of a normal measurement in place of what to do; None of others."""
    if answer.verdict != "normal":
        return None
    largest = answer.sizes[-1].verdict if answer.sizes else "normal"
    asked = {"slow": None, "fast": "check that the machines are stated as they are"}
    return asked.get(largest, "nothing says that something is wrong")


def _with_others(answer: Diagnosis) -> str | None:
    """Return what is predicted with another number of adapters than was assumed, as a clause."""
    adapters = answer.adapters
    if adapters is None:
        return None
    of, rate = answer.measured / adapters.low_80, show(answer.measured, "B/s")
    place = "within" if of >= 1 else "just below" if of >= 1 - NEAR else "below"
    if answer.measured > adapters.high_80:
        place = "above"
    return (
        f"{with_others(adapters.other)}, {show(adapters.predicted, 'B/s')} would be predicted (80 %: "
        f"{show_range(adapters.low_80, adapters.high_80, 'B/s')}), and {rate} is {place} that interval"
    )


def _taken(answer: Diagnosis) -> str | None:
    """Return which machine was taken for a listing; None where it was stated, or the verdict turns on it."""
    node = next((line for line in answer.defaults if line.startswith("--node ")), None)
    if answer.kind == "training" or node is None or "node" in {turn.option for turn in answer.turns}:
        return None
    return f"taken as {node}: give --node if it is another"


_HEADS = {"slow": "Slow", "unclear": "Unclear", "fast": "Faster than predicted"}


def _verdict(answer: Diagnosis) -> str:
    """Return the verdict as a clause, after the options left open on which it turns, with their defaults."""
    turns = _conditions(answer)
    said = _verdict_if(answer, turns)
    if not turns:
        return said
    stop = ":" if answer.kind == "training" else ";"  # the verdict of a listing has a colon itself
    options = in_a_list(map(flag_of, turns))
    return f"Depends on {options}, which {'were' if len(turns) > 1 else 'was'} not given{stop} {_lower(said)}"


def _verdict_if(answer: Diagnosis, turns: Sequence[TurningDefault]) -> str:
    """Return the verdict as a clause, with the defaults that it turns on."""
    words = f" if {' and '.join(turn.words for turn in turns)}, the default{'s' * (len(turns) > 1)}"
    condition = words if turns else ""
    if answer.kind == "collective":
        said = listing_verdict(answer)
        if answer.adapters is not None:
            taken = with_assumed(answer.adapters.taken, are_own(answer.defaults))
            said = f"{taken} {_lower(said)}"
        return f"{said}{condition and ','}{condition}{_unexplained(answer)}"
    if answer.verdict == "normal":
        return f"Normal{condition or ' for this job'}"
    ratio = answer.measured / answer.predicted
    head = f"{_HEADS[answer.verdict]} ({_times(ratio)} the predicted time)"
    if answer.verdict == "fast":
        head = f"{_HEADS['fast']} ({_times(1 / ratio)} as fast)"
    return f"{head}{condition}{_unexplained(answer)}"


def _conditions(answer: Diagnosis) -> list[TurningDefault]:
    """Return the defaults that the verdict holds for, but for adapters, which are said with it."""
    first = "nics" if answer.adapters else None
    return [turn for turn in answer.turns if turn.option != first]


def _lower(said: str) -> str:
    """Return a clause that goes on another."""
    return f"{said[0].lower()}{said[1:]}"


def _unexplained(answer: Diagnosis) -> str:
    """Return that no cause is likelier than one unknown, to follow "slow"; empty where one is."""
    likeliest = max((cause.probability for cause in answer.causes), default=0.0)
    if answer.verdict != "slow" or likeliest > max(answer.normal, answer.unknown):
        return ""
    if likeliest < LEAST:
        return ""  # ``_cause`` says that none explains it
    return ", and why is open"


def _times(ratio: float) -> str:
    """Return a factor with two digits, below 2 with three, in words.

    >>> _times(3.96), _times(1.151), _times(1497)
    ('4 x', '1.15 x', '1,500 x')
    """
    return f"{three_digits(float(f'{ratio:.2g}' if ratio >= 2 else f'{ratio:.3g}'))} x"


def _cause(answer: Diagnosis) -> str | None:
    """Return what is likeliest as a clause; None where nothing has to be explained."""
    if answer.verdict in ("fast", "normal"):
        return None
    normal, unknown = answer.normal, answer.unknown
    first = answer.causes[0] if answer.causes else None
    share = first.probability if first else 0.0
    if normal >= max(unknown, share):
        said = f"no cause is likelier than that {nothing_wrong(answer)} ({percent(normal)})"
        return f"slower than normal, but {said}"
    if first is None or share < LEAST:
        said = f"none of the causes we know explains it ({percent(unknown)} that it is another cause)"
    elif share > unknown:
        said = likeliest_words(answer)
    else:
        said = (
            f"the likeliest known cause is {first.name} ({percent(share)}), and {percent(unknown)} are left "
            "for a cause that we do not know"
        )
    if answer.verdict == "slow":
        return said
    if is_nothing_likeliest(normal, unknown, faults_of(answer.causes)):
        return f"slower than normal; {said}"  # else it would be normal
    return f"as fast as normal, but {said}"


def listing_verdict(answer: Diagnosis) -> str:
    """Return the verdict about a listing, with the size that decides it."""
    rows = answer.sizes
    last, count = rows[-1], len(rows)
    off = [row for row in rows if row.verdict == ("fast" if answer.verdict == "fast" else "slow")]
    if answer.verdict == "normal" and last.verdict == "fast":
        fast = sum(row.verdict == "fast" for row in rows)
        head = "Normal for these machines as a whole, but faster than predicted at the largest"
        return f"{head}: {bandwidths(last)}{f'; {fast} of {count} sizes alone are fast' if fast > 1 else ''}"
    if answer.verdict == "normal":
        but = f"; {len(off)} of {count} sizes alone {'is' if len(off) == 1 else 'are'} slow" if off else ""
        if last in off:
            return f"Normal for these machines as a whole, but slow at the largest: {bandwidths(last)}{but}"
        return f"Normal for these machines: {bandwidths(last)}{but}"
    head = "Unclear; slow" if answer.verdict == "unclear" else _HEADS[answer.verdict]
    if not off:
        return f"{head} as a whole, though no size is so alone: {bandwidths(last)}"
    if last in off:
        where = " at every size" if len(off) == count else f" from {show(off[0].message_bytes, 'B')}"
        if off != rows[-len(off) :]:
            where = f" at {len(off)} of {count} sizes"
        return f"{head}{where}: {bandwidths(last)}"
    worst = max(off, key=_apart)
    where = f"below {show(rows[len(off)].message_bytes, 'B')}"
    if off != rows[: len(off)]:
        where = f"at {len(off)} of {count} sizes"
    expected = show_range(worst.low_80, worst.high_80, "s")
    return (
        f"{head} {where} ({show(worst.measured_time, 's')} at {show(worst.message_bytes, 'B')}, where "
        f"{expected} are expected), while large messages are {last.verdict} ({_of(last)})"
    )


def _apart(row: DiagnosedSize) -> float:
    """Return how far a time lies from the predicted one, in widths of its interval."""
    return abs(math.log(row.measured_time / row.predicted_time)) / math.log(row.high_80 / row.low_80)


def _of(row: DiagnosedSize) -> str:
    measured, predicted = show(row.measured_bus_bandwidth, "B/s"), show(row.predicted_bus_bandwidth, "B/s")
    return f"{measured} of {predicted} at {show(row.message_bytes, 'B')}"


def bandwidths(row: DiagnosedSize) -> str:
    """Return the bandwidths of a size with the interval."""
    moved = row.predicted_bus_bandwidth * row.predicted_time
    ends = show_range(moved / row.high_80, moved / row.low_80, "B/s")
    return (
        f"{show(row.measured_bus_bandwidth, 'B/s')} at {show(row.message_bytes, 'B')} where "
        f"{show(row.predicted_bus_bandwidth, 'B/s')} are predicted (80 %: {ends})"
    )


def _reached(answer: Diagnosis) -> str:
    """Return what a training run took and what is predicted."""
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


def with_cause(cause: DiagnosedCause) -> str:
    """Return how long what was measured would take with a cause, against how long it took, as a clause."""
    what = "an iteration" if cause.message_bytes is None else show(cause.message_bytes, "B")
    compared = _compared(cause.predicted_time, cause.measured_time)
    return f"with it {what} would take {show(cause.predicted_time, 's')}, {compared}"


def _compared(time: float, measured: float) -> str:
    """Return a time against the measured one, in words.

    >>> [_compared(time, 0.4) for time in (0.48, 0.1, 0.41, 1.2)]  # doctest: +NORMALIZE_WHITESPACE
    ['20 % more than the 400 ms measured', '75 % less than the 400 ms measured',
     'about the 400 ms measured', '3 x the 400 ms measured']
    """
    took, ratio = show(measured, "s"), time / measured
    if abs(ratio - 1) < AS_MEASURED:
        return f"about the {took} measured"
    if ratio >= 2:
        return f"{_times(ratio)} the {took} measured"
    return f"{per_cent(abs(ratio - 1), 0)} {'more' if ratio > 1 else 'less'} than the {took} measured"


def own_error(answer: Diagnosis) -> str | None:
    """Return why a cause that predicts too little is still listed; None where none of the named ones does."""
    named = listed(answer, named_causes(answer)) if answer.verdict in ("slow", "unclear") else []
    if all(each.predicted_time >= each.measured_time * (1 - AS_MEASURED) for each in named):
        return None
    is_run = answer.kind == "training"
    factor = answer.high_80 / answer.predicted if is_run else answer.predicted / answer.low_80
    over = f"10 % of such {'jobs' if is_run else 'listings'} take over {_times(factor)} the predicted time"
    least = answer.measured / factor
    if not is_run or all(each.predicted_time >= least for each in named):
        return f"{over}, so a cause that predicts less than was measured may still be the one"
    return (
        f"{over}: a cause that predicts under {show(least, 's')} hardly explains the "
        f"{show(answer.measured, 's')} alone, but may with another"
    )
