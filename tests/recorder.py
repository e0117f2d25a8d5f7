"""The formulas that a plain evaluation runs, by a profiling hook: what explanations are held against."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, NamedTuple

from perfmodel.core.formula import FORMULAS

PARTS = ("equations", "model")


class Ran(NamedTuple):
    """One call of a formula."""

    name: str
    """Key of ``FORMULAS``."""
    result: Any


@contextmanager
def recorded() -> Iterator[list[Ran]]:
    """Record every call of a registered formula, with no cache in between."""
    for clear in _clearings():
        clear()
    calls: list[Ran] = []

    def watch(frame: Any, event: str, result: Any) -> None:
        if event == "return" and result is not None:
            name = names.get(frame.f_code)
            if name is not None:
                calls.append(Ran(name, result))

    names = {entry.function.__code__: name for name, entry in FORMULAS.items()}
    sys.setprofile(watch)
    try:
        yield calls
    finally:
        sys.setprofile(None)


def _clearings() -> list[Callable[[], None]]:
    prefixes = tuple(f"perfmodel.{part}." for part in PARTS)
    return [
        value.cache_clear
        for name in [name for name in sys.modules if name.startswith(prefixes)]
        for value in list(vars(sys.modules[name]).values())
        if hasattr(value, "cache_clear") and getattr(value, "__module__", "").startswith(prefixes)
    ]
