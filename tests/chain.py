"""A second method for elasticities: derivatives of each recorded formula, chained through the record.

How the inputs of a record follow an input of the model is read off two more records, a little apart; from
there on everything is the formulas' own derivatives: by sympy on their active arms, or of that one formula by
a difference where it takes no symbols.
"""

from __future__ import annotations

import math
from functools import cache
from typing import Any

import numpy as np
import sympy

from perfmodel.explanations.arms import is_symbolic, symbolic
from perfmodel.explanations.derivation import derivation
from perfmodel.explanations.node import Node

STEP = 1e-5
_LAST: list[tuple[Any, Any]] = []


def elasticity(case: Any, which: Any) -> float | None:
    """Return d ln T / d ln x through the record; None where the record takes another course beside it."""
    here = _worked_out(case)
    low, high = (derivation(which.scaled(case, factor)) for factor in (1 - STEP, 1 + STEP))
    nodes = [list(each.iteration_time.walk()) for each in (here, low, high)]
    if len({tuple(node.function for node in walk) for walk in nodes}) > 1:
        return None
    width = math.log1p(STEP) - math.log1p(-STEP)
    moved: dict[int, Any] = {}
    for node, below, above in zip(*nodes, strict=True):
        if node.function is not None:
            moved[id(node)] = _through(node, moved)
        elif isinstance(node.value, (int, float, np.ndarray, np.generic)):
            if np.shape(below.value) != np.shape(above.value):
                return None
            with np.errstate(invalid="ignore"):
                change = (np.asarray(above.value, dtype=float) - np.asarray(below.value, dtype=float)) / width
            moved[id(node)] = np.where(np.isfinite(change), change, 0.0)
    return float(moved[id(here.iteration_time)] / here.iteration_time.value)


def _worked_out(case: Any) -> Any:
    """The derivation of a case, kept until another is asked for: its inputs are asked of one by one."""
    if not _LAST or _LAST[0][0] is not case:
        _LAST[:] = [(case, derivation(case))]
    return _LAST[0][1]


def _through(node: Node, moved: dict[int, Any]) -> Any:
    changes = {name: moved.get(id(each), 0.0) for name, each in node.inputs.items()}
    if not any(np.any(change) for change in changes.values()):
        return 0.0
    values = {name: each.value for name, each in node.inputs.items()}
    numbers = all(isinstance(value, (int, float, np.ndarray, np.generic)) for value in values.values())
    if not (numbers and is_symbolic(node.function)):
        return _difference(node, values, changes)
    total: Any = 0.0
    for name, change in changes.items():
        if np.any(change):
            with np.errstate(divide="ignore", invalid="ignore"):
                slope = _partial(node.function, tuple(values), name)(*values.values())
                total = total + np.where(np.equal(change, 0), 0.0, slope * change)
    return total


def _difference(node: Node, values: dict[str, Any], changes: dict[str, Any]) -> Any:
    """Along the change of all inputs at once."""

    def at(step: float) -> Any:
        moved = {
            name: value + step * changes[name] if np.any(changes[name]) else value
            for name, value in values.items()
        }
        result = node.function(**moved)
        if isinstance(result, tuple):
            shapes = [np.shape(part) for part in result]
            return result[_index(node, values)] if shapes else result
        return result

    scale = 1e-6
    return (np.asarray(at(scale), dtype=float) - np.asarray(at(-scale), dtype=float)) / (2 * scale)


def _index(node: Node, values: dict[str, Any]) -> int:
    """Which part of a result the node is."""
    parts = node.function(**values)
    return next(i for i, part in enumerate(parts) if np.array_equal(part, node.value))


@cache
def _partial(function: Any, parameters: tuple[str, ...], parameter: str) -> Any:
    symbols = {name: sympy.Symbol(name, positive=True) for name in parameters}
    expression = symbolic(function, parameters).rewrite(sympy.Piecewise)
    return sympy.lambdify(list(symbols.values()), sympy.diff(expression, symbols[parameter]), "numpy")
