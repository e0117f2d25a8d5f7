"""What an update by own runs is worth, and a summary of it in words."""

from __future__ import annotations

import math
import textwrap
from collections.abc import Sequence
from itertools import zip_longest
from statistics import fmean
from typing import Literal, NamedTuple

from perfmodel.core.sentences import capitalised, sentence, wrapped
from perfmodel.core.units import per_cent, show
from perfmodel.evidence.fitting.other_sizes import HEADINGS, OtherSizes
from perfmodel.evidence.fitting.own_rates import rate_number
from perfmodel.evidence.fitting.own_runs import Answer, Update
from perfmodel.model.prediction.names import effect_words

SAME = 0.005
"""Difference of errors up to which they count as the same."""
FAR = 0.2
"""Logarithmic error above which the summary names a run whose error remains."""
UNMOVED = 0.95
"""Share of an error that remains after the update, above which it counts as unchanged."""
NAMED = 3
"""Most runs that a sentence names."""
WIDTH = 80
"""Columns of the summary."""
COLUMNS = {"before": "before", "left_out": "left out", "after": "after"}
"""Field of an answer -> what its errors are called."""
MEANING = {
    "before": "error of the prediction by the model that comes with the package",
    "left_out": "its error after learning from all other runs, without this one",
    "after": "its error after learning from all runs, this one too",
}
"""Field of an answer -> what its errors are."""
SIGN = "a minus: it ran slower than predicted"

Standing = Literal["better", "equal", "worse", "untested", "unchecked"]


class Worth(NamedTuple):
    """Whether jobs that were not measured are predicted better by an update than without it."""

    standing: Standing
    """better, equal or worse: runs predicted by what the others teach, against the shipped model; untested:
    there are no others; unchecked: better, but a run or a unit must be looked at first."""
    before: float
    """Mean absolute relative error of the runs by the shipped model."""
    left_out: float
    """The same, each run predicted by what the others teach."""
    worse: list[Answer]
    """Runs whose error grows where they are left out, by how much."""
    advice: str
    """Whether to use it, and why."""

    @property
    def is_tested(self) -> bool:
        """Whether runs can be predicted from others, in units that are not in doubt."""
        return self.standing != "untested" and not math.isnan(self.left_out)


def worth_of(learned: Update, warnings: Sequence[str] = (), unit_in_doubt: bool = False) -> Worth:
    """Return what an update is worth to jobs that were not measured.

    Parameters
    ----------
    learned : update by the runs
    warnings : what to look at in the runs
    unit_in_doubt : whether a time may be in another unit than it was read in, so that no run tests another
    """
    answers = learned.answers
    before = fmean(abs(math.expm1(one.before)) for one in answers)
    left_out = math.nan if unit_in_doubt else fmean(abs(math.expm1(one.left_out)) for one in answers)
    grown = [] if unit_in_doubt else sorted(filter(_grows, answers), key=_growth, reverse=True)
    standing: Standing = "worse" if left_out > before + SAME else "equal"
    if unit_in_doubt or (warnings and left_out < before - SAME):
        standing = "unchecked"
    elif len(answers) == 1:
        standing = "untested"
    elif left_out < before - SAME:
        standing = "better"
    parts = [_reason(standing, answers, before, left_out, learned.refitted)]
    if not math.isnan(left_out) and standing != "untested":
        parts += _largest(answers)
    if standing in ("better", "unchecked", "worse") and grown:
        parts.append(f"worse for {_named([_growth_words(one) for one in grown])}")
    said = [f"{'; '.join(parts)}.", _sides(answers)]
    if standing == "unchecked":
        said.insert(0, f"Check before you use it: {warnings[0]}.")
    elif standing == "worse" and warnings:
        said.append(f"Look first: {warnings[0]}.")
    return Worth(standing, before, left_out, grown, " ".join(filter(None, said)))


