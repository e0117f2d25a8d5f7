"""A derivation: quantities, each worked out from others by a formula or by arithmetic, or given."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any

from perfmodel.core.tracing.gradients import parents_first


@dataclass(eq=False)
class Node:
    """One quantity of a derivation, a number or an array over layers, passes or messages."""

    name: str
    """The vocabulary's word, or what it is called where it comes from."""
    value: Any
    function: Callable[..., Any] | None = None
    """The formula that it was worked out by; None of arithmetic between formulas, and where it is given."""
    inputs: dict[str, Node] = field(default_factory=dict)
    """By parameter of the function."""
    labels: tuple[str, ...] = ()
    """What each element of an array belongs to."""
    note: str = ""
    """Where a given quantity comes from; of a count that was worked out, of what it is."""
    operation: str = ""
    """That made it between formulas: of ``perfmodel.core.tracing.derivative_rules``, or a search in words."""
    operands: tuple[Any, ...] = ()
    """What it was made from: nodes, and plain values."""

    @property
    def parents(self) -> list[Node]:
        """What it was worked out from."""
        return [*self.inputs.values(), *(each for each in self.operands if isinstance(each, Node))]

    def walk(self, seen: set[int] | None = None) -> Iterator[Node]:
        """Return every quantity this one rests on, once, inputs first, and itself last."""
        return parents_first(self, lambda node: reversed(node.parents), seen)
