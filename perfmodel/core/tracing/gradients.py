"""Derivatives of a traced number by its leaves, from one backward pass, and kinks."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from operator import attrgetter
from typing import Any, NamedTuple, TypeVar

import numpy as np

from perfmodel.core.tracing.traced import Traced

_Node = TypeVar("_Node")
_PARENTS = attrgetter("parents")


class Slope(NamedTuple):
    """Derivative of a number by one of the leaves it was computed from."""

    leaf: Traced
    derivative: Any
    """In the shape of the leaf."""
    is_at_kink: bool
    """Whether a path from the leaf passes a kink, so that the derivative is one-sided."""

    @property
    def name(self) -> str:
        """Name of the leaf."""
        assert self.leaf.leaf is not None
        return self.leaf.leaf.name

    def elasticity(self, of: float) -> float:
        """Return the elasticity, percent per percent of the whole leaf, of a number whose value is ``of``."""
        return float(np.sum(self.derivative * np.asarray(self.leaf.value))) / of


def slopes(of: Traced) -> list[Slope]:
    """Return the derivatives of one traced number by every leaf that affects it."""
    gradients: dict[int, Any] = {id(of): np.ones(np.shape(of.value))}
    at_kink: set[int] = set()
    """Identities of the numbers that a kink was computed from, those without effect on this side included."""
    result = []
    for node in reversed(list(parents_first(of, _PARENTS))):
        gradient = gradients.get(id(node), 0.0)
        acts, is_at_kink = np.count_nonzero(gradient) > 0, id(node) in at_kink
        if not (acts or is_at_kink):
            continue
        if node.leaf is not None:
            result.append(Slope(node, np.broadcast_to(gradient, np.shape(node.value)), is_at_kink))
        if is_at_kink or node.is_tied:
            at_kink.update(map(id, node.parents))
        if acts and node.backward is not None:
            for parent, part in zip(node.parents, node.backward(gradient), strict=True):
                gradients[id(parent)] = gradients[id(parent)] + part if id(parent) in gradients else part
    return result


def leaves_of(*of: Traced) -> list[Traced]:
    """Return the leaves from which traced numbers were computed, each once."""
    seen: set[int] = set()
    return [node for each in of for node in parents_first(each, _PARENTS, seen) if node.leaf is not None]


def parents_first(
    of: _Node, parents: Callable[[_Node], Iterable[_Node]], seen: set[int] | None = None
) -> Iterator[_Node]:
    """Yield a node and all its ancestors, each once and after its own parents.

    Parameters
    ----------
    of : the node
    parents : function from a node to its parents; the last of them is visited first
    seen : identities of nodes to leave out; those that are yielded are added
    """
    seen = set() if seen is None else seen
    stack = [(of, False)]
    while stack:
        node, is_done = stack.pop()
        if is_done:
            yield node
        elif id(node) not in seen:
            seen.add(id(node))
            stack.append((node, True))
            stack.extend((parent, False) for parent in parents(node))
