"""The report's section on MLPerf Training: time to train by round, next to a naive answer's."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import cache
from typing import Any

from perfmodel.accuracy.mlperf import Answer, Mode, compare_mlperf, errors_by
from perfmodel.accuracy.summary import Errors, errors, statistics
from perfmodel.templating import render

GOAL = 0.15
"""Median absolute error that was aimed at."""
LARGE = 64
"""Accelerators from which a job counts as large."""
SEEN = 64
"""Accelerators of the largest job in any fit."""
SIZES: dict[str, Callable[[int], bool]] = {
    "": lambda n: True,
    f", to {SEEN} accelerators": lambda n: n <= SEEN,
    f", above {SEEN}": lambda n: n > SEEN,
}
MODES: dict[str, Mode] = {"from specs": "specs", "anchored": "anchored"}


@cache
def section() -> str:
    """Return the section, as Markdown; made once."""
    modes = {
        "From specs alone": compare_mlperf("specs"),
        "Anchored on machines of the other rounds": compare_mlperf("anchored"),
        "The same with the rounds before alone": compare_mlperf("anchored", earlier=True),
    }
    specs, anchored, _ = modes.values()
    others = errors_by(anchored)
    return render(
        "mlperf.md.j2",
        specs=specs,
        without_rate=sum(each.error is not None and not each.submission.samples_per_second for each in specs),
        goal=GOAL,
        headline={name: errors_by(answers)["all"]["all"] for name, answers in modes.items()},
        rounds=[
            (name, result, others[kind].get(name))
            for kind, groups in errors_by(specs).items()
            for name, result in groups.items()
        ],
        seen=SEEN,
        large=LARGE,
        covered=covered(),
        naive=_naive([*zip(*modes.values(), strict=True)]),
    )


@cache
def covered() -> dict[str, dict[str, Any]]:
    """Return the statistics of the iteration time, which no fit has seen, in both modes, all and by size."""
    result = {}
    for name, mode in MODES.items():
        rows = [each.iteration for each in compare_mlperf(mode) if each.interval and each.iteration_time]
        for size, holds in SIZES.items():
            if alike := [row for row in rows if holds(row.run.world_size)]:
                result[f"MLPerf, {name}{size}"] = statistics(alike)
    return result


def _naive(modes: list[tuple[Answer, ...]]) -> list[tuple[str, list[Errors], Errors]]:
    """By size: errors of each way to predict and of the naive answer, on the rows that have them all."""
    shown = [
        each
        for each in modes
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
        result.append(
            (name, [_statistics(answer.error for answer in of) for of in zip(*rows, strict=True)], naive)
        )
    return result


def _statistics(signed: Iterable[float | None]) -> Errors:
    return errors([error for error in signed if error is not None])
