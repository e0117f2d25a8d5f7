"""Own runs to look at: one that does not fit the others, a time in another unit, a factor far from 1."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from functools import partial
from statistics import fmean, median
from typing import NamedTuple

from perfmodel.core.sentences import in_a_list
from perfmodel.core.units import per_cent
from perfmodel.evidence.fitting.own_runs import Answer, OwnRun, Update, effects_on
from perfmodel.model.prediction.names import effect_words

ODD = math.log(1.5)
"""Difference of logarithmic errors from the others' median from which a run may be odd (a choice)."""
APART = 3.0
"""How many times as far as the others' own spread an odd run is from their median (a choice)."""
SPREAD = 0.8
"""Quantile of the others' distances from their median that is their spread (a choice)."""
FAR = math.log(3.0)
"""Logarithmic error from which a run is named that has no other like it (a choice)."""
FACTORS = (0.4, 2.5)
"""Factors beyond which what was learned is named (a choice)."""
DEVIATIONS = 3.0
"""Standard deviations of its prior beyond which a factor is named (a choice)."""
THOUSAND = (200.0, 5000.0)
"""Measured over predicted times that are probably milliseconds read as seconds (a choice)."""
NAMED = 4
"""Largest number of other runs that a sentence names; of more it gives the number."""

Relearn = Callable[[Sequence[OwnRun]], Update]
"""Returns the update by some of the runs."""


class Odd(NamedTuple):
    """A run that does not fit those of the same network, accelerator and software."""

    number: int
    others: list[int]


def warnings_of(
    runs: Sequence[OwnRun], learned: Update, relearn: Relearn, milliseconds: Sequence[int]
) -> list[str]:
    """Return what to look at in the runs, and in what they teach, in sentences.

    Parameters
    ----------
    runs, learned : the runs, and the update by all of them, with answers in their order
    relearn : gives the update by some of them
    milliseconds : numbers of the runs that ``in_milliseconds`` doubts
    """
    answers = learned.answers
    odd = [each for each in odd_runs(runs, answers) if each.number not in milliseconds]
    lines = [_unit_words(answers[n]) for n in milliseconds]
    wrong = {*milliseconds, *(each.number for each in odd)}
    kept = [run for n, run in enumerate(runs) if n not in wrong]
    without = relearn(kept) if wrong and kept else None
    lines += [_odd_words(each, answers) for each in odd]
    alone = [n for n in range(len(runs)) if n not in wrong and abs(answers[n].before) > FAR]
    alone = [n for n in alone if not any(map(partial(_is_like, runs[n]), (*runs[:n], *runs[n + 1 :])))]
    if without is not None and len(kept) > 1:
        error = fmean(abs(math.expm1(each.left_out)) for each in without.answers)
        where = _listed([answers[n].where for n in sorted(wrong)])
        lines[-1] += (
            f"; without {where} the others are predicted from one another within {per_cent(error)} (mean)"
        )
    for answer in (answers[n] for n in alone):
        lines.append(f"{answer.where} is {_slowness(answer)}, and there is no other run like it")
    return [*lines, *_far_factors(runs, learned, without)]


def odd_runs(runs: Sequence[OwnRun], answers: Sequence[Answer]) -> list[Odd]:
    """Return the runs that do not fit the others, the farthest first.

    Runs of training are compared with those of the same network, accelerator, software and precision; one of
    these must use the same links, as runs between nodes may all be slow.  An odd run is far from the median
    error of the others, and from each that uses its links, while the others agree.
    """
    groups: dict[tuple[str, ...], list[int]] = {}
    for index, run in enumerate(runs):
        if not run.message_bytes:
            groups.setdefault(_kind(run), []).append(index)
    result: list[Odd] = []
    for group in groups.values():
        rest = list(group)
        while len(rest) > 2 and (odd := _oddest(rest, runs, answers)) is not None:
            result.append(odd)
            rest.remove(odd.number)
    return sorted(result, key=lambda each: -abs(answers[each.number].before))


def _kind(run: OwnRun) -> tuple[str, ...]:
    setting = run.setting
    return setting.workload.id, setting.accelerator.id, setting.software, setting.precision


def _links(run: OwnRun) -> str:
    """Return which links a run uses: none, those of a node, or those between nodes."""
    setting = run.setting
    return "none" if setting.world_size == 1 else "between" if setting.domains > 1 else "inside"


