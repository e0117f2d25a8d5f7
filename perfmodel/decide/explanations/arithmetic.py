"""Arithmetic between formulas in words: inputs of an equation that no formula computed."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from perfmodel.decide.explanations.node import Node

SIGNS = {"add": "+", "subtract": "-", "multiply": "x", "divide": "/", "power": "^", "floor_divide": "//"}
SHORT = {"maximum": "max", "minimum": "min"}
SAME = ("reshape", "array", "broadcast_to")
LONGEST = 72
"""Characters of an expression that is written out; for a longer one its inputs are listed."""
DEEPEST = 6
"""Nested operations of an expression that is written out."""
LONGEST_GIVEN = 30
"""Total length of input names that are written out; a longer part of an expression is its value."""
NAMED = 2
"""Inputs from one source that are named, if there are more."""


def arithmetic(node: Node, numbers: Mapping[int, int]) -> str:
    """Return how arithmetic computes a quantity from numbered equations and given inputs, in words.

    Parameters
    ----------
    node : result of arithmetic
    numbers : equation numbers, by the identity of the node that each computes
    """
    made, given = begins_with(node, numbers)
    is_search = node.operation[:1].isupper()
    text = _expression(node, numbers, DEEPEST, LONGEST)
    if len(text) > LONGEST:
        text = _expression(node, numbers, DEEPEST, LONGEST_GIVEN)
    by_source: dict[str, list[str]] = {}
    for name, source in given.items():
        by_source.setdefault(source, []).append(name)
    if len(text) <= LONGEST and not is_search:
        text = f"= {text}"
        if len(by_source) == 1 and all(name in text for name in given):
            return f"{text}; {next(iter(by_source))}"
        return "; ".join([text, *(f"{', '.join(names)}: {source}" for source, names in by_source.items())])
    parts = [f"({number})" for number in made]
    parts += [f"{_few(names)} ({source})" for source, names in by_source.items()]
    return (
        f"{node.operation.rstrip('.')}; from {', '.join(parts)}" if is_search else f"from {', '.join(parts)}"
    )


def _few(names: list[str]) -> str:
    """Return the first names of a list, and how many others there are."""
    more = f" and {len(names) - NAMED} others" if len(names) > NAMED + 1 else ""
    return ", ".join(names[:NAMED] if more else names) + more


def begins_with(node: Node, numbers: Mapping[int, int]) -> tuple[list[int], dict[str, str]]:
    """Return the equation numbers that arithmetic starts from, and the sources of its given inputs."""
    made: list[int] = []
    given: dict[str, str] = {}
    seen: set[int] = set()
    stack = [node]
    while stack:
        here = stack.pop()
        if id(here) in seen:
            continue
        seen.add(id(here))
        if id(here) in numbers:
            made.append(numbers[id(here)])
        elif here.operation:
            stack.extend(reversed(here.parents))
        elif here.note:
            given[here.name] = here.note
    return sorted(made), given


def _expression(node: Any, numbers: Mapping[int, int], depth: int, longest: int, inside: str = "") -> str:
    """Return an expression as text; longer than ``LONGEST`` if it is too deep.

    Parameters
    ----------
    longest : total length of input names in a part of given inputs; a longer part is written as its value
    inside : operation of which this is an operand, or ``"("``; empty for the whole
    """
    if not isinstance(node, Node):
        return _constant(node)
    if id(node) in numbers:
        return f"({numbers[id(node)]})"
    if not node.operation:
        return node.name
    if not depth:
        return "." * (LONGEST + 1)
    if inside and np.ndim(node.value) == 0:
        made, given = begins_with(node, numbers)
        if not made and sum(map(len, given)) > longest:
            return _constant(node.value)
    parts = [
        _expression(each, numbers, depth - 1, longest, _around(node.operation, i))
        for i, each in enumerate(node.operands)
    ]
    if node.operation in SAME:
        return parts[0]
    if node.operation in SIGNS and len(parts) == 2:
        text = f" {SIGNS[node.operation]} ".join(parts)
        return f"({text})" if inside in ("(", *SIGNS) and inside != node.operation else text
    if node.operation == "getitem":
        return f"{parts[0]}[{_key(node.operands[1])}]"
    if node.operation[:1].isupper():  # a search
        return node.operation if not inside else "." * (LONGEST + 1)
    return f"{SHORT.get(node.operation, node.operation)}({', '.join(parts)})"


def _around(operation: str, place: int) -> str:
    """Return the operation around an operand, or a bracket where one is needed: a - (b - c)."""
    is_last = place > 0 and operation in ("subtract", "divide", "floor_divide")
    return "(" if is_last or operation in ("power", "getitem") else operation


def _key(key: Any) -> str:
    """Return an index as text; dots for anything but an integer."""
    return str(key) if isinstance(key, int) else "..."


def _constant(value: Any) -> str:
    """Return a number as text; dots for an array."""
    return f"{value:g}" if isinstance(value, (int, float, np.number)) else "..."
