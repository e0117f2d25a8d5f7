"""Which options left open turn the verdict about a run: their defaults against other usual values."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from typing import NamedTuple

from perfmodel.decide.diagnosis.answer import Pace, TurningDefault, Verdict
from perfmodel.decide.diagnosis.changes import predicted
from perfmodel.hardware.catalogue.store import Catalogue
from perfmodel.model.options.scenario import Scenario
from perfmodel.model.prediction import Prediction
from perfmodel.model.prediction.result import Interval
from perfmodel.model.setting.resolve import Setting

BATCH = ("local_batch_size", "global_batch_size", "micro_batch_size", "accumulation_steps")
BATCHES = 0.5, 2, 4
"""Factors on a default batch of one accelerator that are tried, the usual ones first."""
GLOBAL_BATCHES = 4, 16
"""Factors on the default batch of a step of a job with a layout, which is the smallest."""
LENGTHS = 128, 512, 2048, 8192
"""Usual numbers of tokens of a sequence; the next below and above the default are tried."""
OTHER_FORMATS = {
    "amp": ("tf32", "fp32"),
    "bf16": ("tf32", "fp32", "fp8"),
    "fp16": ("bf16", "fp32"),
    "fp8": ("bf16", "mxfp8"),
    "tf32": ("amp", "fp32"),
    "fp32": ("tf32", "amp"),
}
"""Usual number formats other than the default."""
FITS = 0.5
"""Least probability that a job with another value fits, for which the value counts as usual."""


class Judged(NamedTuple):
    """Where a run lies for a job."""

    pace: Pace
    off: float
    """ln(measured / predicted)."""


class _Open(NamedTuple):
    """An option left open, with other usual values."""

    option: str
    taken: int | str
    others: tuple[int | str, ...]
    words: str
    """Format of the clause that states the default."""
    other_words: str
    """Format of another value."""


def turning_defaults(
    verdict: Verdict,
    scenario: Scenario,
    setting: Setting,
    catalogue: Catalogue,
    place: Callable[[Prediction, Scenario], Judged | None],
    judge: Callable[[Prediction, Scenario], Verdict],
) -> list[TurningDefault]:
    """Return the options left open of which one other usual value changes the verdict to a clear one.

    A run that is normal turns where it would be slow: that it would be fast asks for nothing.

    Parameters
    ----------
    verdict : with the defaults
    scenario, setting : of the job
    catalogue : hardware
    place : says where the run lies for a changed job; None where nothing says it
    judge : says the verdict about the run for a changed job, which takes much longer
    """
    result = []
    for option in _left_open(scenario, setting):
        placed = []
        for other in option.others:
            changed = scenario.model_copy(update={option.option: other})
            prediction = predicted(changed, {}, catalogue)
            if prediction is None or (prediction.memory and prediction.memory.probability < FITS):
                continue
            where = place(prediction, changed)
            if where is not None and where.pace not in (verdict, "fast" if verdict == "normal" else None):
                placed.append((where, other, prediction, changed))
        placed.sort(key=lambda each: abs(each[0].off))
        for _, other, prediction, changed in placed[:2]:
            turned = judge(prediction, changed)
            if turned not in (verdict, "unclear"):
                result.append(
                    TurningDefault(
                        option=option.option,
                        taken=option.taken,
                        other=other,
                        verdict=turned,
                        words=option.words.format(option.taken),
                        other_words=option.other_words.format(other),
                    )
                )
                break
    return result


def pace_of(time: float, interval: Interval) -> Pace:
    """Return where a time lies: inside, above or below an interval."""
    return "slow" if time > interval.high_80 else "fast" if time < interval.low_80 else "normal"


def judged(time: float, prediction: Prediction) -> Judged | None:
    """Return where a time lies for the job of a prediction; None where that has no interval."""
    if prediction.interval is None:
        return None
    return Judged(pace_of(time, prediction.interval), math.log(time / prediction.iteration_time))


def _left_open(scenario: Scenario, setting: Setting) -> Iterator[_Open]:
    """Yield batch, length of sequences and number format, where they were not given."""
    if all(getattr(scenario, name) is None for name in BATCH):
        if setting.layout is None:
            local = int(setting.local_batch_size)
            others = tuple(dict.fromkeys(int(local * factor) for factor in BATCHES if local * factor >= 1))
            yield _Open("local_batch_size", local, others, "the batch is {} each", "{}")
        else:
            whole = int(setting.global_batch_size)
            others = tuple(whole * factor for factor in GLOBAL_BATCHES)
            yield _Open("global_batch_size", whole, others, "the batch of a step is {}", "{}")
    length = setting.workload.sequence_length
    if scenario.sequence_length is None and length is not None:
        below = [each for each in LENGTHS if each < length][-1:]
        above = [each for each in LENGTHS if each > length][:1]
        others = (*below, *above)
        yield _Open("sequence_length", int(length), others, "sequences have {} tokens", "{} tokens")
    if "precision" not in scenario.model_fields_set or scenario.precision is None:
        formats = OTHER_FORMATS.get(setting.precision, ())
        yield _Open("precision", setting.precision, formats, "the precision is {}", "{}")
