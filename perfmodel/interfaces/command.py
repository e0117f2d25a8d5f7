"""A command as one record, of which the shell, Python, HTTP, the client, pages and documents are made."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property, reduce
from operator import or_
from pathlib import Path
from pkgutil import resolve_name
from typing import Any, Literal, NamedTuple

from perfmodel.core.records.options import Declared, Described, declared
from perfmodel.hardware.catalogue.store import Catalogue
from perfmodel.interfaces.forms import TABLE, Form
from perfmodel.interfaces.function_names import function_name
from perfmodel.model.fitted.calibration import Calibration
from perfmodel.model.options.scenario import Scenario
from perfmodel.model.setting.crossed import Crossed


class Context(NamedTuple):
    """What a request is answered with that is no part of it."""

    catalogue: Catalogue
    """Hardware to choose from."""
    constants: Calibration | None = None
    """Learned numbers; None is what comes with the package."""
    typed: str = ""
    """The line of the shell, for a report."""


class Writes(NamedTuple):
    """A file that the shell also writes: ``--report FILE``."""

    words: str
    """Of the option's help."""
    check: Callable[[Path, Any], None]
    """Refuses a file, or a request that has none, before anything is computed."""
    write: Callable[[Path, Any, Any, Context], None]
    """Writes it, of an answer and its request."""
    metavar: str = "FILE"
    required: bool = False
    note: str = ""
    """What is printed where it was written: ``drawn``."""
    page: Callable[[Any, Any, Context], Any] | None = None
    """Of a report: makes the page of an answer and its request."""


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
    text: Callable[..., None]
    """Prints an answer for people, of a request and, where ``needs_context``, what it was answered with."""
    examples: tuple[str, ...]
    """Command lines."""
    bodies: Mapping[str, Mapping[str, Any]]
    """Bodies of HTTP requests, by a word or two."""
    table: Callable[[Any, Any], Any] | None = None
    """From an answer and its request to what HTTP answers, where that is not all of ``to_json``."""
    about: str = ""
    """More than the summary, for its help."""
    several: str = ""
    """Field on which the answer depends: the second of two is that of a list, of ``all``, or of any value
    where there is none by default; other words each have their own, in their order."""
    given: Mapping[str, tuple[int, ...]] = field(default_factory=dict)
    """Fields that, where they are given, say which answer there is: its place among them; of none, ``""``."""
    json: tuple[str, ...] = ()
    """Types of the answer's JSON, as ``module:name``, where those are not the types of the answer."""
    read: Callable[[Any, Any], Any] | None = None
    """From the JSON of an answer and its request to the answer, where its type does not read its own JSON."""
    of_client: str = ""
    """Type of what the client returns, as ``module:name``, made of the JSON, where that is not the answer."""
    streams: bool = False
    """Whether HTTP also sends it in parts, as they are calculated: its answer has ``chunks`` and a length."""
    forms: Mapping[str, Form] = field(default_factory=lambda: TABLE)
    """What the shell prints for programs, by the name of the option."""
    each_a_case: bool = False
    """Whether the shell takes several values of an option of a scenario, joined by commas: each is a case."""
    writes: Mapping[str, Writes] = field(default_factory=dict)
    """Files that the shell also writes, by the name of the option; where what the shell takes has a field of
    that name, the field has the file, and the request that it makes says what is written."""
    status: Callable[[Any], int] = lambda answer: 0
    """Exit code of the shell for an answer."""
    options_file: bool = False
    """Whether the shell also takes its options from a TOML file, which it reads as it reads a line."""
    typed: type[Described] | None = None
    """What the shell takes, where that is another table than the request; it has ``request()``."""
    lines: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    """Where the shell has several commands for it, in a group: what differs in the record, by their names."""
    needs_context: bool = False
    arguments: tuple[str, ...] = ()
    """Fields that the shell takes without their names, in order; the last may take several values."""
    positional: tuple[str, ...] = ()
    """What Python takes without their names, in order; a scenario goes before them, or where it is named.

    ``*jobs`` takes every value without a name."""
    hardware: bool = True
    """Whether it takes hardware of one's own."""
    constants: bool = False
    """Whether Python may give other learned numbers."""
    cost: Literal["cheap", "costly"] = "costly"
    """cheap: under 5 ms."""
    without: Mapping[str, str] = field(default_factory=dict)
    """Why ``shell``, ``python``, or ``http`` and with it the client, does not have it."""

    @cached_property
    def answer(self) -> Any:
        """The type of its answer."""
        return _union(self.answers)

    @cached_property
    def answer_json(self) -> Any:
        """The type of its answer's JSON."""
        return _union(self.json) if self.json else self.answer

    @property
    def fields(self) -> dict[str, Declared]:
        """What its request declares."""
        return declared(self.request)  # type: ignore[arg-type]  # mypy: a class with a hash is no key

    @property
    def of_scenario(self) -> bool:
        """Whether its request is a scenario with more, which may be given whole and from a file."""
        return issubclass(self.request, Scenario)

    @property
    def crosses(self) -> bool:
        """Whether every option of its scenario may have several values, which are crossed."""
        return issubclass(self.request, Crossed)

    @property
    def places(self) -> tuple[str, ...]:
        """What Python takes without its name, in order."""
        first = self.of_scenario and "scenario" not in self.positional
        places = tuple(name.removeprefix("*") for name in self.positional)
        return ("scenario", *places) if first else places

    @property
    def takes_all(self) -> bool:
        """Whether every value without a name is one of its first place."""
        return self.positional[:1] != () and self.positional[0].startswith("*")

    @property
    def in_shell(self) -> list[Command]:
        """Its commands in the shell: a changed copy for each of ``lines``, or itself if there are none."""
        return [
            replace(self, name=f"{self.name} {line}", lines={}, **changed)
            for line, changed in self.lines.items()
        ] or [self]

    @property
    def path(self) -> str:
        """Its name over HTTP: ``trace/summary``."""
        return self.name.replace(" ", "/")

    @property
    def function(self) -> str:
        """Its name in Python."""
        return function_name(self.name)


def _union(names: Iterable[str]) -> Any:
    """Return any of some types, each as ``module:name``."""
    return reduce(or_, map(resolve_name, names))
