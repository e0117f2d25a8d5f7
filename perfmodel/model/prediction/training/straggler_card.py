"""The answer card of stragglers: which strategy to take, how many more gradients it makes, what it costs."""

from __future__ import annotations

from math import isfinite
from typing import NamedTuple

from perfmodel.core.units import counted, percent, show, three_digits
from perfmodel.core.updates import EXAMPLE_LAW
from perfmodel.equations.distribution import Distribution
from perfmodel.equations.sgd_variants import StragglerPrediction
from perfmodel.model.prediction.answer_card import Card
from perfmodel.model.prediction.training.stragglers import Stragglers, law_from

LEAST = 1.01
"""Gradients over those of waiting for all workers from which a strategy gains something."""
FRESH = 0.05
"""Staleness below which gradients count as fresh [updates]."""


class Strategy(NamedTuple):
    """What people call a variant of SGD, and what it does."""

    name: str
    update: str
    """What an update waits for."""


STRATEGIES = {
    "sync": Strategy("waits for all", "the gradients of all workers"),
    "k-sync": Strategy("first K workers", "the gradients of the first K workers; the others start anew"),
    "k-batch-sync": Strategy("first K gradients", "the first K gradients, whoever made them"),
    "async": Strategy("waits for nobody", "one gradient; the other workers go on"),
    "k-async": Strategy("K workers, others go on", "gradients of K workers; the others go on"),
    "k-batch-async": Strategy("K gradients, others go on", "K gradients; nobody stops"),
    "backup": Strategy("all but backup workers", "all gradients but those of the backup workers"),
    "local-sgd": Strategy("averages local steps", "local steps of all workers, then averages parameters"),
    "elastic": Strategy("pulled to a centre", "one worker, whose parameters are pulled to a centre"),
}
"""Variant -> its name and what it does."""


class Best(NamedTuple):
    """The strategy with the most gradients in the same time, of some."""

    row: StragglerPrediction
    gain: float
    """Gradients over those of waiting for all workers; infinite where that never ends."""


def _sync(answer: Stragglers) -> StragglerPrediction:
    return next(row for row in answer.rows if row.variant == "sync")


def gain_of(answer: Stragglers, row: StragglerPrediction) -> float:
    """Return the gradients of a strategy over those of waiting for all workers, in the same time."""
    every = _sync(answer).time_per_gradient
    return every / row.time_per_gradient if isfinite(row.time_per_gradient) else 1.0


def _most(answer: Stragglers, variants: tuple[str, ...]) -> Best | None:
    """Return the best of some variants; of equal ones the first named; None where none gains anything."""
    rows = {row.variant: row for row in answer.rows}
    every = [Best(rows[name], gain_of(answer, rows[name])) for name in variants if name in rows]
    gaining = [each for each in every if each.gain > LEAST]
    return max(gaining, key=lambda each: round(each.gain, 6), default=None)


def best(answer: Stragglers) -> Best | None:
    """Return the strategy to take: the most gradients in the same time with none made of old parameters."""
    return _most(answer, ("k-sync", "backup", "k-batch-sync", "local-sgd"))


def waiting_share(answer: Stragglers) -> float:
    """Return the share of time that workers wait for the slowest when an update waits for all."""
    per_gradient = answer.sync_over_async[1]
    return 1 - 1 / per_gradient if isfinite(per_gradient) else 1.0


def law_words(times: Distribution) -> str:
    """Return text on a worker's time for one gradient: its mean and distribution.

    >>> from perfmodel.model.prediction.training.stragglers import law_from
    >>> law_words(law_from("uniform:low=0.5,high=1.5"))
    'a gradient in 1 s in the mean (uniform: low=0.5, high=1.5)'
    """
    name, _, parameters = str(times).partition(":")
    law = f"{name}: {', '.join(parameters.split(','))}" if parameters else name
    mean = f"in {show(times.mean, 's')} in the mean" if isfinite(times.mean) else "in no mean time"
    return f"a gradient {mean} ({law})"


def times_words(gain: float) -> str:
    """Return how many more gradients there are, as a factor.

    >>> times_words(1.6612), times_words(float("inf"))
    ('1.66 x', 'any number of times')
    """
    return f"{three_digits(gain)} x" if isfinite(gain) else "any number of times"


def _order(row: StragglerPrediction, workers: int) -> tuple[str, str]:
    """Return what to do by a strategy of fresh gradients, and what it costs."""
    if row.variant == "local-sgd":
        steps = row.gradients_per_update // workers
        drift = "the workers' parameters drift apart in between, which may cost accuracy"
        return f"Average the parameters after {counted(steps, 'local step')} (local-sgd)", drift
    fewer = f"an update has {row.gradients_per_update} gradients in place of {workers}"
    what = {
        "backup": f"Leave out {counted(workers - row.gradients_per_update, 'backup worker')}",
        "k-sync": f"Wait for the first {row.gradients_per_update} workers",
        "k-batch-sync": f"Wait for the first {row.gradients_per_update} gradients",
    }[row.variant]
    return f"{what} ({row.variant})", f"{fewer}, which may take more updates"


def _advice(answer: Stragglers) -> str:
    """Return what waiting costs, which strategy to take, how much faster it is, and what that costs."""
    taken, workers = best(answer), answer.workers
    if workers == 1:
        return "One worker waits for nobody: no strategy gains anything."
    if taken is None:
        share = percent(waiting_share(answer))
        most = f"Wait for all {workers} (sync): waiting for the slowest takes {share} of the time"
        return f"{most}, and waiting for fewer of them gains nothing."
    order, cost = _order(taken.row, workers)
    gain = f"{times_words(taken.gain)} as many gradients in the same time"
    lost = f"Waiting for the slowest costs {workers} workers {percent(waiting_share(answer))} of their time"
    if str(answer.distribution) == str(law_from(EXAMPLE_LAW)):
        lost += ", by the example distribution of a worker's times"
    return f"{lost}. {order}: {gain}; {cost}."


def card_of(answer: Stragglers) -> Card:
    """Return the answer card of all variants."""
    stale = _most(answer, ("async", "k-async", "k-batch-async"))
    sure = ["the distribution of one worker's time alone; what a strategy costs in accuracy is not predicted"]
    if stale is not None and stale.row.mean_staleness >= FRESH:
        sure.append(
            f"{STRATEGIES[stale.row.variant].name} ({stale.row.variant}) makes {times_words(stale.gain)} as "
            f"many, each with parameters {stale.row.mean_staleness:.1f} updates old"
        )
    mean = law_words(answer.distribution)
    return Card(
        advice=_advice(answer),
        machines=f"{counted(answer.workers, 'worker')}, each computes {mean}",
        limit=f"waiting for the slowest worker, {percent(waiting_share(answer))} of the time; a trace "
        "of several ranks shows who waits for whom",
        rests_on="; ".join(sure),
    )
