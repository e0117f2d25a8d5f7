"""Whether numbers are traced here and now, and what has to know it: caches and searches.

``perfmodel.core.tracing.traced`` has the numbers.  What is here costs a plain evaluation one look at a
context variable for each call of a cached function, and imports nothing.
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
    """One call of a registered formula that no other formula made."""

    __slots__ = ("arguments", "is_numeric", "name")

    def __init__(self, name: str, arguments: dict[str, Any], is_numeric: bool = False) -> None:
        self.name = name
        """Key of ``FORMULAS``."""
        self.arguments = arguments
        """By parameter: traced numbers, and plain ones that nothing made."""
        self.is_numeric = is_numeric
        """Whether it takes plain numbers alone, so that its derivatives are differences."""

    def __repr__(self) -> str:
        return f"<Call of {self.name}>"


class Trace:
    """What one traced evaluation has found out."""

    def __init__(self, numeric_result: Callable[..., Any] | None = None) -> None:
        """Take what gives the result of a function marked ``numeric``: the function, arguments, keywords."""
        self.numeric_result = numeric_result
        self.calls: list[Call] = []
        """In the order in which they made their first number."""
        self.ran: dict[str, None] = {}
        """Every formula that ran on traced numbers, those that others called too."""
        self.change: Callable[[Any, str, str], Any] | None = None
        """What takes the place of a number, given its name and source too."""
        self.learned: dict[str, Any] = {}
        """Traced numbers in the place of fits that functions read rather than take, by what they are of."""
        self.running: dict[FrameType, Call] = {}
        self._names: dict[int, str] = {}

    def names(self) -> dict[int, str]:
        """Return the registered formulas by the identity of their code, which Python hashes as a whole.

        Modules may be imported while numbers are traced.
        """
        if len(self._names) != len(FORMULAS):
            self._names = {id(entry.function.__code__): name for name, entry in FORMULAS.items()}
        return self._names


TRACE: ContextVar[Trace | None] = ContextVar("trace", default=None)


def given(value: Any, name: str, source: str) -> Any:
    """Return a number that code holds, or reads from a text; traced, what takes its place."""
    trace = TRACE.get()
    return value if trace is None or trace.change is None else trace.change(value, name, source)


def remembered(
    maxsize: int | None,
) -> Callable[[Callable[_Parameters, _Result]], Callable[_Parameters, _Result]]:
    """Return a decorator like ``functools.lru_cache`` whose cache no traced number enters or leaves.

    The function takes no keywords.
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
    """Let a search or a recursion see plain numbers: traced, it is one operation, derived by differences."""

    @functools.wraps(function)
    def call(*arguments: _Parameters.args, **keywords: _Parameters.kwargs) -> _Result:
        trace = TRACE.get()
        if trace is None or trace.numeric_result is None:
            return function(*arguments, **keywords)
        return trace.numeric_result(function, arguments, keywords)  # type: ignore[no-any-return]

    return call
