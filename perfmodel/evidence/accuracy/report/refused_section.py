"""The report's section on refused rows: their number by kind of measurement and reason."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from perfmodel.core.files.templating import render
from perfmodel.evidence.accuracy.campaigns import CAMPAIGNS
from perfmodel.evidence.accuracy.report.error_statistics import refusals
from perfmodel.evidence.accuracy.training_compare import Row


def section(training: Sequence[Row]) -> str:
    """Return the section as Markdown.

    Parameters
    ----------
    training : data-parallel runs, predicted from specs; rows of other kinds are the shipped ones
    """
    reasons: dict[str, Sequence[str | None]] = {"training": [row.reason for row in training]}
    reasons |= {kind: each.reasons() for kind, each in CAMPAIGNS.items() if kind not in reasons}
    return render("refused.md.j2", table=refused_table(reasons))


def refused_table(reasons: Mapping[str, Sequence[str | None]]) -> str:
    """Return a table of refused rows by kind and reason as Markdown.

    Parameters
    ----------
    reasons : by kind, the reason of each row, None for a predicted row

    >>> print(refused_table({"collectives": [None, "one rank", "one rank", None]}))
    | kind | rows | refused | reason | rows of it |
    | --- | --: | --: | --- | --: |
    | collectives | 4 | 2 | one rank | 2 |
    """
    lines = ["| kind | rows | refused | reason | rows of it |", "| --- | --: | --: | --- | --: |"]
    for kind, each in reasons.items():
        refused = sum(reason is not None for reason in each)
        for count, reason in refusals(each) or [(0, "none")]:
            lines.append(f"| {kind} | {len(each)} | {refused} | {reason} | {count} |")
    return "\n".join(lines)
