"""The figures people ask for first, each beside its bar."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

from perfmodel.validate.compare import Row
from perfmodel.validate.summary import counted, statistics

COVERAGE_BARS = {80: (0.75, 0.87), 95: (0.91, 0.98)}
"""What intervals must cover, by their confidence in per cent."""


class Headline(NamedTuple):
    """One line of the figures people ask for first; errors of the iteration time."""

    name: str
    n: int
    mean: float | None
    median: float | None
    bar: tuple[float, float] | None
    """What mean and median were to stay below."""
    naive_mean: float | None
    naive_median: float | None
    covered: tuple[float | None, float | None]
    """Shares inside the intervals of 80 and 95 %."""

    def missed(self) -> list[str]:
        """What of the line is beyond its bars, in words."""
        said = [
            f"{what} {percent(value)}, bar {percent(bar)}"
            for what, value, bar in zip(
                ("mean", "median"), (self.mean, self.median), self.bar or (), strict=False
            )
            if value is not None and value >= bar
        ]
        said += [
            f"{confidence} % covers {percent(share)}, bar {percent(low)} to {percent(high)}"
            for (confidence, (low, high)), share in zip(COVERAGE_BARS.items(), self.covered, strict=True)
            if share is not None and not low <= share <= high
        ]
        return [f"{self.name}: {each}" for each in said]


def headline(specs: Sequence[Row], anchored: Sequence[Row]) -> list[Headline]:
    """Return the figures people ask for first: those of groups with a predicted row."""
    one_process = "data-parallel-single-process"

    def trusted(row: Row) -> bool:
        return row.run.trust in ("A", "B")

    groups: tuple[tuple[str, tuple[float, float] | None, Sequence[Row], Callable[[Row], bool]], ...] = (
        (
            "from specs, one accelerator",
            (0.20, 0.13),
            specs,
            lambda row: counted(row) and row.run.world_size == 1,
        ),
        ("from specs, all world sizes", (0.23, 0.15), specs, counted),
        (
            "anchored, all-reduce and parameter servers",
            (0.09, 0.055),
            anchored,
            lambda row: counted(row) and row.run.strategy != one_process,
        ),
        (
            "anchored, parameter server alone",
            (0.10, 0.06),
            anchored,
            lambda row: counted(row) and row.run.strategy == "parameter-server",
        ),
        (
            "anchored, one process",
            (0.22, 0.16),
            anchored,
            lambda row: counted(row) and row.run.strategy == one_process,
        ),
        (
            "the same, with ambiguous anchors",
            (0.22, 0.16),
            anchored,
            lambda row: trusted(row) and row.run.strategy == one_process,
        ),
        (
            "one process, fold of `ryujaehun`",
            None,
            anchored,
            lambda row: counted(row) and row.run.strategy == one_process and row.run.source == "ryujaehun",
        ),
        ("anchored, all strategies", None, anchored, counted),
    )
    found = []
    for name, bar, rows, keep in groups:
        kept = [row for row in rows if row.error is not None and keep(row)]
        if kept:
            told = statistics(kept)
            naive, covered = told["baseline"], (told["coverage_80"], told["coverage_95"])
            own = told["mean_absolute_error"], told["median_absolute_error"]
            found.append(
                Headline(
                    name,
                    told["n"],
                    *own,
                    bar,
                    naive["mean_absolute_error"],
                    naive["median_absolute_error"],
                    covered,
                )
            )
    return found


def percent(share: float | None, signed: bool = False) -> str:
    """Return a share as people read it, or a dash.

    >>> percent(0.1234), percent(-0.5, signed=True), percent(None)
    ('12.3 %', '-50.0 %', '-')
    """
    if share is None:
        return "-"
    return f"{100 * share:{'+' if signed else ''}.1f} %"
