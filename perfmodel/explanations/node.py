"""A derivation: quantities, each worked out from others by a formula, or given."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any


@dataclass(eq=False)
class Node:
    """One quantity of a derivation, a number or an array over layers, passes or messages."""

    name: str
    """The vocabulary's word."""
    value: Any
    function: Callable[..., Any] | None = None
    """What it was worked out by; None where it is given."""
    inputs: dict[str, Node] = field(default_factory=dict)
    """By parameter of the function."""
    labels: tuple[str, ...] = ()
    """What each element of an array belongs to."""
    note: str = ""
    """Where a given quantity comes from."""

    def walk(self, seen: set[int] | None = None) -> Iterator[Node]:
        """Yield every quantity this one rests on, once, inputs first, and itself last."""
        seen = set() if seen is None else seen
        if id(self) in seen:
            return
        seen.add(id(self))
        for each in self.inputs.values():
            yield from each.walk(seen)
        yield self
