"""Watches every registered formula: its form, not its truth.

Float, array and symbol agree, exact derivatives match central differences, parameters are in the vocabulary
and in the docstring, the docstring works an example, and the sources it cites exist.
"""

from __future__ import annotations

import importlib
import inspect
import math
import pkgutil
import random
import re
import tomllib
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import sympy

import perfmodel
import perfmodel.equations
from perfmodel.core.formula import FORMULAS, Formula
from perfmodel.core.vocabulary import QUANTITIES

for module in pkgutil.walk_packages(perfmodel.equations.__path__, "perfmodel.equations."):
    importlib.import_module(module.name)

REFERENCES = tomllib.loads((Path(perfmodel.__file__).parent / "equations" / "references.toml").read_text())
ALL = [pytest.param(entry, id=name) for name, entry in sorted(FORMULAS.items())]
SYMBOLIC = [pytest.param(entry, id=name) for name, entry in sorted(FORMULAS.items()) if entry.symbolic]

#: names of mathematics, not quantities: a choice, a law, a precision
NOT_QUANTITIES = ("str", "bool", "Graph", "Constants", "Callable", "Distribution", "None")


#: where a formula holds only for some numbers: whole ones where the limits are
RANGES: dict[str, tuple[float, float]] = {
    "order": (1, 5),
    "sample_size": (10, 40),
    "learning_rate": (0.01, 0.05),
    "strong_convexity": (0.1, 0.5),
    "staleness_discount": (0.5, 1.0),
}


def parameters(entry: Formula) -> list[str]:
    return list(inspect.signature(entry.function).parameters)


def quantities(entry: Formula) -> list[str]:
    """Return the parameters that hold numbers."""
    return [
        name
        for name, parameter in inspect.signature(entry.function).parameters.items()
        if not any(word in str(parameter.annotation) for word in NOT_QUANTITIES)
    ]


def documentation(entry: Formula) -> str:
    return inspect.getdoc(entry.function) or ""


def equation(entry: Formula) -> str:
    """Return the docstring's math, over all its lines, without backslashes and braces."""
    found = re.search(r"^\.\. math::(.*?)(?:\n\s*\n|\Z)", documentation(entry), re.S | re.M)
    return re.sub(r"[\\{}]", "", found.group(1)) if found else ""


def points(entry: Formula) -> list[dict[str, float]]:
    """Return three points at which every formula is defined: counts are whole, the rest are fractions.

    Numbers differ from each other and from round ones, so that no term hides another.
    """
    rng = random.Random(entry.function.__name__)
    chosen = []
    for _ in range(3):
        point: dict[str, float] = {}
        for name in parameters(entry):
            unit = QUANTITIES[name].unit if name in QUANTITIES else ""
            if name in RANGES:
                low, high = RANGES[name]
                point[name] = (
                    float(rng.randint(low, high)) if isinstance(low, int) else rng.uniform(low, high)
                )
            elif unit in ("1", "samples", "tokens") and _is_share(name):
                point[name] = rng.uniform(0.1, 0.45)
            elif unit in ("1", "samples", "tokens"):
                point[name] = float(rng.randint(3, 40))
            else:
                point[name] = rng.uniform(1.5, 9.5)
        chosen.append(point)
    return chosen


def _is_share(name: str) -> bool:
    words = ("fraction", "efficiency", "probability", "density", "contention", "coherency", "share", "rate")
    return any(word in name for word in words)


def exact_number(x: float) -> sympy.Number:
    """Whole numbers stay whole, so that the ceiling of a logarithm is exact."""
    return sympy.Integer(int(x)) if x == int(x) else sympy.Float(x)


def at(entry: Formula, point: dict[str, Any]) -> Any:
    return entry.function(**point)


@pytest.mark.parametrize("entry", SYMBOLIC)
def test_float_and_array_agree(entry: Formula) -> None:
    several = points(entry)
    arrays = {name: np.array([point[name] for point in several]) for name in several[0]}
    together = np.broadcast_to(np.asarray(at(entry, arrays), dtype=float), (len(several),))
    for result, point in zip(together, several, strict=True):
        assert float(at(entry, point)) == pytest.approx(float(result), rel=1e-12)


