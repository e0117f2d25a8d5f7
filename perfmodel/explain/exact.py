"""Exact derivatives: each formula's by sympy with its active arms fixed, chained through a derivation."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any

import numpy as np

from perfmodel.equations.overlap import exposed_communication_time
from perfmodel.explain import assembly
from perfmodel.explain.derivation import Derivation
from perfmodel.explain.node import Node
from perfmodel.formula import FORMULAS

COMPLEX_STEP = 1e-30
"""Small enough that its square vanishes; nothing is subtracted, so nothing cancels."""


def elasticities(found: Derivation, inputs: list[str]) -> dict[str, float]:
    """Return d ln T / d ln x of the iteration time, exact, on the arms that are active.

    Parameters
    ----------
    found : a derivation that ``is_exact``
    inputs : names of ``perfmodel.sensitivity.inputs``
    """
    whole = found.iteration_time
    hangs_on: dict[int, set[str]] = {}
    for node in whole.walk():  # inputs first
        of_inputs = (hangs_on[id(each)] for each in node.inputs.values())
        hangs_on[id(node)] = set(node.exponents).union(*of_inputs)
    idle = {name: {key: 0.0 for key, names in hangs_on.items() if name not in names} for name in inputs}
    return {name: float(change(whole, name, idle[name])) / float(whole.value) for name in inputs}


def change(node: Node, name: str, known: dict[int, Any]) -> Any:
    """Return d value / d ln x of a quantity; ``known`` holds those worked out before."""
    if id(node) not in known:
        known[id(node)] = _change(node, name, known)
    return known[id(node)]


def _change(node: Node, name: str, known: dict[int, Any]) -> Any:
    if node.function is None:
        power = node.exponents.get(name, 0.0)
        return node.value * power if np.any(power) else 0.0
    changes = {parameter: change(each, name, known) for parameter, each in node.inputs.items()}
    if not any(np.any(each) for each in changes.values()):
        return 0.0
    if node.function in assembly.LINEAR:
        return _linear(node, changes)
    if node.function is exposed_communication_time:
        return _exposed(node, changes)
    if not is_symbolic(node.function):
        return _complex_step(node, changes)
    values = [each.value for each in node.inputs.values()]
    total: Any = 0.0
    for parameter, moved in changes.items():
        if np.any(moved):
            with np.errstate(divide="ignore", invalid="ignore"):
                slope = partial(node.function, tuple(node.inputs), parameter)(*values)
                part = np.where(np.equal(moved, 0), 0.0, slope * moved)
            total = total + part
    return total


def _linear(node: Node, changes: dict[str, Any]) -> Any:
    assert node.function is not None
    first, *others = node.inputs
    moved = changes[first] * np.ones_like(node.inputs[first].value)
    return node.function(moved, **{name: node.inputs[name].value for name in others})


def _exposed(node: Node, changes: dict[str, Any]) -> Any:
    """The last message ends with a message k and all after it: t_x = r_k + c_k + ... + c_K - t_b."""
    if not node.value > 0:
        return 0.0
    ready, times = (np.asarray(node.inputs[name].value) for name in ("ready_times", "communication_times"))
    k = int(np.argmax(ready + np.cumsum(times[::-1])[::-1]))
    of_ready, of_times = (
        np.broadcast_to(changes[name], times.shape) for name in ("ready_times", "communication_times")
    )
    return of_ready[k] + of_times[k:].sum() - changes["backward_time"]


def _complex_step(node: Node, changes: dict[str, Any]) -> Any:
    """The change of a formula of arrays, analytic in them, along all of them: exact but for rounding."""
    assert node.function is not None
    moved = {name: each.value + COMPLEX_STEP * 1j * changes[name] for name, each in node.inputs.items()}
    return np.imag(node.function(**moved)) / COMPLEX_STEP


@cache
def partial(function: Callable[..., Any], parameters: tuple[str, ...], parameter: str) -> Callable[..., Any]:
    """Return the derivative of a formula in one parameter, a function of all of them.

    A maximum becomes a choice between its arms, so that the derivative is that of the active arm.
    """
    import sympy

    symbols = {name: sympy.Symbol(name, positive=True) for name in parameters}
    expression = symbolic(function, parameters).rewrite(sympy.Piecewise)
    derivative = sympy.diff(expression, symbols[parameter])
    return sympy.lambdify(list(symbols.values()), derivative, "numpy")  # type: ignore[no-any-return]


@cache
def symbolic(function: Callable[..., Any], parameters: tuple[str, ...]) -> Any:
    """Return a formula as sympy's expression in positive symbols of its parameters' names."""
    import sympy

    return sympy.sympify(function(**{name: sympy.Symbol(name, positive=True) for name in parameters}))


@cache
def _choices(function: Callable[..., Any], parameters: tuple[str, ...]) -> list[tuple[str, list[str], Any]]:
    """Return each maximum and minimum in a formula: which it is, its arms, and a function of their values."""
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
    """Return the maxima and minima in a formula, each with the arm that is active at its numbers."""
    skipped = node.function is exposed_communication_time or node.function in assembly.LINEAR
    if node.function is None or skipped or not is_symbolic(node.function):
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
    """Return whether a formula or rule takes symbols."""
    entry = next((each for each in FORMULAS.values() if each.function is function), None)
    return entry is None or entry.symbolic
