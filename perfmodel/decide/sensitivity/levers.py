"""Who may change an input, and which change of each kind saves most of the time per sample."""

from __future__ import annotations

from collections.abc import Sequence

from perfmodel.core.units import per_cent, three_digits
from perfmodel.decide.sensitivity.input_words import short_label
from perfmodel.decide.sensitivity.inputs import INPUTS, MEASURED_LOSS
from perfmodel.decide.sensitivity.per_sample import STEP, Effect
from perfmodel.model.prediction.limits import UNKNOWN_TERM

LEVERS = {"hardware": "hardware: to buy", "job": "the job: to set", "software": "software: to improve"}
"""Lever of an input -> its label."""
SUBJECTS = {"hardware": "hardware you can buy", "job": "a change of the job", "software": "better software"}
"""Lever of an input -> what it is in a sentence."""
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
    """Return the input of a lever that saves most; None if none saves more than ``LEAST``."""
    some = [each for each in effects if lever_of(each) == lever and each.saving[0] > LEAST]
    return max(some, key=lambda each: each.saving[0], default=None)


def decision(effects: Sequence[Effect]) -> str:
    """Return what the best change of each lever saves of the time, the largest saving first.

    >>> slow = Effect({"name": "memory_bandwidth"}, -0.6, 0.214, -0.125)
    >>> batch = Effect({"name": "local_batch_size"}, -0.2, 0.06, -0.041)
    >>> for clause in decision([batch, slow]).split("; "):
    ...     print(clause)
    Hardware you can buy saves most, 12.5 % with 25 % more memory bandwidth
    then a change of the job, 4.1 % with 25 % more batch per GPU.
    >>> decision([])
    'No faster hardware saves time.'
    """
    ranked = ranking(effects)
    words = [
        f"{'then ' if place else ''}{SUBJECTS[lever]}{'' if place else ' saves most'}, {saved(one)} with "
        f"{step_words(one)} {name_of(one)}"
        for place, (lever, one) in enumerate(ranked)
    ]
    lost = any(each.row["name"] == MEASURED_LOSS for each in effects)
    if "hardware" not in dict(ranked):
        words.append(
            "it is not known whether faster hardware saves time" if lost else "no faster hardware saves time"
        )
    text = "; ".join(words)
    unknown = f" Of the loss measured on your own runs, {UNKNOWN_TERM}." if lost else ""
    return f"{text[:1].upper()}{text[1:]}.{unknown}"


def ranking(effects: Sequence[Effect]) -> list[tuple[str, Effect]]:
    """Return the levers that save time, each with its best input, the largest saving first."""
    known = [(lever, one) for lever in LEVERS if (one := best(effects, lever)) is not None]
    return sorted(known, key=lambda each: -each[1].saving[0])


def name_of(effect: Effect) -> str:
    """Return the name of an input within a sentence."""
    return short_label(effect.row["name"])


def step_words(effect: Effect) -> str:
    """Return the change of an input that saves time: 25 % more or less."""
    return f"{per_cent(STEP, 0)} {effect.saving[1]}"


def saved(effect: Effect) -> str:
    """Return the share of the time per sample that the change saves."""
    return f"{three_digits(100 * effect.saving[0])} %"
