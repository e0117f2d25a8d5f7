"""Every command as a function, and as a method of the client; ``calls.pyi`` has their types."""

from __future__ import annotations

from functools import cache
from typing import Any

from perfmodel.interfaces.function import function_of, given_by
from perfmodel.interfaces.register import NAMES, OF_HAND, command

_BY_FUNCTION = {name.replace("-", "_").replace(" ", "_"): name for name in NAMES if name not in OF_HAND}


@cache
def __getattr__(name: str) -> Any:
    """Return the function of a command (PEP 562)."""
    if name not in _BY_FUNCTION:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return function_of(command(_BY_FUNCTION[name]))


class _Call:
    """A method of the client, made when somebody first calls it."""

    def __init__(self, name: str) -> None:
        self.name = name

    def __get__(self, client: Any, owner: type) -> Any:
        if client is None:
            return self
        one = command(self.name)

        def call(*values: Any, **options: Any) -> Any:
            return client.answer_of(self.name, given_by(one, values, options))

        return call


class Calls:
    """A method for each command, which ``answer_of`` answers."""


for _function, _name in _BY_FUNCTION.items():
    setattr(Calls, _function, _Call(_name))
