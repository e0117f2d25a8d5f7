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
"""Name of a grouping -> function from a row to the label of its group."""
BASELINES = {
    "specs": "constant utilisation",
    "anchored": "linear scaling",
    "anchored-machine": "linear scaling",
}
"""Mode -> naive baseline that its predictions are compared with."""


class Errors(NamedTuple):
    """Statistics of signed errors, predicted / measured - 1; None if there are no rows."""

    n: int
    mean_absolute_error: float | None
    median_absolute_error: float | None
    bias: float | None
    """Mean of the signed errors; positive if predictions are too slow."""
    within_10: float | None
    """Share of rows with an absolute error of at most 10 %."""
    within_20: float | None
    """Share of rows with an absolute error of at most 20 %."""


def errors(signed: Sequence[float]) -> Errors:
    """Return the statistics of signed errors.

    Errors of 1/16, -1/8, 1/4 and -1/16: the absolute values have the mean 1/8 and the median (1/16 + 1/8)/2,
    the signed values the mean 1/32.

    >>> result = errors([1 / 16, -1 / 8, 1 / 4, -1 / 16])
    >>> result.n, result.mean_absolute_error, result.median_absolute_error, result.bias
    (4, 0.125, 0.09375, 0.03125)
    >>> result.within_10, result.within_20
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
    """Return error statistics, interval coverage and the naive baseline's errors of the predicted rows.

    The largest sources dominate a mean over rows; in a mean over sources each source has the same weight.
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


def compare_own(
    own: Sequence[AnyRun], shipped: Sequence[AnyRun], compare: Callable[[list[AnyRun]], list[AnyRow]]
) -> list[AnyRow]:
    """Return a user's rows with their predictions, to which the shipped rows contribute.

    Parameters
    ----------
    own : the user's rows
    shipped : shipped rows; those with the id of one of the user's are dropped
    compare : predicts rows, some from others, such as from anchors
    """
    names = {each.run_id for each in own}
    others = [each for each in shipped if each.run_id not in names]
    return compare([*others, *own])[len(others) :]


def mean(values: Iterable[float]) -> float | None:
    """Return the mean, None if there are no values."""
    known = list(values)
    return fmean(known) if known else None


def trusted(row: Outcome) -> bool:
    """Whether a row is of trust A or B."""
    return row.run.trust in TRUSTED


def counted(row: Outcome) -> bool:
    """Whether a row counts in the error table: trust A or B, and no ambiguous anchor."""
    return trusted(row) and row.anchor != "ambiguous"


def furthest(rows: Iterable[AnyRow]) -> list[AnyRow]:
    """Return the predicted rows by descending absolute ln(predicted / measured)."""
    far = [(-abs(math.log(1 + row.error)), row.run.run_id, row) for row in rows if row.error is not None]
    return [row for *_, row in sorted(far, key=lambda each: each[:2])]


def grouped(rows: Iterable[AnyRow], key: Callable[[AnyRow], Any]) -> dict[str, dict[str, Any]]:
    """Return the error statistics of each group of rows with a prediction, by its label."""
    groups: defaultdict[Any, list[AnyRow]] = defaultdict(list)
    for row in rows:
        if row.error is not None:
            groups[key(row)].append(row)
    return {str(name): statistics(groups[name]) for name in sorted(groups)}


def by_group(rows: Sequence[AnyRow], groups: Mapping[str, Callable[[AnyRow], Any]]) -> dict[str, Any]:
    """Return the error statistics of each group, by the name of the grouping and the label of the group."""
    return {name: grouped(rows, key) for name, key in groups.items()}


def by_reason(reasons: Iterable[str | None]) -> dict[str, int]:
    """Return the number of refused rows by type of reason, the most frequent first.

    >>> by_reason(["unknown link: a", None, "no batch size", "unknown link: b"])
    {'unknown link': 2, 'no batch size': 1}
    """
    return dict(Counter(reason.split(": ")[0] for reason in reasons if reason).most_common())


def refusals(reasons: Iterable[str | None]) -> list[tuple[int, str]]:
    """Return the number of refused rows by type of reason, with the most frequent names of what is unknown.

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
    """Return the number of rows, of refused ones, and of those by reason."""
    reasons = [row.reason for row in rows if row.reason]
    return {"rows": len(rows), "refused": len(reasons), "refused_by_reason": by_reason(reasons)}


def summary(rows: Sequence[Row]) -> dict[str, Any]:
    """Return the summary of ``perfmodel validate``: counts, error statistics, and statistics by group.

    The main statistics are of rows of trust A and B without an ambiguous anchor.  Further entries have the
    rows with an ambiguous anchor, all of trust A and B together, and trust C; rows of trust D are only
    counted.
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
