"""The main accuracy figures, each beside its goal."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

from perfmodel.accuracy.compare import Row
from perfmodel.accuracy.runs import Run
from perfmodel.accuracy.summary import counted, statistics, trusted
from perfmodel.templating import percent

COVERAGE_BAR = 0.75
"""What intervals of 80 % must cover at the least; the ledger says if they hold."""
ALL_REDUCE, SERVERS = "anchored, all-reduce and parameter servers", "anchored, parameter server alone"
FOLD = "one process, fold of `ryujaehun`"
ONE_PROCESS = "data-parallel-single-process"
GROUPS: tuple[tuple[str, tuple[float, float] | None, str, Callable[[Run], bool]], ...] = (
    ("from specs, one accelerator", (0.20, 0.13), "specs", lambda run: run.world_size == 1),
    ("from specs, all world sizes", (0.23, 0.15), "specs", lambda run: True),
    (ALL_REDUCE, (0.09, 0.055), "anchored", lambda run: run.strategy != ONE_PROCESS),
    (SERVERS, (0.10, 0.06), "anchored", lambda run: run.strategy == "parameter-server"),
    ("anchored, one process", (0.22, 0.16), "anchored", lambda run: run.strategy == ONE_PROCESS),
    (FOLD, None, "anchored", lambda run: (run.strategy, run.source) == (ONE_PROCESS, "ryujaehun")),
    ("anchored, all strategies", None, "anchored", lambda run: True),
)
"""Name, bars of the mean and the median, mode, and which runs."""


class Headline(NamedTuple):
    """One line of the main figures: errors of the iteration time."""

    name: str
    n: int
    mean: float | None
    """Over rows."""
    mean_over_sources: float | None
    median: float | None
    bar: tuple[float, float] | None
    """Goals: upper limits of the mean over rows and of the median."""
    naive_mean: float | None
    naive_median: float | None
    covered: float | None
    """Share inside the intervals of 80 %."""

    def missed(self) -> list[str]:
        """Say which figures of the line miss their goals."""
        said = [
            f"{what} {percent(value)}, bar {percent(bar)}"
            for what, value, bar in zip(
                ("mean", "median"), (self.mean, self.median), self.bar or (), strict=False
            )
            if value is not None and value >= bar
        ]
        if self.covered is not None and self.covered < COVERAGE_BAR:
            said.append(f"80 % covers {percent(self.covered)}, bar {percent(COVERAGE_BAR)}")
        return [f"{self.name}: {each}" for each in said]

    def missed_over_sources(self) -> list[str]:
        """Say whether the mean over sources exceeds the goal of the mean over rows."""
        mean = self.mean_over_sources
        if mean is None or self.bar is None or mean < self.bar[0]:
            return []
        return [f"{self.name}: {percent(mean)}, bar {percent(self.bar[0])}"]


def headline(specs: Sequence[Row], anchored: Sequence[Row]) -> list[Headline]:
    """Return the main figures of every group with a predicted row.

    Where some of a group's anchors are ambiguous, a second line below the group's own counts their rows too.
    """
    modes = {"specs": specs, "anchored": anchored}
    result = []
    for name, bar, mode, keep in GROUPS:
        every = [row for row in modes[mode] if row.error is not None and trusted(row) and keep(row.run)]
        sure = [row for row in every if counted(row)]
        if sure:
            result.append(_line(name, bar, sure))
        if len(every) > len(sure):
            result.append(_line(f"{name}, with ambiguous anchors", bar, every))
    return result


def _line(name: str, bar: tuple[float, float] | None, rows: Sequence[Row]) -> Headline:
    report = statistics(rows)
    naive = report["baseline"]
    return Headline(
        name,
        report["n"],
        report["mean_absolute_error"],
        report["mean_over_sources"],
        report["median_absolute_error"],
        bar,
        naive["mean_absolute_error"],
        naive["median_absolute_error"],
        report["coverage_80"],
    )
