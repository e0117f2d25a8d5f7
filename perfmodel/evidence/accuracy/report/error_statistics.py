"""Error statistics: over everything, by group, and next to the naive baseline."""

from __future__ import annotations

import math
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from statistics import fmean, median
from typing import Any, NamedTuple, TypeVar

from perfmodel.core.records.names import shown
from perfmodel.evidence.accuracy.by_source import by_source, mean_of_means
from perfmodel.evidence.accuracy.campaign import Outcome
from perfmodel.evidence.accuracy.training_compare import Row
from perfmodel.evidence.accuracy.training_rows import TRUSTED

AnyRow = TypeVar("AnyRow", bound=Outcome)

GROUPS: dict[str, Callable[[Row], Any]] = {
    "source": lambda row: row.run.source,
    "accelerator": lambda row: row.run.accelerator,
    "workload": lambda row: row.run.workload,
    "strategy": lambda row: row.run.strategy,
    "world-size": lambda row: row.run.world_size,
}
"""What rows are grouped by -> the group of a row."""

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


def statistics(rows: Iterable[Outcome]) -> dict[str, Any]:
    """Return the statistics of the rows that were predicted, with interval coverage and the naive answer's.

    A mean over rows is mostly that of the largest sources; what is over sources weighs each source alike.
    """
    predicted = [row for row in rows if row.error is not None]
    signed = [(row.run.source, row.error) for row in predicted if row.error is not None]
    held = [(row.run.source, row.holds_80) for row in predicted if row.holds_80 is not None]
    medians = [median(map(abs, of)) for of in by_source(signed).values()]
    return {
        **errors([error for _, error in signed])._asdict(),
        "sources": len(medians),
        "mean_over_sources": mean_of_means((source, abs(error)) for source, error in signed),
        "median_over_sources": median(medians) if medians else None,
        "mean_of_medians": mean(medians),
        "coverage_80": mean(each for _, each in held),
        "coverage_80_over_sources": mean_of_means(held),
        "baseline": errors([row.naive_error for row in predicted if row.naive_error is not None])._asdict(),
    }


AnyRun = TypeVar("AnyRun", bound=Any)


def beside(
    own: Sequence[AnyRun], shipped: Sequence[AnyRun], compare: Callable[[list[AnyRun]], list[AnyRow]]
) -> list[AnyRow]:
    """Compare a user's rows together with those that come along, but for those of the same ids."""
    names = {each.run_id for each in own}
    others = [each for each in shipped if each.run_id not in names]
    return compare([*others, *own])[len(others) :]


def mean(values: Iterable[float]) -> float | None:
    """Return the mean, None of nothing."""
    known = list(values)
    return fmean(known) if known else None


def trusted(row: Outcome) -> bool:
    """Whether a row is of trust A or B."""
    return row.run.trust in TRUSTED


def counted(row: Outcome) -> bool:
    """Whether a row enters the error table: trust A or B, and an anchor, if any, that is not in doubt."""
    return trusted(row) and row.anchor != "ambiguous"


def furthest(rows: Iterable[AnyRow]) -> list[AnyRow]:
    """Return the rows that were predicted, those first whose ratio is furthest from 1, either way."""
    far = [(-abs(math.log(1 + row.error)), row.run.run_id, row) for row in rows if row.error is not None]
    return [row for *_, row in sorted(far, key=lambda each: each[:2])]


def grouped(rows: Iterable[AnyRow], key: Callable[[AnyRow], Any]) -> dict[str, dict[str, Any]]:
    """Return the statistics of each group with a predicted row, by the key of its rows."""
    groups: defaultdict[Any, list[AnyRow]] = defaultdict(list)
    for row in rows:
        if row.error is not None:
            groups[key(row)].append(row)
    return {str(name): statistics(groups[name]) for name in sorted(groups)}


def by_group(rows: Sequence[AnyRow], groups: Mapping[str, Callable[[AnyRow], Any]]) -> dict[str, Any]:
    """Return the statistics of each group, by what rows are grouped by."""
    return {name: grouped(rows, key) for name, key in groups.items()}


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


def counts(rows: Sequence[Outcome]) -> dict[str, Any]:
    """Return how many rows there are, how many are refused, and why."""
    reasons = [row.reason for row in rows if row.reason]
    return {"rows": len(rows), "refused": len(reasons), "refused_by_reason": by_reason(reasons)}


def summary(rows: Sequence[Row]) -> dict[str, Any]:
    """Return the summary of ``perfmodel validate``: counts, statistics, and statistics by group.

    Rows of trust C and rows whose anchor is ambiguous have their own entries, as have all of trust A and B
    together, whatever their anchor; trust D is only counted.
    """
    table = [row for row in rows if counted(row)]
    doubtful = [row for row in rows if trusted(row) and row.anchor == "ambiguous"]
    mode = rows[0].mode
    return {
        "mode": mode,
        **counts(rows),
        "refused_trust_a_b": sum(trusted(row) for row in rows if row.reason),
        "baseline_name": BASELINES[mode],
        **statistics(table),
        "by": by_group(table, GROUPS),
        "ambiguous": {**statistics(doubtful), "by": by_group(doubtful, GROUPS)},
        "with_ambiguous": statistics(row for row in rows if trusted(row)),
        "trust_c": statistics(row for row in rows if row.run.trust == "C"),
        "trust_d": sum(row.run.trust == "D" for row in rows),
    }
