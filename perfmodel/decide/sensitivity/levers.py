"""Who may change an input, and which change of each kind saves most of the time per sample."""

from __future__ import annotations

from collections.abc import Sequence

from perfmodel.core.units import per_cent, three_digits
from perfmodel.decide.sensitivity.input_words import words_of
from perfmodel.decide.sensitivity.inputs import INPUTS, MEASURED_LOSS
from perfmodel.decide.sensitivity.per_sample import STEP, Effect
from perfmodel.model.prediction.limits import UNKNOWN_TERM

LEVERS = {"hardware": "hardware: to buy", "job": "the job: to set", "software": "software: to improve"}
"""Lever of an input -> its label."""
LEAST = 1e-3
"""Least share of the time per sample that is worth a word."""
NO_INTERVAL = (
    "savings have no 80 % interval: errors are learned by accelerator, machine and batch, not by one number "
    "of them; Compare has the interval of such a change"
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
    """Return what of the hardware, of the job and of the software saves most, in one or two sentences.

    >>> slow = Effect({"name": "memory_bandwidth"}, -0.6, 0.214, -0.125)
    >>> batch = Effect({"name": "local_batch_size"}, -0.2, 0.06, -0.041)
    >>> for clause in decision([slow, batch]).split("; "):
    ...     print(clause)
    Of the hardware, memory bandwidth helps most (25 % more saves 12.5 % of the time)
    of the job, batch per GPU (25 % more saves 4.1 %).
    """
    hardware, job, software = (best(effects, lever) for lever in LEVERS)
    words = "No faster hardware saves time"
    if hardware is not None:
        words = f"Of the hardware, {name_of(hardware)} helps most ({_saving(hardware)} of the time)"
    lost = any(each.row["name"] == MEASURED_LOSS for each in effects)
    if lost and hardware is None:
        words = "It is not known whether faster hardware saves time"
    if job is not None:
        words += f"; of the job, {name_of(job)} ({_saving(job)})"
    said = [words]
    if software is not None:
        said.append(f"Of the software, {name_of(software)} ({_saving(software)})")
    if lost:
        said.append(f"Of the loss measured on your own runs, {UNKNOWN_TERM}")
    return f"{'. '.join(said)}."


def name_of(effect: Effect) -> str:
    """Return the name of an input within a sentence."""
    name = words_of(effect.row["name"]).partition(" (")[0]
    return name if name[1:2].isupper() else f"{name[:1].lower()}{name[1:]}"


def step_words(effect: Effect) -> str:
    """Return the change of an input that saves time: 25 % more or less."""
    return f"{per_cent(STEP, 0)} {effect.saving[1]}"


def saved(effect: Effect) -> str:
    """Return the share of the time per sample that the change saves."""
    return f"{three_digits(100 * effect.saving[0])} %"


def _saving(effect: Effect) -> str:
    return f"{step_words(effect)} saves {saved(effect)}"
