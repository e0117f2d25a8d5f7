"""Every command as a function, and as a method of the client; their types are in ``calls.pyi``."""

from __future__ import annotations

from functools import cache
from typing import Any

from perfmodel.interfaces.command import function_name
from perfmodel.interfaces.function import function_of, given_by
from perfmodel.interfaces.register import NAMES, OF_HAND, command

_BY_FUNCTION = {function_name(name): name for name in NAMES if name not in OF_HAND}


@cache
def __getattr__(name: str) -> Any:
    """Return the function of a command (PEP 562)."""
    if name not in _BY_FUNCTION:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    one = command(_BY_FUNCTION[name])
    if reason := one.without.get("python"):
        raise AttributeError(f"perfmodel.{name}: {reason}")
    return function_of(one)


class _Call:
    """A method of the client for one command, made on access."""

    def __init__(self, name: str) -> None:
        self.name = name

    def __get__(self, client: Any, owner: type) -> Any:
        if client is None:
            return self
        one = command(self.name)
        if reason := one.without.get("http"):
            raise AttributeError(f"{one.function}: {reason}")

        def call(*values: Any, **options: Any) -> Any:
            return client.answer_of(self.name, given_by(one, values, options))

        return call


class Calls:
    """A method for each command; ``answer_of`` sends the request."""


for _function, _name in _BY_FUNCTION.items():
    setattr(Calls, _function, _Call(_name))
