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
"""Value of a quantity: a number, one number per layer or message, a name, or None where it is infinite."""


@dataclass(frozen=True)
class Symbol:
    """One symbol of an equation."""

    parameter: str
    """Name of the parameter in the formula."""
    symbol: str
    """In LaTeX."""
    unit: str
    """Unit of the value."""
    meaning: str
    """In words."""
    value: Value
    """A number, or a list over layers or messages; null where it is infinite."""
    equation: int | None
    """Number of the equation that computes it; null of other values."""
    note: str
    """Source of the value, or the arithmetic that computes it, where no equation does."""
    rests_on: list[int]
    """Numbers of the equations that the arithmetic starts from."""
    given: dict[str, str]
    """Sources of the other inputs of the arithmetic, by name."""


@dataclass(frozen=True)
class Equation:
    """One equation with its numbers."""

    number: int
    """Number by which other equations refer to it."""
    term: str
    """Term of the iteration time, or entry of ``costs``, that first needs this equation."""
    quantity: str
    """Name of the computed quantity."""
    symbol: str
    """Symbol of the computed quantity, in LaTeX."""
    unit: str
    """Unit of the value."""
    formula: str
    """``module.function`` below ``perfmodel.equations``."""
    title: str
    """The first line of its documentation."""
    latex: str
    """The equation, in LaTeX."""
    symbols: list[Symbol]
    """Symbols of the equation with their values."""
    value: Value
    """Value of the computed quantity, in its unit."""
    labels: list[str]
    """Layer or message of each element of the value; empty for one number."""
    active: list[str]
    """The active arm of each maximum and minimum."""
    cites: list[str]
    """Keys of its sources."""


@dataclass(frozen=True)
class Cost:
    """An amount of money, energy, carbon or time, or a goodput."""

    value: float
    unit: str
    """In SI: ``$``, ``J``, ``g``, ``s`` or ``1``."""


def equations_of(result: Derivation, costs: Mapping[str, Node] | None = None) -> list[Equation]:
    """Return the equations of a derivation, then those of its costs; each follows the equations it needs.

    A term that another term needs comes before it as a whole.
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
    """Return the equation that computes a node, which has its number already."""
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
    """Return a parameter of an equation with its value and where the value comes from."""
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
    """Return the source of an input, or the arithmetic that computes it; empty where an equation does."""
    if id(node) in numbers:
        return ""
    if node.operation:
        words = arithmetic(node, numbers)
        return f"{node.note}; {words}" if node.note else words
    return node.note if node.name == parameter or not node.note else f"{node.name}: {node.note}"


def _of_keywords(function: Callable[..., Any]) -> Quantity | None:
    """Return the quantity of a formula's variable keyword arguments; None if it takes none."""
    each = inspect.signature(function).parameters.values()
    return next((QUANTITIES.get(one.name) for one in each if one.kind is one.VAR_KEYWORD), None)


def own_symbol(function: Callable[..., Any], parameter: str) -> str:
    """Return the symbol that a formula's docstring gives a parameter; empty for the vocabulary's."""
    for line in (inspect.getdoc(function) or "").splitlines():
        names, colon, rest = line.partition(" : ")
        if colon and parameter in (listed := names.split(", ")):
            symbols = rest.partition(" [")[0].split(", ")
            if (len(symbols) >= len(listed) and " [" in rest) or len(symbols) > len(listed) > 1:
                return greek(symbols[listed.index(parameter)])
    return ""


def _plain(value: Any) -> Value:
    """Return a value as JSON: a number, a list of numbers, or a name; None where it is infinite."""
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
    """Return the largest elements of an equation's value, with their labels."""
    if not isinstance(equation.value, list) or not equation.labels:
        return []
    pairs = sorted(zip(equation.labels, equation.value, strict=True), key=lambda pair: -pair[1])
    return pairs[:LARGEST]
