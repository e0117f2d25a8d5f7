"""The register of formulas: what the tests watch, ``explain`` prints and ``cite`` looks up."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple, TypeVar

_Function = TypeVar("_Function", bound=Callable[..., Any])


class Formula(NamedTuple):
    """One registered formula."""

    function: Callable[..., Any]
    cites: tuple[str, ...]
    """Keys of ``references.toml``."""
    symbolic: bool
    """Whether it takes sympy symbols; a recursion or a quadrature does not."""


FORMULAS: dict[str, Formula] = {}
"""Every formula of the modules imported so far, by ``module.function`` below ``perfmodel.equations``."""


def formula(*, cites: str | tuple[str, ...], symbolic: bool = True) -> Callable[[_Function], _Function]:
    """Return a decorator that registers a function as a formula and leaves it unchanged.

    Parameters
    ----------
    cites : one key, or several, of ``references.toml``
    symbolic : whether the function takes sympy symbols
    """

    def register(function: _Function) -> _Function:
        keys = (cites,) if isinstance(cites, str) else cites
        name = f"{function.__module__.removeprefix('perfmodel.equations.')}.{function.__name__}"
        FORMULAS[name] = Formula(function, keys, symbolic)
        return function

    return register
