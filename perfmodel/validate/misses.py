"""The families the model gets wrong, and whether ``validation/misses.md`` says why."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Any

from perfmodel.resources import folder

LIMIT = 0.25
"""Median absolute error above which a family needs an entry."""
FEWEST = {"source": 1, "accelerator": 10, "workload": 10, "strategy": 10}
"""What a family can be -> rows it must have before its median says anything."""

_HEADING = re.compile(r"^#+ (source|accelerator|workload|strategy): (.+?)\s*$", re.MULTILINE)


def beyond_limit(summaries: Iterable[dict[str, Any]]) -> dict[tuple[str, str], dict[str, float]]:
    """Return the families whose median error exceeds the limit in any mode.

    Returns
    -------
    (kind, name), such as ``("source", "pollux")`` -> mode -> median absolute error
    """
    found: dict[tuple[str, str], dict[str, float]] = {}
    for summary in summaries:
        for kind, fewest in FEWEST.items():
            for name, group in summary["by"][kind].items():
                if group["n"] >= fewest and group["median_absolute_error"] > LIMIT:
                    found.setdefault((kind, name), {})[summary["mode"]] = group["median_absolute_error"]
    return found


def explained(text: str | None = None) -> set[tuple[str, str]]:
    """Return the families with an entry in ``text``, by default that of ``validation/misses.md``.

    >>> sorted(explained("## accelerator: k80, m60\\n\\nUnexplained.\\n"))
    [('accelerator', 'k80'), ('accelerator', 'm60')]
    """
    if text is None:
        text = (folder("validation") / "misses.md").read_text("utf-8")
    return {(match[1], name.strip()) for match in _HEADING.finditer(text) for name in match[2].split(",")}
