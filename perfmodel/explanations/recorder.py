"""A record of the registered formulas that ran, with their arguments and results.

Python's profiling hook sees every call, however a formula was imported or looked up, and nothing has to be
replaced to be watched; ``predict`` itself knows nothing of it and pays nothing for it.
"""

from __future__ import annotations

import inspect
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import lru_cache
from types import CodeType, FrameType
from typing import Any, NamedTuple

from perfmodel.formula import FORMULAS

REMEMBERING = tuple(
    f"perfmodel.{part}." for part in ("equations", "collectives", "prediction", "step", "transformers")
)
"""Modules with caches, which are cleared: a cached call would not be recorded."""


class Call(NamedTuple):
    """One call of a formula, with the very objects that went in and came out."""

    name: str
    """Key of ``FORMULAS``."""
    arguments: dict[str, Any]
    """By parameter, defaults included; those of ``**terms`` by their own names."""
    result: Any
    depth: int
    """0 where no other formula made the call."""


@contextmanager
def recorded() -> Iterator[list[Call]]:
    """Record every call of a registered formula, in the order in which they return.

    Examples
    --------
    >>> from perfmodel.equations.compute import update_time
    >>> with recorded() as calls:
    ...     _ = update_time(25e6, 20, 500e9)
    >>> calls[0].name, calls[0].arguments["parameters"], calls[0].result
    ('compute.update_time', 25000000.0, 0.001)
    """
    _forget()
    calls: list[Call] = []
    names: dict[CodeType, str] = {}
    running: list[tuple[FrameType, str, dict[str, Any]]] = []

    def watch(frame: FrameType, event: str, result: Any) -> None:
        if event == "call":
            if len(names) != len(FORMULAS):
                names.update({entry.function.__code__: name for name, entry in FORMULAS.items()})
            name = names.get(frame.f_code)
            if name is not None:
                running.append((frame, name, _arguments(frame)))
        elif event == "return" and running and running[-1][0] is frame:
            _, name, arguments = running.pop()
            if result is not None:  # a call that raises returns None
                calls.append(Call(name, arguments, result, len(running)))

    before: Any = sys.getprofile()
    sys.setprofile(watch)
    try:
        yield calls
    finally:
        if before is None or callable(before):
            sys.setprofile(before)
        else:  # the standard library's own profiler hooks in beneath Python
            sys.setprofile(None)
            before.enable()


def _arguments(frame: FrameType) -> dict[str, Any]:
    """What a function was called with, before it ran."""
    arguments = dict(frame.f_locals)
    if frame.f_code.co_flags & inspect.CO_VARKEYWORDS:
        *_, keywords = (name for name in frame.f_code.co_varnames if name in arguments)
        arguments |= arguments.pop(keywords)
    return arguments


def _forget() -> None:
    for clear in _clearings(len(sys.modules)):
        clear()


@lru_cache(maxsize=1)
def _clearings(modules: int) -> list[Callable[[], None]]:
    """What clears each cache; looked for again when there are more ``modules`` than there were."""
    return [
        value.cache_clear
        for name in [name for name in sys.modules if name.startswith(REMEMBERING)]
        for value in list(vars(sys.modules[name]).values())
        if hasattr(value, "cache_clear") and getattr(value, "__module__", "").startswith(REMEMBERING)
    ]
