"""A number with its history: the numbers, the operation and the formula that made it.

An evaluation on traced numbers gives the same values as one on plain numbers, and with them the equations
with numbers filled in, the sources of inputs and exact derivatives.  Floats and arrays may be traced.
What would turn a traced number into a plain one raises, so that history is not lost unnoticed.
"""

from __future__ import annotations

import inspect
import operator
import sys
from collections.abc import Callable, Iterable, Iterator
from types import FrameType
from typing import Any, NamedTuple

import numpy as np

from perfmodel.core import ops
from perfmodel.core.tracing.derivative_rules import ELEMENTWISE, REDUCING, fitted_to, ties
from perfmodel.core.tracing.tracing import TRACE, Call, Trace


class Leaf(NamedTuple):
    """Origin of a number that no operation made."""

    name: str
    """E.g. ``v100-sxm2-16gb.memory_bandwidth``."""
    source: str
    """Who states it, or what it was learned from."""


class Traced:
    """A number or an array with its history; it compares as its value does, and cannot be hashed."""

    __slots__ = ("arguments", "backward", "call", "is_tied", "leaf", "operation", "parents", "value")
    __hash__ = None  # type: ignore[assignment]

    def __init__(
        self,
        value: Any,
        operation: str = "",
        parents: tuple[Traced, ...] = (),
        backward: Callable[[Any], Iterable[Any]] | None = None,
        leaf: Leaf | None = None,
        is_tied: bool = False,
        arguments: tuple[Any, ...] | None = None,
    ) -> None:
        self.value = value
        self.operation = operation
        """Empty for a leaf."""
        self.parents = parents
        """The traced numbers it was made from."""
        self.arguments = parents if arguments is None else arguments
        """Arguments of the operation: parents and plain values."""
        self.backward = backward
        """Function from its gradient to those of its parents."""
        self.leaf = leaf
        self.is_tied = is_tied
        """Whether it is at a kink: equal arguments of a maximum, or the edge of a step."""
        trace = None if leaf is not None else TRACE.get()
        self.call = None if trace is None else _formula_around(trace)
        """The outermost formula that made it; None of a number made between formulas."""

    def __repr__(self) -> str:
        name = self.leaf.name if self.leaf else self.call.name if self.call else self.operation
        return f"<Traced {self.value!r}: {name}>"

    # -- numpy's functions
    def __array_ufunc__(self, ufunc: Any, method: str, *inputs: Any, out: Any = None, **options: Any) -> Any:
        name = _NAMES.get(ufunc.__name__, ufunc.__name__)
        if out is not None and not any(out[0] is each for each in inputs):
            raise _lost(f"np.{name}(..., out=...)")
        if method == "__call__":
            if name in _UNTRACED:
                return ufunc(*map(plain, inputs), **options)
            if name in ELEMENTWISE:
                return made(name, ufunc, *inputs)
        elif (name, method) in _METHODS:
            options.setdefault("axis", 0)
            return reduced(_METHODS[name, method], getattr(ufunc, method), inputs[0], **options)
        raise _lost(f"np.{name}" + ("" if method == "__call__" else f".{method}"))

    def __array_function__(self, function: Any, types: Any, inputs: Any, options: Any) -> Any:
        name = function.__name__
        if name in _UNTRACED:
            return function(*_plain_items(inputs), **options)
        if name in REDUCING:
            axis = {"axis": inputs[1]} if len(inputs) > 1 else {}
            return reduced(name, function, inputs[0], **axis, **options)
        if name == "where" and len(inputs) == 3:
            return made(name, function, *inputs)
        if name in ("concatenate", "stack"):
            return _joined(name, function, inputs[0], options.get("axis", *inputs[1:] or (0,)))
        if name == "bincount":
            return made(name, function, inputs[0], options["weights"])
        if name == "broadcast_to":
            return made(name, lambda a: function(a, *inputs[1:]), inputs[0])
        if name in ("expand_dims", "reshape", "squeeze", "ravel"):
            return made("reshape", lambda a: function(a, *inputs[1:], **options), inputs[0])
        raise _lost(f"np.{name}")

    # -- what would lose the history
    def __float__(self) -> float:
        raise _lost("float()")

    def __int__(self) -> int:
        raise _lost("int()")

    def __index__(self) -> int:
        raise _lost("an index")

    def __round__(self, digits: int | None = None) -> Any:
        raise _lost("round()")

    def __array__(self, *_: Any, **__: Any) -> Any:
        raise _lost("np.asarray() or np.array()")

    # -- looking at the value
    def __bool__(self) -> bool:
        return bool(self.value)

    def __eq__(self, other: object) -> Any:
        return self.value == plain(other)

    def __ne__(self, other: object) -> Any:
        return self.value != plain(other)

    def __lt__(self, other: Any) -> Any:
        return self.value < plain(other)

    def __le__(self, other: Any) -> Any:
        return self.value <= plain(other)

    def __gt__(self, other: Any) -> Any:
        return self.value > plain(other)

    def __ge__(self, other: Any) -> Any:
        return self.value >= plain(other)

    def __len__(self) -> int:
        return len(self.value)

    @property
    def shape(self) -> tuple[int, ...]:
        """Shape of the value."""
        return np.shape(self.value)

    @property
    def ndim(self) -> int:
        """Axes of the value."""
        return np.ndim(self.value)

    @property
    def size(self) -> int:
        """Elements of the value."""
        return int(np.size(self.value))

    # -- parts
    def __iter__(self) -> Iterator[Traced]:
        return (self[i] for i in range(len(self.value)))

    def __getitem__(self, key: Any) -> Traced:
        return made("getitem", operator.getitem, self, key)

    # -- arithmetic
    def __add__(self, other: Any) -> Traced:
        return made("add", operator.add, self, other)

    def __radd__(self, other: Any) -> Traced:
        return made("add", operator.add, other, self)

    def __sub__(self, other: Any) -> Traced:
        return made("subtract", operator.sub, self, other)

    def __rsub__(self, other: Any) -> Traced:
        return made("subtract", operator.sub, other, self)

    def __mul__(self, other: Any) -> Traced:
        return made("multiply", operator.mul, self, other)

    def __rmul__(self, other: Any) -> Traced:
        return made("multiply", operator.mul, other, self)

    def __truediv__(self, other: Any) -> Traced:
        return made("divide", operator.truediv, self, other)

    def __rtruediv__(self, other: Any) -> Traced:
        return made("divide", operator.truediv, other, self)

    def __pow__(self, other: Any) -> Traced:
        return made("power", operator.pow, self, other)

    def __rpow__(self, other: Any) -> Traced:
        return made("power", operator.pow, other, self)

    def __floordiv__(self, other: Any) -> Traced:
        return made("floor_divide", operator.floordiv, self, other)

    def __rfloordiv__(self, other: Any) -> Traced:
        return made("floor_divide", operator.floordiv, other, self)

    def __mod__(self, other: Any) -> Traced:
        return made("remainder", operator.mod, self, other)

    def __matmul__(self, other: Any) -> Traced:
        return made("matmul", operator.matmul, self, other)

    def __rmatmul__(self, other: Any) -> Traced:
        return made("matmul", operator.matmul, other, self)

    def __neg__(self) -> Traced:
        return made("negative", operator.neg, self)

    def __abs__(self) -> Traced:
        return made("absolute", abs, self)

    # -- methods of arrays
    def sum(self, axis: int | None = None, keepdims: bool = False) -> Traced:
        """Return the sum along an axis, or of all elements."""
        return reduced("sum", np.sum, self, axis=axis, keepdims=keepdims)

    def max(self, axis: int | None = None) -> Traced:
        """Return the maximum along an axis, or of all elements."""
        return reduced("max", np.max, self, axis=axis)

    def min(self, axis: int | None = None) -> Traced:
        """Return the minimum along an axis, or of all elements."""
        return reduced("min", np.min, self, axis=axis)

    def reshape(self, *to: Any) -> Traced:
        """Return the traced number with its value in another shape."""
        return made("reshape", lambda a: np.reshape(a, to if len(to) > 1 else to[0]), self)

    def item(self) -> Traced:
        """Return the number in an array of one element or a numpy scalar, traced."""
        return made("reshape", lambda a: np.asarray(a).item(), self)

    def tolist(self) -> list[Traced]:
        """Return the numbers of an array of one axis, each traced."""
        return [each.item() for each in self]

    def copy(self) -> Traced:
        """Return the number itself, since operations never change it."""
        return self