@pytest.mark.parametrize("entry", SYMBOLIC)
def test_float_and_symbol_agree(entry: Formula) -> None:
    symbols = {name: sympy.Symbol(name, positive=True) for name in parameters(entry)}
    expression = sympy.sympify(at(entry, symbols))
    for point in points(entry):
        # every symbol is replaced as it stands: what subs looks for beside them takes it most of its time
        value = expression.xreplace({symbols[name]: exact_number(x) for name, x in point.items()})
        assert float(value) == pytest.approx(float(at(entry, point)), rel=1e-9)


@pytest.mark.parametrize("entry", SYMBOLIC)
def test_exact_derivatives_match_central_differences(entry: Formula) -> None:
    """A parameter inside a ceiling or a floor has no derivative to speak of and is left out."""
    symbols = {name: sympy.Symbol(name, positive=True) for name in parameters(entry)}
    expression = sympy.sympify(at(entry, symbols))
    point = points(entry)[0]
    values = {symbols[name]: exact_number(x) for name, x in point.items()}
    steps = expression.atoms(sympy.floor, sympy.ceiling)
    stepped = {symbol for step in steps for symbol in step.free_symbols}
    for name, symbol in symbols.items():
        if symbol in stepped:
            continue
        exact = float(sympy.diff(expression, symbol).xreplace(values))
        step = 1e-4 * point[name]
        higher = float(at(entry, point | {name: point[name] + step}))
        lower = float(at(entry, point | {name: point[name] - step}))
        scale = abs(float(at(entry, point))) / point[name]
        assert exact == pytest.approx((higher - lower) / (2 * step), rel=1e-4, abs=1e-7 * scale), name


@pytest.mark.parametrize("entry", ALL)
def test_parameters_are_in_the_vocabulary(entry: Formula) -> None:
    missing = [name for name in quantities(entry) if name not in QUANTITIES]
    assert not missing, f"say once in vocabulary.py what these are: {', '.join(missing)}"


@pytest.mark.parametrize("entry", ALL)
def test_docstring_names_every_parameter_and_works_an_example(entry: Formula) -> None:
    text = documentation(entry)
    assert ">>> " in text, "a worked example"
    assert equation(entry).strip(), "an equation: .. math::"
    for name in parameters(entry):
        assert re.search(rf"^{name}\b[^\n]* : ", text, re.M) or re.search(
            rf"^(?:\w+, )*{name}(?:, \w+)* : ", text, re.M
        ), f"{name} is not under Parameters"


@pytest.mark.parametrize("entry", ALL)
def test_symbols_of_the_parameters_are_in_the_equation(entry: Formula) -> None:
    """The symbol of each ``name : symbol [unit]`` line; alpha there is a Greek letter in the equation."""
    for name in parameters(entry):
        line = re.search(rf"^{name} : ([A-Za-z]+(?:_\w+)?) \[", documentation(entry), re.M)
        if line:
            assert line.group(1) in equation(entry), f"{name}: {line.group(1)} is not in the equation"


@pytest.mark.parametrize("entry", ALL)
def test_sources_exist(entry: Formula) -> None:
    unknown = [key for key in entry.cites if key not in REFERENCES]
    assert not unknown, f"not in references.toml: {', '.join(unknown)}"


def test_symbols_do_not_hide_a_branch() -> None:
    """The watch itself: a formula that uses the builtin max does not pass."""
    wrong = Formula(lambda message_bytes, hop_latency: max(message_bytes, hop_latency), (), True)
    with pytest.raises(TypeError):
        test_float_and_symbol_agree(wrong)


def test_the_watch_sees_the_formulas() -> None:
    assert len(FORMULAS) > 60
    assert math.isfinite(sum(len(documentation(entry)) for entry in FORMULAS.values()))
