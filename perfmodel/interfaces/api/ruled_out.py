"""The fastest layout of a transformer that memory alone keeps out, and what would make it fit."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from perfmodel.model.transformers.search import RuledOut as Candidate


@dataclass(frozen=True)
class LayoutChange:
    """A change by which a layout comes to fit."""

    change: str
    """``recompute full``, ``zero1``, ``pipeline 2``, or two joined by ``+``."""
    layout: dict[str, int | str]
    """What it is then."""
    iteration_time: float
    slowdown: float
    """Over the layout that does not fit: 0.28 for 28 % more time."""
    memory: float
    """On the fullest rank [B]."""


@dataclass(frozen=True)
class RuledOut:
    """The fastest of all layouts, which does not fit."""

    layout: dict[str, int | str]
    """Its degrees."""
    iteration_time: float
    memory: float
    """On the fullest rank [B]."""
    remedies: tuple[LayoutChange, ...]
    """What would make it fit, the cheapest first."""

    @classmethod
    def of(cls, result: Candidate) -> RuledOut:
        """Return the answer that a search's finding makes."""
        changes = tuple(
            LayoutChange(
                each.words,
                each.layout.words(),
                each.iteration_time,
                each.iteration_time / result.iteration_time - 1,
                each.bytes,
            )
            for each in result.remedies
        )
        return cls(result.layout.words(), result.iteration_time, result.bytes, changes)
