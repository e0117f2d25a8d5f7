"""State of the current traced evaluation, and decorators of caches and searches that depend on it.

``perfmodel.core.tracing.traced`` has the numbers.  This module imports nothing, and costs a plain evaluation
one look at a context variable for each call of a cached function.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from contextvars import ContextVar
from types import FrameType
from typing import Any, ParamSpec, TypeVar

from perfmodel.core.formula import FORMULAS

_Parameters = ParamSpec("_Parameters")
_Result = TypeVar("_Result")


class Call:
    """One call of a registered formula that is not inside another formula's call."""

    __slots__ = ("arguments", "is_numeric", "name")

    def __init__(self, name: str, arguments: dict[str, Any], is_numeric: bool = False) -> None:
        self.name = name
        """Key of ``FORMULAS``."""
        self.arguments = arguments
        """Parameter -> argument: a traced number or a plain value."""
        self.is_numeric = is_numeric
        """Whether it takes only plain numbers, so that its derivatives are finite differences."""

    def __repr__(self) -> str:
        return f"<Call of {self.name}>"


class Trace:
    """Record of one traced evaluation."""

    def __init__(self, numeric_result: Callable[..., Any] | None = None) -> None:
        """Make an empty record; ``numeric_result`` runs a function marked ``numeric`` on traced arguments."""
        self.numeric_result = numeric_result
        self.calls: list[Call] = []
        """Calls of formulas, in the order of their first results."""
        self.ran: dict[str, None] = {}
        """Names of all formulas that ran on traced numbers, inner ones included; an ordered set."""
        self.change: Callable[[Any, str, str], Any] | None = None
        """Function from value, name and source of a number in ``given`` to the number to use instead."""
        self.learned: dict[str, Any] = {}
        """Traced copies of fitted numbers that functions read from a module, by the name of the fit."""
        self.running: dict[FrameType, Call] = {}
        self._names: dict[int, str] = {}

    def names(self) -> dict[int, str]:
        """Return the names of registered formulas by the identity of their code object.

        The identity, since hashing a code object hashes all of it.  The table is made anew after a module
        with formulas was imported.
        """
        if len(self._names) != len(FORMULAS):
            self._names = {id(entry.function.__code__): name for name, entry in FORMULAS.items()}
        return self._names


TRACE: ContextVar[Trace | None] = ContextVar("trace", default=None)


def given(value: Any, name: str, source: str) -> Any:
    """Return a number that code states; in a traced run, the number that the trace puts in its place.

    Parameters
    ----------
    value : the number
    name, source : name and origin of the number in an explanation
    """
    trace = TRACE.get()
    return value if trace is None or trace.change is None else trace.change(value, name, source)


def remembered(
    maxsize: int | None,
) -> Callable[[Callable[_Parameters, _Result]], Callable[_Parameters, _Result]]:
    """Return a decorator like ``functools.lru_cache`` that bypasses the cache while numbers are traced.

    The decorated function takes no keyword arguments.
    """

    def decorate(function: Callable[_Parameters, _Result]) -> Callable[_Parameters, _Result]:
        cached: Any = functools.lru_cache(maxsize)(function)
        uncached: Any = function
        is_traced = TRACE.get

        @functools.wraps(function)
        def call(*arguments: Any) -> Any:
            return (uncached if is_traced() else cached)(*arguments)

        call.cache_clear = cached.cache_clear  # type: ignore[attr-defined]
        result: Any = call
        return result  # type: ignore[no-any-return]

    return decorate


def numeric(function: Callable[_Parameters, _Result]) -> Callable[_Parameters, _Result]:
    """Decorate a search or a recursion: it runs on plain numbers, and a trace records it as one operation."""

    @functools.wraps(function)
    def call(*arguments: _Parameters.args, **keywords: _Parameters.kwargs) -> _Result:
        trace = TRACE.get()
        if trace is None or trace.numeric_result is None:
            return function(*arguments, **keywords)
        return trace.numeric_result(function, arguments, keywords)  # type: ignore[no-any-return]

    return call
