"""The main accuracy figures, each with its goal."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

from perfmodel.core.files.templating import percent
from perfmodel.evidence.accuracy.report.error_statistics import counted, statistics, trusted
from perfmodel.evidence.accuracy.training_compare import Row
from perfmodel.evidence.accuracy.training_rows import Run

COVERAGE_BAR = 0.75
"""Goal for the coverage of 80 % intervals: the least acceptable share; the ledger tests the same on new
rows."""
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
"""Groups of rows: name, goals for mean and median absolute error, mode, and which runs belong to it."""


class Headline(NamedTuple):
    """One line of the main figures: errors of the iteration time."""

    name: str
    bar: tuple[float, float] | None
    """Goals: upper limits of the mean and the median absolute error; None if the line has no goals."""
    of: Mapping[str, Any]
    """Error statistics of its rows."""

    def missed(self) -> list[str]:
        """Return a text for each figure of the line that misses its goal."""
        whats, covered = ("mean", "median"), self.of["coverage_80"]
        misses = [
            f"{what} {percent(value)}, bar {percent(bar)}"
            for what, bar in zip(whats, self.bar or (), strict=False)
            if (value := self.of[f"{what}_absolute_error"]) >= bar
        ]
        if covered is not None and covered < COVERAGE_BAR:
            misses.append(f"80 % covers {percent(covered)}, bar {percent(COVERAGE_BAR)}")
        return [f"{self.name}: {each}" for each in misses]

    def missed_over_sources(self) -> list[str]:
        """Return a text if the mean over sources exceeds the goal of the mean over rows; else none."""
        mean = self.of["mean_over_sources"]
        if self.bar is None or mean < self.bar[0]:
            return []
        return [f"{self.name}: {percent(mean)}, bar {percent(self.bar[0])}"]


def headline(specs: Sequence[Row], anchored: Sequence[Row]) -> list[Headline]:
    """Return the main figures of every group that has a predicted row.

    If some anchors of a group are ambiguous, a second line follows that includes their rows.

    Parameters
    ----------
    specs : rows predicted from specs
    anchored : rows predicted from an anchor
    """
    modes = {"specs": specs, "anchored": anchored}
    result = []
    for name, bar, mode, keep in GROUPS:
        every = [row for row in modes[mode] if row.error is not None and trusted(row) and keep(row.run)]
        sure = [row for row in every if counted(row)]
        if sure:
            result.append(Headline(name, bar, statistics(sure)))
        if len(every) > len(sure):
            result.append(Headline(f"{name}, with ambiguous anchors", bar, statistics(every)))
    return result
