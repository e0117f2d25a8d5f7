"""The report's section on verdicts of memory: what fits, and how sure that was."""

from __future__ import annotations

import math
from functools import cache
from statistics import fmean
from typing import TYPE_CHECKING

from perfmodel.accuracy.memory_fit import Judged, half_widths, judged, on_other_accelerators, refused
from perfmodel.templating import render

if TYPE_CHECKING:
    from collections.abc import Collection


@cache
def section() -> str:
    """Return the section, as Markdown; made once."""
    sources, others = judged(), on_other_accelerators()
    new = [each for each in sources.values() if each.new]
    return render(
        "memory.md.j2",
        sources=sources,
        overall=[
            ("of all sources", shares(sources.values())),
            ("of new sources", shares(new)),
            ("on accelerators of other sizes", shares(others.values())),
        ],
        peaks=[
            ("all", peak_shares(sources.values())),
            ("of new sources", peak_shares(new)),
        ],
        factors={kind: math.exp(width) for kind, width in half_widths().items()},
        refused=refused(),
    )


def shares(of: Collection[Judged]) -> dict[str, float]:
    """Return shares of verdicts that are certain, and of these that are right, by row and over sources."""
    stated = [each for each in of if each.verdicts]
    sure = [each for each in stated if each.certain]
    return {
        "sources": len(stated),
        "verdicts": sum(each.verdicts for each in stated),
        "certain": sum(each.certain for each in stated) / sum(each.verdicts for each in stated),
        "certain_over_sources": fmean(each.certain / each.verdicts for each in stated),
        "right": sum(each.right for each in sure) / sum(each.certain for each in sure),
        "right_over_sources": fmean(each.right / each.certain for each in sure),
    }


def peak_shares(of: Collection[Judged]) -> dict[str, float]:
    """Return errors of peaks and the coverage of their intervals, by row and over sources."""
    known = [each for each in of if each.errors]
    rows = [error for each in known for error in each.errors]
    return {
        "sources": len(known),
        "peaks": len(rows),
        "mean": fmean(rows),
        "median": sorted(rows)[len(rows) // 2],
        "mean_over_sources": fmean(each.mean for each in known),
        "covered": sum(each.covered for each in known) / len(rows),
        "covered_over_sources": fmean(each.covered / len(each.errors) for each in known),
    }