def _oddest(indices: Sequence[int], runs: Sequence[OwnRun], answers: Sequence[Answer]) -> Odd | None:
    """Return the run farthest from the others if it does not fit them."""

    def apart(index: int) -> float:
        return abs(answers[index].before - median(answers[n].before for n in indices if n != index))

    index = max(indices, key=apart)
    others = [n for n in indices if n != index]
    alike = [n for n in others if _links(runs[n]) == _links(runs[index])]
    middle = median(answers[n].before for n in others)
    spread = sorted(abs(answers[n].before - middle) for n in others)[math.ceil(SPREAD * len(others)) - 1]
    least = max(ODD, APART * spread)
    near = [abs(answers[index].before - answers[n].before) < least for n in alike]
    return Odd(index, others) if alike and not any(near) and apart(index) >= least else None


def _is_like(one: OwnRun, other: OwnRun) -> bool:
    """Return whether a run can say whether another is odd."""
    return not other.message_bytes and (_kind(one), _links(one)) == (_kind(other), _links(other))


def in_milliseconds(runs: Sequence[OwnRun], answers: Sequence[Answer]) -> list[int]:
    """Return the numbers of the runs whose times are probably milliseconds that were read as seconds."""
    low, high = THOUSAND
    times = [run.quantity == "iteration_time" for run in runs]
    return [n for n, one in enumerate(answers) if times[n] and low <= math.exp(-one.before) <= high]


def _unit_words(answer: Answer) -> str:
    return (
        f"{answer.where}: {answer.time:g} is read as seconds, {_times(math.exp(-answer.before))} the "
        f"prediction; did you mean {answer.time:g} ms? Write the unit behind the number"
    )


def _times(ratio: float) -> str:
    """Return a factor in words.

    >>> _times(5.21), _times(1497.0)
    ('5.2 x', '1,497 x')
    """
    return f"{ratio:.1f} x" if ratio < 10 else f"{ratio:,.0f} x"


def _slowness(answer: Answer) -> str:
    """Return how much slower or faster a run is than predicted, in words."""
    ratio = math.exp(abs(answer.before))
    return f"{_times(ratio)} as {'slow' if answer.before < 0 else 'fast'} as predicted"


def _odd_words(odd: Odd, answers: Sequence[Answer]) -> str:
    answer = answers[odd.number]
    worst = max(abs(math.expm1(answers[n].before)) for n in odd.others)
    which = f"the other {len(odd.others)}"
    if len(odd.others) <= NAMED:
        which = _listed([answers[n].where for n in odd.others])
    within = f"{which} within {per_cent(max(worst, 0.01), 0)}"
    return f"{answer.where} is {_slowness(answer)}, {within}: check it, or remove it"


def _listed(places: Sequence[str]) -> str:
    """Return places in a file in words.

    >>> _listed(["line 2", "line 3", "line 5"]), _listed(["line 4"])
    ('lines 2, 3 and 5', 'line 4')
    """
    if len(places) > 1 and all(place.startswith("line ") for place in places):
        return f"lines {in_a_list(place[5:] for place in places)}"
    return in_a_list(places)


def _far_factors(runs: Sequence[OwnRun], learned: Update, without: Update | None) -> list[str]:
    """Return a sentence for each learned factor that is far from 1, with the runs that it comes from."""
    result = []
    for name, (deviation, _) in learned.deviations.items():
        logarithm = learned.own.logarithms[name]
        low, high = (math.log(each) for each in FACTORS)
        if low <= logarithm <= high and abs(logarithm) <= DEVIATIONS * deviation:
            continue
        answers = [a for run, a in zip(runs, learned.answers, strict=True) if name in effects_on(run)]
        farthest = max(answers, key=lambda each: abs(each.before))
        causes = [each.where for each in answers if abs(each.before) > abs(farthest.before) / 2]
        cause = _listed(causes) if len(causes) <= NAMED else f"{len(causes)} runs, such as {farthest.where}"
        words = f"{effect_words(name)} x {math.exp(logarithm):.3f} is far from 1"
        words += f" (expected: {FACTORS[0]:g} to {FACTORS[1]:g})" if not low <= logarithm <= high else ""
        words += f": it comes from {cause}, up to {_slowness(farthest)}"
        if without is not None:
            words += (
                f"; x {math.exp(without.own.logarithms.get(name, 0.0)):.3f} without what is to be checked"
            )
        result.append(words)
    return result
