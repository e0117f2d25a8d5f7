"""Functions that serve number, array and symbol alike, in addition to Python's operators.

A formula written with ``+ - * / **`` and these names answers one scenario with floats, a sweep with numpy
arrays, and gives an equation with sympy symbols.  A function looks in ``sys.modules`` for the libraries and
imports neither.
"""

from __future__ import annotations

import math
import sys
from types import ModuleType
from typing import TYPE_CHECKING, Any, TypeAlias

if TYPE_CHECKING:
    import numpy as np
    import sympy
    from numpy.typing import NDArray

    Real: TypeAlias = float | NDArray[np.float64] | sympy.Expr
else:
    Real = Any


_PLAIN = frozenset((float, int, bool))
traced: Any = None
"""``core.tracing.traced``, the module of traced numbers, once imported; it has a function for each here."""


def _library(*args: object) -> ModuleType:
    """Return ``traced``, sympy, numpy or math: the first that one of ``args`` belongs to."""
    for a in args:
        if type(a) not in _PLAIN:
            break
    else:
        return math
    sympy, numpy = sys.modules.get("sympy"), sys.modules.get("numpy")
    if traced is not None:
        for a in args:
            if type(a) is traced.Traced:
                return traced
    if sympy is not None:
        for a in args:
            if isinstance(a, sympy.Basic):
                return sympy
    if numpy is not None:
        for a in args:
            if isinstance(a, (numpy.ndarray, numpy.generic)):
                return numpy
    return math


def maximum(a: Real, b: Real) -> Real:
    """Return the larger of two values, element by element for arrays."""
    if type(a) in _PLAIN and type(b) in _PLAIN:
        return b if b > a else a
    numpy = sys.modules.get("numpy")
    if numpy is not None and (type(a) is numpy.ndarray or type(b) is numpy.ndarray):
        return numpy.maximum(a, b)  # a traced number overrides it
    library: Any = _library(a, b)
    if library is math:
        return max(a, b)
    return library.Max(a, b) if library.__name__ == "sympy" else library.maximum(a, b)


def minimum(a: Real, b: Real) -> Real:
    """Return the smaller of two values, element by element for arrays."""
    if type(a) in _PLAIN and type(b) in _PLAIN:
        return b if b < a else a
    numpy = sys.modules.get("numpy")
    if numpy is not None and (type(a) is numpy.ndarray or type(b) is numpy.ndarray):
        return numpy.minimum(a, b)  # a traced number overrides it
    library: Any = _library(a, b)
    if library is math:
        return min(a, b)
    return library.Min(a, b) if library.__name__ == "sympy" else library.minimum(a, b)


def ceil(x: Real) -> Real:
    """Return the smallest integer not below x."""
    if type(x) is float:
        return math.ceil(x)
    library: Any = _library(x)
    return library.ceiling(x) if library.__name__ == "sympy" else library.ceil(x)


def floor(x: Real) -> Real:
    """Return the largest integer not above x."""
    if type(x) is float:
        return math.floor(x)
    return _library(x).floor(x)


def sqrt(x: Real) -> Real:
    """Return the square root of x."""
    if type(x) is float:
        return math.sqrt(x)
    numpy = sys.modules.get("numpy")
    if numpy is not None and type(x) is numpy.ndarray:
        return numpy.sqrt(x)
    return _library(x).sqrt(x)


def log(x: Real) -> Real:
    """Return the natural logarithm of x."""
    if type(x) is float:
        return math.log(x)
    return _library(x).log(x)


def log2(x: Real) -> Real:
    """Return the logarithm of x to base 2, exact for powers of two."""
    if type(x) in _PLAIN:
        return math.log2(x)
    library: Any = _library(x)
    return library.log(x, 2) if library.__name__ == "sympy" else library.log2(x)


def exp(x: Real) -> Real:
    """Return e to the power of x."""
    if type(x) is float:
        return math.exp(x)
    return _library(x).exp(x)


def where(condition: Any, a: Real, b: Real) -> Real:
    """Return a where the condition holds, b elsewhere; both are evaluated."""
    if type(condition) is bool:
        chosen = a if condition else b
        if traced is None or type(chosen) is not traced.Traced:
            return chosen
        return traced.where(condition, a, b)
    library: Any = _library(condition, a, b)
    if library is math:
        return a if condition else b
    if library.__name__ == "sympy":
        return library.Piecewise((a, condition), (b, True))
    return library.where(condition, a, b)


def holds(condition: Any) -> bool:
    """Return whether a condition holds; of an array, for all elements."""
    return condition if type(condition) is bool else bool(condition.all())


def log1p(x: Real) -> Real:
    """Return the natural logarithm of 1 + x."""
    if type(x) is float:
        return math.log1p(x)
    return _library(x).log1p(x)


def array(x: Any) -> Any:
    """Return a value or a sequence as a numpy array of floats, traced if a number in it is."""
    if traced is not None and _library(*x if isinstance(x, (tuple, list)) else (x,)) is traced:
        return traced.array(x)
    import numpy

    return numpy.asarray(x, dtype=numpy.float64)


def number(x: Any) -> Any:
    """Return a numpy scalar, or an array of one element, as a Python float, traced if it was."""
    return traced.number(x) if traced is not None and type(x) is traced.Traced else float(x)


def plain(x: Any) -> Any:
    """Return a value without the history of a traced number, for where only the value matters."""
    return x if traced is None else traced.plain(x)