def _reason(
    standing: Standing, answers: Sequence[Answer], before: float, left_out: float, refitted: bool
) -> str:
    """Return whether to use an update, with the errors that say so."""
    runs = "your run" if len(answers) == 1 else f"your {len(answers)} runs"
    ends = {name: f" ({range_words(answers, name)})" if len(answers) > 1 else "" for name in COLUMNS}
    shipped = f"predictions of {runs} were off by {per_cent(before)}{ends['before']} before learning"
    if standing == "untested" and math.isnan(answers[0].width_before):  # a listing, which has no interval
        return f"Use it on this network: {shipped}, and nothing else tests what it teaches"
    if standing == "untested":
        return f"Use it for this job alone: {shipped}, and one run cannot say whether others gain"
    if math.isnan(left_out):
        return f"{capitalised(shipped)} (mean and range)"
    about = "" if refitted else "about "
    learned = f"{about}{per_cent(left_out)}{ends['left_out']}"
    said = f"{shipped} and by {learned} after, each run left out (means and ranges)"
    heads = {"better": "Use it: ", "worse": "Do not use it: ", "equal": "Use it for these jobs alone: "}
    gains = ", so that others gain nothing" if standing == "equal" else ""
    return f"{heads[standing]}{said}{gains}" if standing in heads else capitalised(said)


def range_words(answers: Sequence[Answer], name: str) -> str:
    """Return the least and the largest absolute error of some runs as text; ``name`` is that of a field."""
    sizes = [abs(math.expm1(getattr(one, name))) for one in answers]
    return f"{per_cent(min(sizes))} to {per_cent(max(sizes))}"


def _largest(answers: Sequence[Answer]) -> list[str]:
    """Return the errors of the runs on most accelerators; none if all are such."""
    most = max(one.world_size for one in answers)
    largest = [one for one in answers if one.world_size == most]
    if len(largest) == len(answers):
        return []
    who = largest[0].where if len(largest) == 1 else f"{len(largest)} runs"
    before, left_out = (
        per_cent(fmean(abs(math.expm1(getattr(one, name))) for one in largest))
        for name in ("before", "left_out")
    )
    return [f"the largest, {who} on {most} GPUs, {before} and {left_out}"]


def _grows(one: Answer) -> bool:
    return _growth(one) > SAME


def _growth(one: Answer) -> float:
    """Return by how much the absolute error of a run grows where it is left out."""
    return abs(math.expm1(one.left_out)) - abs(math.expm1(one.before))


def _growth_words(one: Answer) -> str:
    """Return a run with its errors before and left out."""
    before, after = abs(math.expm1(one.before)), abs(math.expm1(one.left_out))
    return f"{one.where} by {100 * _growth(one):.0f} points ({per_cent(before)} to {per_cent(after)})"


def _named(words: Sequence[str]) -> str:
    """Return the first few of a list as a phrase, with the number of others.

    >>> _named(["line 2", "line 3"]), _named(["a", "b", "c", "d", "e"])
    ('line 2 and line 3', 'a, b, c and 2 more')
    """
    shown = [*words[:NAMED], *([f"{len(words) - NAMED} more"] if len(words) > NAMED else [])]
    return f"{', '.join(shown[:-1])} and {shown[-1]}" if len(shown) > 1 else shown[0]


def _sides(answers: Sequence[Answer]) -> str:
    """Return which runs took longer and which less than was predicted without them."""
    slow = [one.where for one in answers if one.before < -SAME]
    fast = [one.where for one in answers if one.before > SAME]
    if len(answers) == 1:
        return f"It ran {'slower' if slow else 'faster'} than predicted." if slow or fast else ""
    parts: list[str] = []
    for where, side in (slow, "slower"), (fast, "faster"):
        if where:
            few = len(where) <= NAMED and len(where) < len(answers)
            who = _named(where) if few else f"{'all' if len(where) == len(answers) else len(where)} of them"
            parts.append(f"{who} {'' if parts else 'ran '}{side}")
    said = " and ".join(parts)
    return f"{capitalised(said)} than predicted." if said else ""


def unmoved(answers: Sequence[Answer]) -> list[Answer]:
    """Return the runs with a large error that the update does not reduce."""
    return [one for one in answers if abs(one.before) > FAR and abs(one.after) > UNMOVED * abs(one.before)]


