"""The derivative of every operation on traced numbers, as backward rules.

A rule takes the gradient of the result, the result and the arguments, and gives the gradient of one argument,
which may still have the axes that broadcasting added.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

TIE = 1e-9
"""Relative difference below which the two arguments of a maximum count as equal: the point is a kink."""

Rule = Callable[..., Any]


def none(*_: Any) -> float:
    """Return a gradient of 0, for results that are piecewise constant in the argument."""
    return 0.0


def scattered(gradient: Any, like: Any, key: Any) -> Any:
    """Return the gradient of an array from the gradient of its items ``key``; 0 for all others."""
    result = np.zeros(np.shape(like))
    np.add.at(result, key, gradient)
    return result


ELEMENTWISE: dict[str, tuple[Rule, ...]] = {
    "add": (lambda g, y, a, b: g, lambda g, y, a, b: g),
    "subtract": (lambda g, y, a, b: g, lambda g, y, a, b: -g),
    "multiply": (lambda g, y, a, b: g * b, lambda g, y, a, b: g * a),
    "divide": (lambda g, y, a, b: g / b, lambda g, y, a, b: -g * y / b),
    "power": (
        lambda g, y, a, b: g * b * a ** (b - 1),
        lambda g, y, a, b: g * y * np.log(np.where(np.asarray(a) > 0, a, 1.0)),
    ),
    "negative": (lambda g, y, a: -g,),
    "absolute": (lambda g, y, a: g * np.sign(a),),
    "maximum": (lambda g, y, a, b: g * (np.asarray(b) <= a), lambda g, y, a, b: g * (np.asarray(b) > a)),
    "minimum": (lambda g, y, a, b: g * (np.asarray(b) >= a), lambda g, y, a, b: g * (np.asarray(b) < a)),
    "matmul": (lambda g, y, a, b: g * b, lambda g, y, a, b: g * a),
    "sqrt": (lambda g, y, a: g / (2 * np.where(np.asarray(y) > 0, y, np.inf)),),
    "square": (lambda g, y, a: 2 * g * a,),
    "exp": (lambda g, y, a: g * y,),
    "expm1": (lambda g, y, a: g * (y + 1),),
    "log": (lambda g, y, a: g / a,),
    "log2": (lambda g, y, a: g / (a * math.log(2)),),
    "log1p": (lambda g, y, a: g / (1 + a),),
    "where": (none, lambda g, y, c, a, b: np.where(c, g, 0.0), lambda g, y, c, a, b: np.where(c, 0.0, g)),
    **dict.fromkeys(("floor", "ceil", "rint", "sign"), (none,)),
    **dict.fromkeys(("floor_divide", "remainder"), (none, none)),
    "getitem": (lambda g, y, a, key: scattered(g, a, key),),
    "reshape": (lambda g, y, a: np.reshape(g, np.shape(a)),),
    "broadcast_to": (lambda g, y, a: g,),
    "bincount": (none, lambda g, y, a, b: g[a]),
    "array": (lambda g, y, a: g,),
}
"""Name of an operation -> a rule for each argument.  ``matmul`` is the product of two vectors."""


def _on_axis(value: Any, options: dict[str, Any]) -> Any:
    """Return a reduced value with the reduced axis put back, of length 1."""
    axis = options.get("axis")
    return value if axis is None or options.get("keepdims") else np.expand_dims(value, axis)


def _cumulated_back(g: Any, y: Any, a: Any, options: dict[str, Any]) -> Any:
    axis = options.get("axis", 0)
    return np.flip(np.cumsum(np.flip(g, axis), axis), axis)


def _largest_so_far_back(g: Any, y: Any, a: Any, options: dict[str, Any]) -> Any:
    axis = options.get("axis", 0)
    g, y, a = (np.moveaxis(each, axis, -1) for each in (g, y, a))
    place = np.maximum.accumulate(np.where(a == y, np.arange(a.shape[-1]), 0), axis=-1)
    result = np.zeros(a.shape)
    np.add.at(result, (*np.indices(a.shape)[:-1], place), g)
    return np.moveaxis(result, -1, axis)


def _chosen(which: Callable[..., Any]) -> Rule:
    def rule(g: Any, y: Any, a: Any, options: dict[str, Any]) -> Any:
        axis, result = options.get("axis"), np.zeros(np.shape(a))
        if axis is None:
            result.flat[which(a)] = 1.0
        else:
            np.put_along_axis(result, np.expand_dims(which(a, axis=axis), axis), 1.0, axis)
        return _on_axis(g, options) * result

    return rule


REDUCING: dict[str, Rule] = {
    "sum": lambda g, y, a, options: np.broadcast_to(_on_axis(g, options), np.shape(a)),
    "max": _chosen(np.argmax),
    "min": _chosen(np.argmin),
    "cumsum": _cumulated_back,
    "cummax": _largest_so_far_back,
}
"""Name of a reduction -> its rule, which also takes ``options``: axis and keepdims."""


def fitted_to(gradient: Any, value: Any) -> Any:
    """Return a gradient summed over the axes that broadcasting added, in the shape of ``value``."""
    shape = np.shape(value)
    gradient = np.asarray(gradient, np.float64)
    if gradient.shape == shape:
        return gradient
    gradient = gradient.sum(axis=tuple(range(gradient.ndim - len(shape))))
    axes = tuple(i for i, n in enumerate(shape) if n == 1 and gradient.shape[i] != 1)
    gradient = gradient.sum(axis=axes, keepdims=True) if axes else gradient
    return np.broadcast_to(gradient, shape)


def ties(operation: str, values: list[Any], options: dict[str, Any]) -> bool:
    """Return whether an operation is at a kink: equal arguments of a maximum, or the edge of a step."""
    if operation in ("maximum", "minimum"):
        return bool(np.any(np.isclose(values[0], values[1], rtol=TIE, atol=0)))
    if operation in ("max", "min"):
        extreme = getattr(np, operation)(values[0], **{**options, "keepdims": True})
        near = np.isclose(values[0], extreme, rtol=TIE, atol=0)
        return bool(np.any(near.sum(axis=options.get("axis")) > 1))
    if operation in ("floor", "ceil", "floor_divide"):
        of = values[0] if len(values) == 1 else np.divide(*values)
        return bool(np.any(np.isclose(of, np.rint(of), rtol=TIE, atol=0)))
    return operation == "absolute" and bool(np.any(np.equal(values[0], 0)))