def leaf(value: Any, name: str, source: str) -> Traced:
    """Return a plain number as a traced one without parents, with its name and source.

    Raises
    ------
    TypeError : the number is traced already
    """
    if isinstance(value, Traced):
        raise TypeError(f"{name} is traced already; expected a plain number, such as one that code holds")
    return Traced(value, leaf=Leaf(name, source))


def plain(value: Any) -> Any:
    """Return the value of a traced number; any other value unchanged."""
    return value.value if isinstance(value, Traced) else value


def made(operation: str, compute: Callable[..., Any], *arguments: Any) -> Traced:
    """Return the traced result of ``compute``, an operation named by a key of ``ELEMENTWISE``."""
    values = [plain(each) for each in arguments]
    result = compute(*values)
    rules = [(rule, each) for rule, each in zip(ELEMENTWISE[operation], arguments, strict=False)]

    def backward(gradient: Any) -> list[Any]:
        return [
            fitted_to(rule(gradient, result, *values), each.value)
            for rule, each in rules
            if isinstance(each, Traced)
        ]

    parents = tuple([each for _, each in rules if isinstance(each, Traced)])
    is_tied = ties(operation, values, {}) and len(set(map(id, arguments))) == len(arguments)
    return Traced(result, operation, parents, backward, is_tied=is_tied, arguments=arguments)