def summary_lines(
    learned: Update, worth: Worth, warnings: Sequence[str] = (), sizes: OtherSizes | None = None
) -> list[str]:
    """Return a summary of an update as lines of text: its worth, errors, what to look at, and what changed.

    Where runs test nothing, no error of a run left out is said; an interval that runs in a wrong unit would
    widen, neither.
    """
    answers = learned.answers
    heads = {name: head for name, head in COLUMNS.items() if worth.is_tested or name != "left_out"}
    answer = [] if sizes is None else [sizes.answer]
    lines = [
        worth.advice,
        *answer,
        *_columns([(head, MEANING[name]) for name, head in heads.items()]),
        f"  {SIGN}",
    ]
    lines += _columns(
        [("", "measured", *heads.values(), "run")]
        + [
            (
                one.where,
                "\n".join(measured_words(one)),
                *(per_cent(math.expm1(getattr(one, name)), signed=True) for name in heads),
                one.run,
            )
            for one in answers
        ]
    )
    lines += [f"look at: {line}" for line in warnings if line not in worth.advice]
    if sizes is None:
        lines += _narrower(answers) if worth.is_tested or worth.standing == "untested" else []
    else:
        lines += [f"{sizes.title}:", *_columns([HEADINGS, *sizes.rows]), sentence(sizes.assumed)]
    if named := unmoved(answers):
        far = "; ".join(f"{one.where} ({one.run})" for one in named)
        lines.append(f"error as large as before, for a reason that no factor here describes: {far}")
    moved = [(factor, known, name) for name, factor, known in moved_rows(learned)]
    lines += ["moved (time of computation, rate of links):", *_columns(moved)] if moved else []
    return [part for line in lines for part in _wrapped(line)]


def measured_words(one: Answer) -> list[str]:
    """Return the measured throughput of a run, if it trains, and its time, as text."""
    return [*([f"{rate_number(one.rate)} {one.unit}"] if one.unit else []), show(one.time, "s")]


def moved_rows(learned: Update) -> list[tuple[str, str, str]]:
    """Return name, factor and how well it is known, now and before, of what the runs move."""
    return [
        (
            effect_words(name),
            f"x {math.exp(learned.own.logarithms[name]):.3f}",
            f"+- {per_cent(after, 0)}, before {per_cent(before, 0)}",
        )
        for name, (before, after) in learned.deviations.items()
    ]


def _wrapped(line: str) -> list[str]:
    """Return a line in lines of 80 columns; those of a table are wrapped already."""
    return [line] if line.startswith(" ") else wrapped(line, WIDTH)


def _narrower(answers: Sequence[Answer]) -> list[str]:
    """Return a line on the widest interval of these jobs before and after; none without intervals."""
    widths = [(one.width_before, one.width_after) for one in answers if not math.isnan(one.width_before)]
    if not widths:
        return []
    before, after = (per_cent(math.expm1(max(each)), 0) for each in zip(*widths, strict=True))
    return [
        f"80 % intervals of these measured jobs reach at most {before} above the prediction, {after} with "
        "your runs"
    ]


def _columns(rows: Sequence[tuple[str, ...]]) -> list[str]:
    """Return rows of cells as indented lines with aligned columns, the last one wrapped.

    A cell may have several lines.
    """
    cells = [[cell.split("\n") for cell in row[:-1]] for row in rows]
    widths = [max(len(line) for row in cells for line in row[n]) for n in range(len(rows[0]) - 1)]
    left = WIDTH - 2 - sum(widths) - 2 * len(widths)
    lines = []
    for row, front in zip(rows, cells, strict=True):
        last = textwrap.wrap(row[-1], left, break_long_words=False) or [""]
        for parts in zip_longest(*front, last, fillvalue=""):
            first = "".join(f"{part:<{width}}  " for part, width in zip(parts, widths, strict=False))
            lines.append(f"  {first}{parts[-1]}".rstrip())
    return lines
