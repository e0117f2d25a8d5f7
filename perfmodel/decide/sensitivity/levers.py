"""Who may change an input, and which change of each kind saves most of the time per sample."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from perfmodel.core.sentences import sentence
from perfmodel.core.units import per_cent, three_digits
from perfmodel.decide.sensitivity.input_words import short_label
from perfmodel.decide.sensitivity.inputs import INPUTS, MEASURED_LOSS
from perfmodel.decide.sensitivity.per_sample import STEP, Effect
from perfmodel.model.prediction.limits import UNKNOWN_TERM

LEVERS = {"hardware": "hardware: to buy", "job": "the job: to set", "software": "software: to improve"}
"""Lever of an input -> its label."""
SUBJECTS = {"hardware": "hardware you can buy", "job": "a change of the job", "software": "better software"}
"""Lever of an input -> what it is in a sentence."""
ALIKE = 0.1
"""Share of the largest saving by which another may be smaller and still be called about equal."""
NOT_CHOSEN = ("element_bytes",)
"""Inputs that nobody can change by a quarter: number formats are half or twice as wide."""
LEAST = 1e-3
"""Least share of the time per sample that is worth a word."""
NO_INTERVAL = (
    "savings have no 80 % interval: whole machines were measured, not one number changed by itself; Compare "
    "gives the interval between two real choices"
)
"""Why savings are said without a range."""
_OF = {each.name: each.lever for each in INPUTS} | {MEASURED_LOSS: ""}


def lever_of(effect: Effect) -> str:
    """Return the lever of an input: a key of ``LEVERS``, or empty; a term's own number is the software's."""
    return _OF.get(effect.row["name"], "software")


def best(effects: Sequence[Effect], lever: str) -> Effect | None:
    """Return the input of a lever that saves most, of those one can choose; None if none saves ``LEAST``."""
    some = [
        each
        for each in effects
        if lever_of(each) == lever and each.saving[0] > LEAST and each.row["name"] not in NOT_CHOSEN
    ]
    return max(some, key=lambda each: each.saving[0], default=None)


def faster_now(turns: Sequence[Mapping[str, Any]]) -> list[str]:
    """Return the words of crossovers on another strategy that is faster for the job as it is."""
    return [turn["words"] for turn in turns if turn["faster_now"]]


def decision(effects: Sequence[Effect], turns: Sequence[Mapping[str, Any]] = ()) -> str:
    """Return what the best change of each lever saves of the time, the largest saving first.

    Levers whose savings are about equal are named together.

    Parameters
    ----------
    effects : of every input
    turns : crossovers, as rows of ``perfmodel sensitivity --json``

    Examples
    --------

    >>> slow = Effect({"name": "memory_bandwidth"}, -0.6, 0.214, -0.125)
    >>> batch = Effect({"name": "local_batch_size"}, -0.2, 0.06, -0.041)
    >>> for clause in decision([batch, slow]).split("; "):
    ...     print(clause)
    Hardware you can buy saves most: 12.5 % with 25 % more memory bandwidth
    then a change of the job, 4.1 % with 25 % more batch per GPU.
    >>> decision([batch, Effect({"name": "memory_bandwidth"}, -0.1, 0.05, -0.042)]).partition(":")[0]
    'Hardware you can buy and a change of the job save about equally'
    >>> decision([])
    'No faster hardware saves time.'
    """
    ranked = ranking(effects)
    level = [each for each in ranked if each[1].saving[0] >= (1 - ALIKE) * ranked[0][1].saving[0]]
    words = []
    if len(level) > 1:
        subjects = " and ".join(SUBJECTS[lever] for lever, _ in level)
        most = "" if len(level) == len(ranked) else " most,"
        words.append(f"{subjects} save{most} about equally: {' or '.join(_with(one) for _, one in level)}")
    elif level:
        words.append(f"{SUBJECTS[level[0][0]]} saves most: {_with(level[0][1])}")
    words += [f"then {SUBJECTS[lever]}, {_with(one)}" for lever, one in ranked[len(level) :]]
    lost = any(each.row["name"] == MEASURED_LOSS for each in effects)
    if "hardware" not in dict(ranked):
        words.append(
            "it is not known whether faster hardware saves time" if lost else "no faster hardware saves time"
        )
    text = "; ".join(words)
    unknown = f" Loss measured on your own runs: {UNKNOWN_TERM}." if lost else ""
    return " ".join([f"{sentence(text)}{unknown}", *map(sentence, faster_now(turns))])


def ranking(effects: Sequence[Effect]) -> list[tuple[str, Effect]]:
    """Return the levers that save time, each with its best input, the largest saving first."""
    known = [(lever, one) for lever in LEVERS if (one := best(effects, lever)) is not None]
    return sorted(known, key=lambda each: -each[1].saving[0])


def _with(effect: Effect) -> str:
    """Return what the change of an input saves, and which change that is."""
    return f"{saved(effect)} with {step_words(effect)} {name_of(effect)}"


def name_of(effect: Effect) -> str:
    """Return the name of an input within a sentence."""
    return short_label(effect.row["name"])


def step_words(effect: Effect) -> str:
    """Return the change of an input that saves time: 25 % more or less."""
    return f"{per_cent(STEP, 0)} {effect.saving[1]}"


def saved(effect: Effect) -> str:
    """Return the share of the time per sample that the change saves."""
    return f"{three_digits(100 * effect.saving[0])} %"
