"""Which measured sources each learned number rests on, and what would be believed of it without them.

``learned.json`` says by number which sources tell of it: the fewest that hold 90 % of what all rows tell, by
the squares of the slopes of their predicted times.  ``python -m perfmodel.evidence.fitting.provenance``
writes it. ``neutral.toml`` is written by hand: means that are argued without looking at those sources.
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
    """What a learned number, and the mean of its prior, rest on."""

    sources: Mapping[str, float]
    """Keys of ``validation/sources.csv`` -> share of what all rows tell of the number, the largest first."""
    neutral: float | None = None
    """Mean of its prior where none of them may be looked at; None where no test leaves them all out."""
    because: str = ""
    """Why that."""

    @property
    def only_source(self) -> str | None:
        """The source that it rests on; None where it is none, or several."""
        return next(iter(self.sources)) if len(self.sources) == 1 else None


@cache
def origins(kind: str) -> Mapping[str, Origin]:
    """Return what the numbers that are learned from one kind of rows rest on, by name.

    Parameters
    ----------
    kind : as of ``evidence``: ``transformers``, ``collectives`` or ``data parallel``
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
    """Return the neutral means of priors by name, of those that rest on no source that may be looked at.

    Parameters
    ----------
    kind : as of ``origins``
    seen : sources that may be looked at; None: all but the only one of each prior that rests on one
    """
    return {
        name: origin.neutral
        for name, origin in origins(kind).items()
        if origin.neutral is not None
        and (origin.only_source is not None if seen is None else origin.sources.keys().isdisjoint(seen))
    }
