"""The few functions, beyond Python's operators, that serve number, array and symbol alike.

A formula written with ``+ - * / **`` and these names answers one scenario with floats, a sweep with numpy
arrays, and gives an equation with sympy symbols.  Neither library is imported to find out.
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


def _library(*args: object) -> ModuleType:
    """Return sympy, numpy or math: the first that one of ``args`` belongs to."""
    for a in args:
        if type(a) not in _PLAIN:
            break
    else:
        return math
    sympy, numpy = sys.modules.get("sympy"), sys.modules.get("numpy")
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
    """The larger of two values, element by element for arrays."""
    if type(a) in _PLAIN and type(b) in _PLAIN:
        return b if b > a else a
    numpy = sys.modules.get("numpy")
    if numpy is not None and (type(a) is numpy.ndarray or type(b) is numpy.ndarray):
        return numpy.maximum(a, b)
    library: Any = _library(a, b)
    if library is math:
        return max(a, b)
    return library.maximum(a, b) if library.__name__ == "numpy" else library.Max(a, b)


def minimum(a: Real, b: Real) -> Real:
    """The smaller of two values, element by element for arrays."""
    if type(a) in _PLAIN and type(b) in _PLAIN:
        return b if b < a else a
    numpy = sys.modules.get("numpy")
    if numpy is not None and (type(a) is numpy.ndarray or type(b) is numpy.ndarray):
        return numpy.minimum(a, b)
    library: Any = _library(a, b)
    if library is math:
        return min(a, b)
    return library.minimum(a, b) if library.__name__ == "numpy" else library.Min(a, b)


def ceil(x: Real) -> Real:
    """The smallest integer not below x."""
    if type(x) is float:
        return math.ceil(x)
    library: Any = _library(x)
    return library.ceiling(x) if library.__name__ == "sympy" else library.ceil(x)


def floor(x: Real) -> Real:
    """The largest integer not above x."""
    if type(x) is float:
        return math.floor(x)
    return _library(x).floor(x)


def sqrt(x: Real) -> Real:
    """The square root of x."""
    if type(x) is float:
        return math.sqrt(x)
    numpy = sys.modules.get("numpy")
    if numpy is not None and type(x) is numpy.ndarray:
        return numpy.sqrt(x)
    return _library(x).sqrt(x)


def log(x: Real) -> Real:
    """The natural logarithm of x."""
    if type(x) is float:
        return math.log(x)
    return _library(x).log(x)


def log2(x: Real) -> Real:
    """The logarithm of x to base 2, exact for powers of two."""
    if type(x) in _PLAIN:
        return math.log2(x)
    library: Any = _library(x)
    return library.log(x, 2) if library.__name__ == "sympy" else library.log2(x)


def exp(x: Real) -> Real:
    """E to the power of x."""
    if type(x) is float:
        return math.exp(x)
    return _library(x).exp(x)


def where(condition: Any, a: Real, b: Real) -> Real:
    """A where the condition holds, b elsewhere; both are evaluated."""
    if type(condition) is bool:
        return a if condition else b
    library: Any = _library(condition, a, b)
    if library is math:
        return a if condition else b
    if library.__name__ == "numpy":
        return library.where(condition, a, b)
    return library.Piecewise((a, condition), (b, True))
