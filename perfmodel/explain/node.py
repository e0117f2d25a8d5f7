"""A derivation: quantities, each worked out from others by a formula, by a rule, or given."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np


@dataclass(eq=False)
class Node:
    """One quantity of a derivation, a number or an array over layers, passes or messages."""

    name: str
    """The vocabulary's word, or one of ``assembly``."""
    value: Any
    function: Callable[..., Any] | None = None
    """What it was worked out by; None where it is given."""
    inputs: dict[str, Node] = field(default_factory=dict)
    """By parameter of the function."""
    exponents: Mapping[str, Any] = field(default_factory=dict)
    """Of a given quantity: its powers in the inputs of ``perfmodel.sensitivity``; 0 for all others."""
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


def given(name: str, value: Any, note: str = "", labels: tuple[str, ...] = (), /, **exponents: Any) -> Node:
    """Return a quantity that is not worked out here."""
    return Node(name, value, exponents=exponents, labels=labels, note=note)


def worked(name: str, function: Callable[..., Any], labels: tuple[str, ...] = (), /, **inputs: Node) -> Node:
    """Return a quantity worked out by a formula or a rule."""
    values = {parameter: node.value for parameter, node in inputs.items()}
    value = function(**values)
    if isinstance(value, np.generic):
        value = value.item()
    return Node(name, value, function, inputs, labels=labels)
