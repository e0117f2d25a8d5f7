"""Families of runs with large errors, and whether ``validation/misses.md`` has an entry on each."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Any

from perfmodel.core.files.resources import folder

LIMIT = 0.25
"""Median absolute error above which a family needs an entry."""
KINDS = ("source", "accelerator", "workload", "strategy", "world-size")
"""What the runs of a family have in common."""

_HEADING = re.compile(rf"^#+ ({'|'.join(KINDS)}): (.+?)\s*$", re.MULTILINE)


def beyond_limit(summaries: Iterable[dict[str, Any]]) -> dict[tuple[str, str], dict[str, dict[str, Any]]]:
    """Return the families, however small, whose median absolute error exceeds ``LIMIT`` in any mode.

    Parameters
    ----------
    summaries : of ``error_statistics.summary``, one for each mode

    Returns
    -------
    (kind, name), such as ``("source", "pollux")`` -> mode -> error statistics
    """
    result: dict[tuple[str, str], dict[str, dict[str, Any]]] = {}
    for summary in summaries:
        for kind in KINDS:
            for name, group in summary["by"][kind].items():
                result.setdefault((kind, name), {})[summary["mode"]] = group
    return {
        family: modes
        for family, modes in result.items()
        if any(group["median_absolute_error"] > LIMIT for group in modes.values())
    }


def explained(text: str | None = None) -> set[tuple[str, str]]:
    """Return kind and name of the families with an entry in ``text``, by default ``validation/misses.md``.

    >>> sorted(explained("## accelerator: k80, m60\\n\\nUnexplained.\\n"))
    [('accelerator', 'k80'), ('accelerator', 'm60')]
    """
    if text is None:
        text = (folder("validation") / "misses.md").read_text("utf-8")
    return {(match[1], name.strip()) for match in _HEADING.finditer(text) for name in match[2].split(",")}
