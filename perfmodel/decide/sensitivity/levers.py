"""Who may change an input, and which change of each kind saves most of the time per sample."""

from __future__ import annotations

from collections.abc import Sequence

from perfmodel.core.units import per_cent, three_digits
from perfmodel.decide.sensitivity.input_words import words_of
from perfmodel.decide.sensitivity.inputs import INPUTS
from perfmodel.decide.sensitivity.per_sample import STEP, Effect

LEVERS = {"hardware": "hardware: to buy", "job": "the job: to set", "software": "software: to improve"}
"""Lever of an input -> its label."""
LEAST = 1e-3
"""Least share of the time per sample that is worth a word."""
_OF = {each.name: each.lever for each in INPUTS}


def lever_of(effect: Effect) -> str:
    """Return the lever of an input: a key of ``LEVERS``, or empty; a term's own number is the software's."""
    return _OF.get(effect.row["name"], "software")


def best(effects: Sequence[Effect], lever: str) -> Effect | None:
    """Return the input of a lever that saves most; None if none saves as much as ``LEAST``."""
    some = [each for each in effects if lever_of(each) == lever and each.saving[0] > LEAST]
    return max(some, key=lambda each: each.saving[0], default=None)


def decision(effects: Sequence[Effect]) -> str:
    """Return what of the hardware and of the job saves most, in a sentence.

    >>> slow = Effect({"name": "memory_bandwidth"}, -0.6, 0.214, -0.125)
    >>> batch = Effect({"name": "element_bytes"}, 0.6, -0.154, 0.16)
    >>> for clause in decision([slow, batch]).split("; "):
    ...     print(clause)
    Of the hardware, memory bandwidth helps most (25 % more saves 12.5 % of the time)
    of the job, bytes of a number (25 % less saves 15.4 %).
    """
    hardware, job = (best(effects, lever) for lever in ("hardware", "job"))
    first = "No faster hardware saves time"
    if hardware is not None:
        first = (
            f"Of the hardware, {words_of(hardware.row['name'])} helps most ({_saving(hardware)} of the time)"
        )
    return (
        f"{first}." if job is None else f"{first}; of the job, {words_of(job.row['name'])} ({_saving(job)})."
    )


def _saving(effect: Effect) -> str:
    share, way = effect.saving
    return f"{per_cent(STEP, 0)} {way} saves {three_digits(100 * share)} %"
