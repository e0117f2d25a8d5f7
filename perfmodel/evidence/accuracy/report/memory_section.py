"""The report's section on memory: how certain and how right verdicts on fitting are, and errors of peaks."""

from __future__ import annotations

import math
from collections.abc import Mapping
from functools import cache
from statistics import median_high

from perfmodel.core.files.templating import render
from perfmodel.evidence.accuracy.by_source import mean_of_means
from perfmodel.evidence.accuracy.memory_fit import Judged, half_widths, judged, on_other_accelerators, refused
from perfmodel.evidence.accuracy.report.error_statistics import mean


@cache
def section() -> str:
    """Return the section as Markdown; rendered once."""
    sources = judged()
    new = {name: each for name, each in sources.items() if each.new}
    return render(
        "memory.md.j2",
        sources=sources,
        overall={
            "of all sources": verdict_statistics(sources),
            "of new sources": verdict_statistics(new),
            "on accelerators of other sizes": verdict_statistics(on_other_accelerators()),
        },
        peaks={"all": peak_statistics(sources), "of new sources": peak_statistics(new)},
        factors={kind: math.exp(width) for kind, width in half_widths().items()},
        refused=refused(),
    )


def _means(of: Mapping[str, Judged], what: str) -> dict[str, float | None]:
    """Return the mean of the field ``what`` over rows, and over sources of the means of their rows."""
    rows = [(source, value) for source, each in of.items() for value in getattr(each, what)]
    return {what: mean(value for _, value in rows), f"{what}_over_sources": mean_of_means(rows)}


def verdict_statistics(of: Mapping[str, Judged]) -> dict[str, float | None]:
    """Return the number of verdicts and sources, the share of certain verdicts, and of those the right ones.

    Parameters
    ----------
    of : by source
    """
    verdicts = [len(each.certain) for each in of.values() if each.certain]
    return {
        "sources": len(verdicts),
        "verdicts": sum(verdicts),
        **_means(of, "certain"),
        **_means(of, "right"),
    }


def peak_statistics(of: Mapping[str, Judged]) -> dict[str, float | None]:
    """Return the number of peaks and sources, the errors of peaks, and the coverage of their intervals.

    Parameters
    ----------
    of : by source
    """
    rows = [error for each in of.values() for error in each.errors]
    return {
        "sources": sum(bool(each.errors) for each in of.values()),
        "peaks": len(rows),
        "median": median_high(rows),
        **_means(of, "errors"),
        **_means(of, "covered"),
    }
