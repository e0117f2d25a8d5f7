"""Node of a derivation: a quantity computed by a formula or by arithmetic, or a given input."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any

from perfmodel.core.tracing.gradients import parents_first


@dataclass(eq=False)
class Node:
    """One quantity of a derivation, a number or an array over layers, passes or messages."""

    name: str
    """Its name in the vocabulary or at its source."""
    value: Any
    function: Callable[..., Any] | None = None
    """The formula that computes it; None of arithmetic between formulas, and of a given input."""
    inputs: dict[str, Node] = field(default_factory=dict)
    """Inputs of the formula, by parameter."""
    labels: tuple[str, ...] = ()
    """Layer, pass or message of each element of an array."""
    note: str = ""
    """Source of a given input; what a computed count is a count of."""
    operation: str = ""
    """Operation that computes it: of ``perfmodel.core.tracing.derivative_rules``, or a search in words."""
    operands: tuple[Any, ...] = ()
    """Operands of the operation: nodes and plain values."""

    @property
    def parents(self) -> list[Node]:
        """The quantities it is computed from."""
        return [*self.inputs.values(), *(each for each in self.operands if isinstance(each, Node))]

    def walk(self, seen: set[int] | None = None) -> Iterator[Node]:
        """Return every quantity that this one depends on, once, inputs first and itself last."""
        return parents_first(self, lambda node: reversed(node.parents), seen)
