"""The active arm of each maximum and minimum of a formula at its numbers, by sympy."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any

import numpy as np

from perfmodel.core.formula import FORMULAS
from perfmodel.decide.explanations.node import Node


@cache
def symbolic(function: Callable[..., Any], parameters: tuple[str, ...]) -> Any:
    """Return a formula as a sympy expression in positive symbols named like its parameters."""
    import sympy

    return sympy.sympify(function(**{name: sympy.Symbol(name, positive=True) for name in parameters}))


@cache
def _choices(function: Callable[..., Any], parameters: tuple[str, ...]) -> list[tuple[str, list[str], Any]]:
    """Return each maximum and minimum of a formula: which of both, its arms, a function of their values."""
    import sympy

    symbols = [sympy.Symbol(name, positive=True) for name in parameters]
    return [
        (
            "max" if isinstance(chosen, sympy.Max) else "min",
            [str(arm) for arm in chosen.args],
            sympy.lambdify(symbols, list(chosen.args), "numpy"),
        )
        for chosen in sorted(symbolic(function, parameters).atoms(sympy.Max, sympy.Min), key=str)
    ]


def arms(node: Node) -> list[str]:
    """Return a sentence per maximum and minimum of a formula: which arm is active at its numbers."""
    if node.function is None or not is_symbolic(node.function):
        return []
    values = [each.value for each in node.inputs.values()]
    lines = []
    for word, names, of in _choices(node.function, tuple(node.inputs)):
        reached = np.stack(np.broadcast_arrays(*of(*values))) * (1 if word == "max" else -1)
        active = reached.reshape(len(names), -1).argmax(axis=0)
        counts = sorted(((int(np.sum(active == i)), arm) for i, arm in enumerate(names)), reverse=True)
        if counts[0][0] == len(active):
            lines.append(f"{word} is {counts[0][1]}, not {' nor '.join(arm for _, arm in counts[1:])}")
        else:
            lines.append(f"{word} is " + "; ".join(f"{arm} for {count}" for count, arm in counts))
    return lines


def is_symbolic(function: Callable[..., Any]) -> bool:
    """Return whether a formula takes symbols."""
    return any(entry.symbolic for entry in FORMULAS.values() if entry.function is function)
