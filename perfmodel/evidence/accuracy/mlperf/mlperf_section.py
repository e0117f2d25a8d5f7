"""The report's section on MLPerf Training: errors of the time to train by round, next to a naive baseline."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any

from perfmodel.core.files.templating import render
from perfmodel.evidence.accuracy.campaign import Mode
from perfmodel.evidence.accuracy.mlperf.mlperf import (
    KEYS,
    OTHERS,
    SEEN,
    Row,
    by_size,
    shipped_rows,
    summarise_mlperf,
)
from perfmodel.evidence.accuracy.report.error_statistics import statistics

GOAL = 0.15
"""Goal for the median absolute error."""
LARGE = 64
"""Number of accelerators from which a job counts as large."""
NAIVE_SIZES: dict[str, Callable[[int], bool]] = {
    "all": lambda n: True,
    f"fewer than {LARGE} accelerators": lambda n: n < LARGE,
    f"{LARGE} and more": lambda n: n >= LARGE,
}
MODES: dict[str, Mode] = {"from specs": "specs", "anchored": "anchored"}


@cache
def section() -> str:
    """Return the section as Markdown; rendered once."""
    modes = {
        "From specs alone": shipped_rows("specs"),
        "Anchored on machines of the other rounds": shipped_rows("anchored"),
        "The same with the rounds before alone": shipped_rows("anchored", earlier=True),
    }
    specs, anchored, _ = modes.values()
    by_specs, by_anchor = summarise_mlperf(specs), summarise_mlperf(anchored)
    return render(
        "mlperf.md.j2",
        submissions=sum(row.reason != OTHERS for row in specs),
        without_rate=sum(row.error is not None and not row.run.job.samples_per_second for row in specs),
        goal=GOAL,
        headline={name: statistics(rows) for name, rows in modes.items()},
        rounds=[
            (name, group, by_anchor[by].get(name))
            for by in ("all", *KEYS)
            for name, group in by_specs[by].items()
        ],
        seen=SEEN,
        covered=covered(),
        naive=_naive([*zip(*modes.values(), strict=True)]),
    )


@cache
def covered() -> dict[str, dict[str, Any]]:
    """Return the error statistics of iteration times, which no fit has seen, by mode and size of job."""
    result: dict[str, dict[str, Any]] = {}
    for name, mode in MODES.items():
        result |= by_size(shipped_rows(mode), f"MLPerf, {name}")
    return result


def _naive(rows: list[tuple[Row, ...]]) -> list[tuple[str, list[dict[str, Any]], dict[str, Any]]]:
    """Return by size of job the errors of each mode and of the naive baseline.

    Parameters
    ----------
    rows : for each submission its row in every mode; those that lack a prediction are left out
    """
    shown = [each for each in rows if each[0].naive and all(row.error is not None for row in each)]
    result = []
    for name, holds in NAIVE_SIZES.items():
        alike = [each for each in shown if holds(each[0].run.job.world_size)]
        by_mode = [statistics(of) for of in zip(*alike, strict=True)]
        result.append((name, by_mode, by_mode[0]["baseline"]))
    return result
