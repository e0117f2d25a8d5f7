"""The measured sources of each learned number, and its neutral prior mean without them.

``learned.json`` lists for each number the fewest sources that hold 90 % of the information of all rows, by
the squares of the slopes of their predicted times.  ``python -m perfmodel.evidence.fitting.provenance``
writes it. ``neutral.toml`` is written by hand: prior means chosen without those sources.
"""

from __future__ import annotations

import json
import tomllib
from collections.abc import Collection, Mapping
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

RESULT, NEUTRAL = (Path(__file__).parent / name for name in ("learned.json", "neutral.toml"))


class Origin(NamedTuple):
    """The measured sources of a learned number and of the mean of its prior."""

    sources: Mapping[str, float]
    """Keys of ``validation/sources.csv`` -> share of all rows' information on the number, largest first."""
    neutral: float | None = None
    """Mean of its prior if all its sources are left out; None if no test leaves all of them out."""
    because: str = ""
    """Reason for the neutral mean."""

    @property
    def only_source(self) -> str | None:
        """The only source of the number; None if it has none or several."""
        return next(iter(self.sources)) if len(self.sources) == 1 else None


@cache
def origins(kind: str) -> Mapping[str, Origin]:
    """Return the origins of the numbers learned from one kind of rows, by name.

    Parameters
    ----------
    kind : of rows: ``transformers``, ``collectives`` or ``data parallel``
    """
    shares: Mapping[str, Mapping[str, float]] = json.loads(RESULT.read_text("utf-8"))[kind]
    neutral: Mapping[str, Any] = tomllib.loads(NEUTRAL.read_text("utf-8")).get(kind, {})
    result = {}
    for name, sources in shares.items():
        by_hand = neutral.get(name, {})
        chosen_with = {source: sources[source] for source in by_hand.get("chosen_with", sources)}
        result[name] = Origin(chosen_with, by_hand.get("mean"), by_hand.get("because", ""))
    return result


def neutral_means(kind: str, seen: Collection[str] | None = None) -> dict[str, float]:
    """Return, by name, the neutral prior means of numbers whose sources are all left out.

    Parameters
    ----------
    kind : as for ``origins``
    seen : sources that are not left out; None: each number with a single source is taken without it
    """
    return {
        name: origin.neutral
        for name, origin in origins(kind).items()
        if origin.neutral is not None
        and (origin.only_source is not None if seen is None else origin.sources.keys().isdisjoint(seen))
    }
