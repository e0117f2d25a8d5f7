"""Error statistics: over everything, by group, and next to the naive baseline."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Sequence
from statistics import fmean, median
from typing import Any, NamedTuple

from perfmodel.accuracy.compare import Row
from perfmodel.accuracy.runs import TRUSTED
from perfmodel.specs.names import shown

GROUPS: dict[str, Callable[[Row], Any]] = {
    "source": lambda row: row.run.source,
    "accelerator": lambda row: row.run.accelerator,
    "workload": lambda row: row.run.workload,
    "strategy": lambda row: row.run.strategy,
    "world-size": lambda row: row.run.world_size,
}
"""What rows are grouped by -> the group of a row."""

ROUNDING = 1e-5
"""Of an interval's ends, relative: rows are written to six figures, and a measured time may be an end."""

BASELINES = {
    "specs": "constant utilisation",
    "anchored": "linear scaling",
    "anchored-machine": "linear scaling",
}


class Errors(NamedTuple):
    """Statistics of signed errors, predicted over measured less 1; None where there is nothing."""

    n: int
    mean_absolute_error: float | None
    median_absolute_error: float | None
    bias: float | None
    """Mean of the signed errors; positive: we say too slow."""
    within_10: float | None
    """Share of rows off by at most 10 %."""
    within_20: float | None


def errors(signed: Sequence[float]) -> Errors:
    """Return the statistics of signed errors.

    A sixteenth too slow, an eighth too fast, a quarter too slow, a sixteenth too fast: an eighth on average,
    a sixteenth and an eighth in the middle, and the signs leave a thirty-second.

    >>> found = errors([1 / 16, -1 / 8, 1 / 4, -1 / 16])
    >>> found.n, found.mean_absolute_error, found.median_absolute_error, found.bias
    (4, 0.125, 0.09375, 0.03125)
    >>> found.within_10, found.within_20
    (0.5, 0.75)
    """
    if not signed:
        return Errors(0, None, None, None, None, None)
    absolute = [abs(error) for error in signed]
    return Errors(
        len(signed),
        fmean(absolute),
        median(absolute),
        fmean(signed),
        fmean(error <= 0.10 for error in absolute),
        fmean(error <= 0.20 for error in absolute),
    )


def statistics(rows: Iterable[Row]) -> dict[str, Any]:
    """Return the statistics of the rows that were predicted, with interval coverage and the baseline's.

    A mean over rows is mostly that of the largest sources; ``mean_over_sources`` weighs each source alike.
    """
    predicted = [row for row in rows if row.error is not None]
    answer: dict[str, Any] = errors([row.error for row in predicted if row.error is not None])._asdict()
    answer |= over_sources((row.run.source, row.error) for row in predicted if row.error is not None)
    answer["coverage_80"] = _coverage(
        [(row.low_80, row.measured_iteration_time, row.high_80) for row in predicted]
    )
    answer["baseline"] = errors(
        [row.naive_error for row in predicted if row.naive_error is not None]
    )._asdict()
    return answer


def over_sources(signed: Iterable[tuple[str, float]]) -> dict[str, Any]:
    """Return the mean over sources of each source's mean absolute error, and how many there are.

    >>> over_sources([("a", 0.1), ("a", -0.3), ("b", 0.4)])
    {'sources': 2, 'mean_over_sources': 0.30000000000000004}
    >>> over_sources([])
    {'sources': 0, 'mean_over_sources': None}
    """
    result: defaultdict[str, list[float]] = defaultdict(list)
    for source, error in signed:
        result[source].append(abs(error))
    mean = fmean(map(fmean, result.values())) if result else None
    return {"sources": len(result), "mean_over_sources": mean}


def _coverage(spans: list[tuple[float | None, float | None, float | None]]) -> float | None:
    """Share of the measured values inside their intervals; None where no row has one."""
    known = [
        low * (1 - ROUNDING) <= measured <= high * (1 + ROUNDING)
        for low, measured, high in spans
        if low is not None and measured is not None and high is not None
    ]
    return fmean(known) if known else None


def trusted(row: Row) -> bool:
    """Whether a row is of trust A or B."""
    return row.run.trust in TRUSTED


def counted(row: Row) -> bool:
    """Whether a row enters the error table: trust A or B, and an anchor, if any, that is not in doubt."""
    return trusted(row) and row.anchor != "ambiguous"


def grouped(rows: Iterable[Row], by: str) -> dict[str, dict[str, Any]]:
    """Return the statistics of each group with a predicted row; ``by`` is a key of ``GROUPS``."""
    groups: defaultdict[Any, list[Row]] = defaultdict(list)
    for row in rows:
        if row.error is not None:
            groups[GROUPS[by](row)].append(row)
    return {str(name): statistics(groups[name]) for name in sorted(groups)}


def by_reason(reasons: Iterable[str | None]) -> dict[str, int]:
    """Return how many were refused for each kind of reason, the most frequent first.

    >>> by_reason(["unknown link: a", None, "no batch size", "unknown link: b"])
    {'unknown link': 2, 'no batch size': 1}
    """
    return dict(Counter(reason.split(": ")[0] for reason in reasons if reason).most_common())


def refusals(reasons: Iterable[str | None]) -> list[tuple[int, str]]:
    """Return how many were refused for each kind of reason, and of what is unknown the most frequent names.

    >>> refusals(["unknown link: a", None, "no batch size", "unknown link: b"])
    [(2, 'unknown link: a, b'), (1, 'no batch size')]
    """
    given = [reason for reason in reasons if reason]
    result = []
    for kind, count in by_reason(given).items():
        names = [reason.removeprefix(f"{kind}: ") for reason in given if reason.startswith(f"{kind}: ")]
        common = [name for name, _ in Counter(names).most_common()] if kind.startswith("unknown ") else []
        result.append((count, f"{kind}: {shown(common, ', ')}" if common else kind))
    return result


def refused_by_reason(rows: Iterable[Row]) -> dict[str, int]:
    """Return how many rows were refused for each kind of reason, the most frequent first."""
    return by_reason(row.reason for row in rows)


def summary(rows: Sequence[Row]) -> dict[str, Any]:
    """Return the summary of ``perfmodel validate``: counts, statistics, and statistics by group.

    Rows of trust C and rows whose anchor is ambiguous have their own entries, as have all of trust A and B
    together, whatever their anchor; trust D is only counted.
    """
    table = [row for row in rows if counted(row)]
    doubtful = [row for row in rows if trusted(row) and row.anchor == "ambiguous"]
    refused = [row for row in rows if row.reason]
    mode = rows[0].mode
    return {
        "mode": mode,
        "rows": len(rows),
        "refused": len(refused),
        "refused_trust_a_b": sum(map(trusted, refused)),
        "refused_by_reason": refused_by_reason(rows),
        "baseline_name": BASELINES[mode],
        **statistics(table),
        "by": {name: grouped(table, name) for name in GROUPS},
        "ambiguous": {**statistics(doubtful), "by": {name: grouped(doubtful, name) for name in GROUPS}},
        "with_ambiguous": statistics(row for row in rows if trusted(row)),
        "trust_c": statistics(row for row in rows if row.run.trust == "C"),
        "trust_d": sum(row.run.trust == "D" for row in rows),
    }
