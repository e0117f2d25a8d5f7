"""A command as one record, of which the shell, Python, HTTP, the client, pages and documents are made."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pkgutil import resolve_name
from typing import Any, Literal, NamedTuple

from perfmodel.specs.options import Declared, Described, declared
from perfmodel.specs.store import Catalogue


class Context(NamedTuple):
    """What a request is answered with that is no part of it."""

    catalogue: Catalogue
    """Hardware to choose from."""


@dataclass(frozen=True, kw_only=True)
class Command:
    """One command: its words, its request, its answer, and what people read of that."""

    name: str
    """As in a shell and over HTTP: ``learning-rate``."""
    summary: str
    """A sentence."""
    request: type[Described]
    """What it takes."""
    answers: tuple[str, ...]
    """Types of its answer, as ``module:name``, which are imported where a type is needed."""
    run: Callable[[Any, Context], Any]
    """From a request to its answer; the docstring is that of the function in Python, without parameters."""
    text: Callable[[Any], None]
    """Prints an answer for people."""
    examples: tuple[str, ...]
    """Command lines."""
    bodies: Mapping[str, Mapping[str, Any]]
    """Bodies of HTTP requests, by a word or two."""
    positional: tuple[str, ...] = ()
    """Fields that Python takes without their names, in order."""
    hardware: bool = True
    """Whether it takes hardware of one's own."""
    cost: Literal["cheap", "costly"] = "costly"
    """cheap: under 5 ms."""
    without: Mapping[str, str] = field(default_factory=dict)
    """Why an interface does not have it, by the name of the interface."""

    @cached_property
    def answer(self) -> Any:
        """The type of its answer."""
        first, *others = map(resolve_name, self.answers)
        for each in others:
            first = first | each
        return first

    def given(self, values: Sequence[Any], options: Mapping[str, Any]) -> dict[str, Any]:
        """Return the fields that a call gives, by place and by name.

        Raises
        ------
        TypeError : more values than there are places, or one that is also given by its name
        """
        if len(values) > len(self.positional):
            raise TypeError(f"{self.function}() takes {len(self.positional)} values without their names")
        placed = dict(zip(self.positional, values, strict=False))
        if twice := placed.keys() & options.keys():
            raise TypeError(f"{self.function}() got several values of {min(twice)}")
        return placed | dict(options)

    @property
    def fields(self) -> dict[str, Declared]:
        """What its request declares."""
        return declared(self.request)  # type: ignore[arg-type]  # mypy: a class with a hash is no key

    @property
    def path(self) -> str:
        """Its name over HTTP: ``trace/summary``."""
        return self.name.replace(" ", "/")

    @property
    def function(self) -> str:
        """Its name in Python."""
        return self.name.replace("-", "_").replace(" ", "_")
