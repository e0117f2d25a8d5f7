"""Every command as a function, and as a method of the client; their types are in ``calls.pyi``."""

from __future__ import annotations

from functools import cache
from typing import Any

from perfmodel.interfaces.function import function_of, given_by
from perfmodel.interfaces.register import FUNCTIONS, command


@cache
def __getattr__(name: str) -> Any:
    """Return the function of a command (PEP 562)."""
    if name not in FUNCTIONS:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return function_of(command(FUNCTIONS[name]))


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


for _function, _name in FUNCTIONS.items():
    setattr(Calls, _function, _Call(_name))
