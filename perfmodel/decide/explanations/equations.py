"""A derivation as a list of numbered equations: what ``perfmodel explain --json`` prints."""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np

from perfmodel.core.formula import FORMULAS
from perfmodel.core.vocabulary import QUANTITIES, Quantity
from perfmodel.decide.explanations.arithmetic import arithmetic, begins_with
from perfmodel.decide.explanations.arms import arms
from perfmodel.decide.explanations.derivation import Derivation
from perfmodel.decide.explanations.node import Node
from perfmodel.decide.explanations.plain_math import greek

_MATH = re.compile(r"^\.\. math::(.*?)(?:\n\s*\n|\Z)", re.S | re.M)
LARGEST = 3
"""Elements of a sum that are named."""

Value: TypeAlias = float | list[float] | str | None
"""Of a quantity: a number, or one for each layer or message; a name; None where it is endless."""


@dataclass(frozen=True)
class Symbol:
    """One symbol of an equation."""

    parameter: str
    """Its name in the formula."""
    symbol: str
    """LaTeX."""
    unit: str
    """Of the value."""
    meaning: str
    """In words."""
    value: Value
    """A number, or a list over layers or messages; None where it is endless."""
    equation: int | None
    """The number of the equation it was worked out by."""
    note: str
    """Where it comes from otherwise, or the arithmetic that made it."""
    rests_on: list[int]
    """The numbers of the equations that arithmetic begins with."""
    given: dict[str, str]
    """What else it begins with, by name, and where that comes from."""


@dataclass(frozen=True)
class Equation:
    """One equation with its numbers."""

    number: int
    """By which others refer to it."""
    term: str
    """Of the iteration time, or the amount of ``costs``: itself, or the first that it was needed for."""
    quantity: str
    """Name of what it computes."""
    symbol: str
    """LaTeX of what it computes."""
    unit: str
    """Of the value."""
    formula: str
    """``module.function`` below ``perfmodel.equations``."""
    title: str
    """What it says, in a line."""
    latex: str
    """The equation."""
    symbols: list[Symbol]
    """What stands in it."""
    value: Value
    """Of what it computes, in its unit."""
    labels: list[str]
    """What each element of the value belongs to; empty for one number."""
    active: list[str]
    """Of each maximum and minimum, the arm that is active."""
    cites: list[str]
    """Keys of its sources."""


@dataclass(frozen=True)
class Cost:
    """One amount of money, energy, carbon, or of what failures leave."""

    value: float
    unit: str
    """SI: ``$``, ``J``, ``g``, ``s`` or ``1``."""


def equations_of(result: Derivation, costs: Mapping[str, Node] | None = None) -> list[Equation]:
    """Return the equations of a derivation, then those of its costs, each before it is needed.

    A term that another rests on comes before it as a whole.
    """
    keys = {entry.function: name for name, entry in FORMULAS.items()}
    numbers: dict[int, int] = {}
    equations: list[Equation] = []
    seen: set[int] = set()
    parts = [*result.terms.items(), ("iteration_time", result.iteration_time), *(costs or {}).items()]
    named = {id(node): term for term, node in reversed(parts)}
    for root in [each for _, node in parts for each in node.walk() if id(each) in named]:
        for each in root.walk(seen):
            if each.function is None:
                continue
            numbers[id(each)] = len(equations) + 1
            equations.append(_equation(each, each.function, named[id(root)], numbers, keys))
    return equations


def _equation(
    node: Node,
    function: Callable[..., Any],
    term: str,
    numbers: dict[int, int],
    keys: dict[Callable[..., Any], str],
) -> Equation:
    name = keys[function]
    return Equation(
        number=numbers[id(node)],
        term=term,
        quantity=node.name,
        symbol=result_symbol(function),
        unit=QUANTITIES[node.name].unit,
        formula=name,
        title=title(function),
        latex=latex(function),
        symbols=[_symbol(function, name, each, numbers) for name, each in node.inputs.items()],
        value=_plain(node.value),
        labels=list(node.labels) if np.ndim(node.value) else [],
        active=arms(node),
        cites=list(FORMULAS[name].cites),
    )


def _symbol(function: Callable[..., Any], parameter: str, node: Node, numbers: dict[int, int]) -> Symbol:
    number = isinstance(node.value, (int, float, np.ndarray, np.generic))
    quantity = (QUANTITIES.get(parameter) or _of_keywords(function)) if number else None
    made, given = begins_with(node, numbers) if node.operation else ([], {})
    return Symbol(
        parameter=parameter,
        symbol=(own_symbol(function, parameter) or quantity.symbol) if quantity else "",
        unit=quantity.unit if quantity else "1",
        meaning=quantity.meaning if quantity else "",
        value=_plain(node.value),
        equation=numbers.get(id(node)),
        note=_note(node, parameter, numbers),
        rests_on=made,
        given=given,
    )


def _note(node: Node, parameter: str, numbers: dict[int, int]) -> str:
    if id(node) in numbers:
        return ""
    if node.operation:
        words = arithmetic(node, numbers)
        return f"{node.note}; {words}" if node.note else words
    return node.note if node.name == parameter or not node.note else f"{node.name}: {node.note}"


def _of_keywords(function: Callable[..., Any]) -> Quantity | None:
    """What the arguments are that a formula takes under any name."""
    each = inspect.signature(function).parameters.values()
    return next((QUANTITIES.get(one.name) for one in each if one.kind is one.VAR_KEYWORD), None)


def own_symbol(function: Callable[..., Any], parameter: str) -> str:
    """The symbol a docstring gives a parameter; empty where it leaves that to the vocabulary."""
    for line in (inspect.getdoc(function) or "").splitlines():
        names, colon, rest = line.partition(" : ")
        if colon and parameter in (listed := names.split(", ")):
            symbols = rest.partition(" [")[0].split(", ")
            if (len(symbols) >= len(listed) and " [" in rest) or len(symbols) > len(listed) > 1:
                return greek(symbols[listed.index(parameter)])
    return ""


def _plain(value: Any) -> Value:
    if isinstance(value, np.ndarray):
        return [float(each) for each in value]
    if isinstance(value, (int, float, np.generic)):
        return float(value) if np.isfinite(value) else None
    return value if isinstance(value, str) else type(value).__name__


def title(function: Callable[..., Any]) -> str:
    """Return the first line of a formula's docstring."""
    return (inspect.getdoc(function) or "").partition("\n")[0]


def latex(function: Callable[..., Any]) -> str:
    """Return the equation of a formula's docstring."""
    match = _MATH.search(inspect.getdoc(function) or "")
    return " ".join(match.group(1).split()) if match else ""


def result_symbol(function: Callable[..., Any]) -> str:
    r"""Return the left side of a formula's equation.

    >>> from perfmodel.equations.compute import update_time
    >>> result_symbol(update_time)
    't_u'
    """
    return latex(function).partition("=")[0].strip()


def largest(equation: Equation) -> list[tuple[str, float]]:
    """Return the elements that weigh most in an equation's value, with what they belong to."""
    if not isinstance(equation.value, list) or not equation.labels:
        return []
    pairs = sorted(zip(equation.labels, equation.value, strict=True), key=lambda pair: -pair[1])
    return pairs[:LARGEST]
