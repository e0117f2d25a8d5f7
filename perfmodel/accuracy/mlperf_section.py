"""The report's section on MLPerf Training: time to train by round, and the causes of large errors."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from functools import cache, partial
from statistics import fmean, median
from typing import NamedTuple

from perfmodel.accuracy.mlperf import Answer, Mode, compare_mlperf, errors_by
from perfmodel.accuracy.mlperf_kernels import Changes
from perfmodel.accuracy.summary import Errors, errors
from perfmodel.templating import render

GOAL = 0.15
"""Median absolute error that was aimed at."""
LARGE = 64
"""Accelerators from which a job counts as large."""
RECENT = ("v1.0", "v1.1")
LATER = ("v2.0", "v2.1")
"""Rounds that came into the table after the list of joined kernels and replayed graphs was drawn up."""
SEEN = 64
"""Accelerators of the largest job in any fit."""
MODES: dict[str, Mode] = {"from specs": "specs", "anchored": "anchored"}
KERNELS: Changes = frozenset({"joined", "replayed"})
SUBMITTED: Changes = KERNELS | {"transformer"}


@cache
def section() -> str:
    """Return the section, as Markdown; made once."""
    specs, anchored = compare_mlperf("specs"), compare_mlperf("anchored")
    forecast = compare_mlperf("anchored", earlier=True)
    joined, submitted = (compare_mlperf("specs", changes=each) for each in (KERNELS, SUBMITTED))
    launches = [
        each.launch_share
        for each in specs
        if each.submission.round in RECENT and each.submission.world_size > LARGE and each.launch_share
    ]
    others = errors_by(anchored)
    return render(
        "mlperf.md.j2",
        specs=specs,
        without_rate=sum(each.error is not None and not each.submission.samples_per_second for each in specs),
        goal=GOAL,
        headline=headline(specs, submitted, anchored, forecast),
        rounds=[
            (name, result, others[kind].get(name))
            for kind, groups in errors_by(specs).items()
            for name, result in groups.items()
        ],
        seen=SEEN,
        large=LARGE,
        covered=covered(),
        naive=_naive(specs, anchored, forecast),
        ingredients=_ingredients(specs, anchored, joined, submitted),
        ratio=partial(_ratio, specs),
        launches=launches,
        bias=_whole(specs).bias,
        bias_joined=_whole(joined).bias,
        later=LATER,
        later_error=_whole(of_later(specs)),
        later_joined=_whole(of_later(joined)),
        later_submitted=_whole(of_later(submitted)),
    )


def headline(
    specs: Sequence[Answer],
    submitted: Sequence[Answer],
    anchored: Sequence[Answer],
    forecast: Sequence[Answer],
) -> dict[str, Errors]:
    """Return the main errors, whose medians are compared with the goal."""
    return {
        "From specs alone": _whole(specs),
        "From specs and the software that configurations name": _whole(submitted),
        "Anchored on machines of the other rounds": _whole(anchored),
        "The same with the rounds before alone": _whole(forecast),
    }


def _whole(answers: Sequence[Answer]) -> Errors:
    return errors_by(answers)["all"]["all"]


class Covered(NamedTuple):
    """Coverage of the intervals of the iteration time on rows outside every fit."""

    name: str
    n: int
    mean: float
    median: float
    """Absolute errors of the iteration time."""
    share: float
    """Inside the interval of 80 %."""


@cache
def covered() -> tuple[Covered, ...]:
    """Return the coverage of the intervals in both modes, of all rows and by size."""
    sizes: tuple[tuple[str, Callable[[int], bool]], ...] = (
        ("", lambda n: True),
        (f", to {SEEN} accelerators", lambda n: n <= SEEN),
        (f", above {SEEN}", lambda n: n > SEEN),
    )
    result = []
    for name, mode in MODES.items():
        known = [each for each in compare_mlperf(mode) if each.is_inside is not None]
        for size, holds in sizes:
            rows = [each for each in known if holds(each.submission.world_size)]
            if not rows:
                continue
            ratios = [
                each.submission.samples_per_second / each.samples_per_second
                for each in rows
                if each.samples_per_second and each.submission.samples_per_second
            ]
            wrong = [abs(ratio - 1) for ratio in ratios]
            share = fmean(bool(each.is_inside) for each in rows)
            result.append(Covered(f"MLPerf, {name}{size}", len(rows), fmean(wrong), median(wrong), share))
    return tuple(result)


def _naive(
    specs: Sequence[Answer], anchored: Sequence[Answer], forecast: Sequence[Answer]
) -> list[tuple[str, list[Errors], Errors]]:
    """By size: errors of three ways to predict and of the naive answer, on the rows that have them all."""
    shown = [
        each
        for each in zip(specs, anchored, forecast, strict=True)
        if each[0].naive_time is not None and all(answer.error is not None for answer in each)
    ]
    sizes: tuple[tuple[str, Callable[[int], bool]], ...] = (
        ("all", lambda n: True),
        (f"fewer than {LARGE} accelerators", lambda n: n < LARGE),
        (f"{LARGE} and more", lambda n: n >= LARGE),
    )
    result = []
    for name, holds in sizes:
        rows = [each for each in shown if holds(each[0].submission.world_size)]
        naive = _statistics(first.error_of(first.naive_time) for first, *_ in rows)
        result.append((name, [_statistics(each[mode].error for each in rows) for mode in range(3)], naive))
    return result


def _statistics(signed: Iterable[float | None]) -> Errors:
    return errors([error for error in signed if error is not None])


def _ingredients(
    specs: Sequence[Answer],
    anchored: Sequence[Answer],
    both: Sequence[Answer],
    submitted: Sequence[Answer],
) -> list[tuple[str, Errors, Errors]]:
    """Errors of ResNet-50 and of BERT that would be left with one ingredient right."""
    joined = compare_mlperf("specs", changes=frozenset({"joined"}))
    replayed = compare_mlperf("specs", changes=frozenset({"replayed"}))
    later = " and ".join(LATER)
    shown: list[tuple[str, Sequence[Answer], bool, bool]] = [
        ("from specs, as above", specs, False, False),
        ("samples to the target as they were", specs, True, False),
        ("rate as it was", specs, False, True),
        ("both as they were (the rates of BERT have its evaluations in them)", specs, True, True),
        ("joined kernels, as configurations name them", joined, False, False),
        ("no launches, where graphs are replayed", replayed, False, False),
        ("joined kernels and no launches", both, False, False),
        ("the same, samples to the target as they were", both, True, False),
        ("the same, BERT by the model of transformers", submitted, False, False),
        (f"from specs, {later}", of_later(specs), False, False),
        (f"joined kernels and no launches, {later}", of_later(both), False, False),
        (f"the same, BERT by the model of transformers, {later}", of_later(submitted), False, False),
        ("anchored, as above", anchored, False, False),
        ("anchored, samples to the target as they were", anchored, True, False),
        (
            "anchored, joined kernels and no launches",
            compare_mlperf("anchored", changes=KERNELS),
            False,
            False,
        ),
    ]
    result = []
    for name, answers, samples, rate in shown:
        resnet50, bert = (
            _statistics(
                _with_oracles((x for x in answers if x.submission.benchmark == benchmark), samples, rate)
            )
            for benchmark in ("resnet50", "bert")
        )
        result.append((name, resnet50, bert))
    return result


def of_later(answers: Iterable[Answer]) -> list[Answer]:
    """Return the answers for rounds that the list of kernels had not seen."""
    return [each for each in answers if each.submission.round in LATER]


def _with_oracles(answers: Iterable[Answer], samples: bool, rate: bool) -> Iterable[float | None]:
    """Signed errors with the rows' own samples to the target, or rate, where they state them."""
    for each in answers:
        own_samples, own_rate = each.submission.samples_to_target, each.submission.samples_per_second
        if (samples and own_samples is None) or (rate and own_rate is None):
            continue
        yield each.error_of(each.time_with(own_samples if samples else None, own_rate if rate else None))


def _ratio(answers: Iterable[Answer], benchmark: str, *rounds: str, large: bool = False) -> str:
    """Median of predicted over measured rate in these rounds, with n; of large jobs or of all others."""
    ratios = [
        each.samples_per_second / asked.samples_per_second
        for each in answers
        if (asked := each.submission).benchmark == benchmark
        and asked.round in rounds
        and (asked.world_size >= LARGE) == large
        and each.samples_per_second
        and asked.samples_per_second
    ]
    return f"{median(ratios):.2f} (n {len(ratios)})" if ratios else "- (n 0)"