def reduced(operation: str, compute: Callable[..., Any], of: Traced, **options: Any) -> Traced:
    """Return the traced result of ``compute``, a reduction of an array named by a key of ``REDUCING``."""
    value = of.value
    result, rule = compute(value, **options), REDUCING[operation]
    return Traced(
        result,
        operation,
        (of,),
        lambda gradient: [rule(gradient, result, value, options)],
        is_tied=ties(operation, [value], options),
    )


def _joined(name: str, function: Any, parts: Any, axis: int) -> Traced:
    """Return arrays concatenated, or stacked where ``name`` is ``stack``."""
    values = [plain(each) for each in parts]

    def backward(gradient: Any) -> list[Any]:
        if name == "stack":
            pieces = [np.take(gradient, i, axis) for i in range(len(values))]
        else:
            pieces = np.split(gradient, np.cumsum([np.shape(each)[axis] for each in values])[:-1], axis)
        return [piece for piece, each in zip(pieces, parts, strict=True) if isinstance(each, Traced)]

    parents = tuple([each for each in parts if isinstance(each, Traced)])
    return Traced(function(values, axis=axis), name, parents, backward, arguments=tuple(parts))


def _plain_items(inputs: Any) -> Any:
    return [
        type(each)(map(plain, each)) if isinstance(each, (tuple, list)) else plain(each) for each in inputs
    ]


def _lost(by: str) -> TypeError:
    return TypeError(
        f"{by} of a traced number would lose how it was made: use perfmodel.core.ops, "
        "ops.plain where only the value matters, or mark the formula as numeric"
    )


def _formula_around(trace: Trace) -> Call | None:
    """Return the call of the outermost registered formula on Python's stack; None outside of formulas."""
    frame: FrameType | None = sys._getframe(2)
    outermost, names = None, trace.names()
    while frame is not None:
        if (name := names.get(id(frame.f_code))) is not None:
            outermost = frame
            trace.ran.setdefault(name)
        frame = frame.f_back
    if outermost is None:
        return None
    call = trace.running.get(outermost)
    if call is None:
        call = trace.running[outermost] = Call(names[id(outermost.f_code)], _arguments(outermost))
        trace.calls.append(call)
    return call


def _arguments(frame: FrameType) -> dict[str, Any]:
    """Return the arguments of a running formula by name, those of ``**terms`` included."""
    code, held = frame.f_code, frame.f_locals
    count = code.co_argcount + code.co_kwonlyargcount
    arguments = {name: held[name] for name in code.co_varnames[:count]}
    if code.co_flags & inspect.CO_VARARGS:
        count += 1
    if code.co_flags & inspect.CO_VARKEYWORDS:
        arguments |= held[code.co_varnames[count]]
    return arguments


_NAMES = {"true_divide": "divide", "fabs": "absolute"}
_METHODS = {
    ("add", "reduce"): "sum",
    ("maximum", "reduce"): "max",
    ("minimum", "reduce"): "min",
    ("add", "accumulate"): "cumsum",
    ("maximum", "accumulate"): "cummax",
}
_COMPARING = ("less", "less_equal", "greater", "greater_equal", "equal", "not_equal")
_TRUTH = ("isfinite", "isnan", "isinf", "logical_not", "logical_and", "logical_or", "any", "all")
_PLACES = ("argsort", "argmin", "argmax")
_SHAPES = ("ndim", "shape", "size", "zeros_like", "ones_like", "empty_like", "full_like")
_UNTRACED = frozenset((*_COMPARING, *_TRUTH, *_PLACES, *_SHAPES))
"""Functions of numpy whose results need no history: comparisons, indices, shapes."""


# -- the functions of ``perfmodel.core.ops``
def _operation(name: str) -> Callable[..., Traced]:
    """Return the traced form of a function of ``ops``, which computes the value."""
    compute = getattr(ops, name)
    return lambda *arguments: made(name, compute, *arguments)


maximum, minimum = _operation("maximum"), _operation("minimum")
ceil, floor = _operation("ceil"), _operation("floor")
sqrt, exp, where = _operation("sqrt"), _operation("exp"), _operation("where")
log, log2, log1p = _operation("log"), _operation("log2"), _operation("log1p")


def number(value: Traced) -> Traced:
    """Return a traced number, or an array of one, as a traced float."""
    return made("reshape", lambda a: float(np.asarray(a).item()), value)


def array(values: Any) -> Traced:
    """Return a traced array of floats from a traced number, or from a sequence of numbers, by stacking."""
    if isinstance(values, Traced):
        return made("array", ops.array, values)
    return _joined("stack", np.stack, values, 0)


ops.traced = sys.modules[__name__]
