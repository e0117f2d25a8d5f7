"""A problem with an input, as data: a code, the fields it is about, their values; and its sentence.

The sentences are in ``perfmodel/core/messages``, a table for each subject.  A ``--name`` in a sentence is an
option, which every interface writes in its own form; a name in braces is a value.  The words of
options and the notes of answers name options in the same way.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from importlib import import_module
from typing import Any, Self, TypeAlias

Path: TypeAlias = tuple[str | int, ...]
"""Keys and indices from the input down to a field."""
Place: TypeAlias = Callable[[str], str]
"""Function from an option's name on the command line, without dashes, to the form an interface writes."""
UNSORTED = "unsorted"
"""The code of an error that has only a sentence."""
LONGEST_NAME = 100
"""Letters of an unknown name that are compared with known names, and printed."""
_NAMED = re.compile(r"`[^`]*`|(?<![\w-])--([a-z][a-z-]*)")
"""Matches an option in a sentence; commands in backquotes are matched whole, so they stay as they are."""
_FIELDS = {
    "node-mtbf": "node_failure_interval",
    "adapter-price": "adapter_prices",
    "switch-price": "switch_prices",
}
"""Option -> field in Python, where they differ by more than dashes."""
_PART = re.compile(r"\.([^.\[]+)|\[(\d+)\]")
_OPTIONS = {field: option for option, field in _FIELDS.items()}


class Words(str):
    """A value of a problem that is our own text, whose options each interface writes in its own form."""

    __slots__ = ()


class Note(str):
    """A line of an answer for people, with its subject and its value for programs."""

    about: str
    """The subject: an option's name or a problem's code."""
    said: str
    """The value of the subject, where the line states one."""

    def __new__(cls, words: str, about: str, said: str = "") -> Self:
        """Make a note of the line and its two attributes."""
        note = str.__new__(cls, words)
        note.about = about
        note.said = said
        return note

    def __getnewargs__(self) -> tuple[str, str, str]:  # type: ignore[override]
        return str(self), self.about, self.said


def default(option: str, value: object, whose: str = "") -> Note:
    """Return the note that states the default of an option that the user left out.

    Parameters
    ----------
    option : its name on the command line, without dashes
    value : the default
    whose : text after the value, such as the machine that it is the default of

    >>> line = default("nics", 4)
    >>> line, line.about
    ('--nics 4', 'nics')
    """
    return Note(f"--{option} {value}{whose}", option, str(value))


TAKEN = "taken"
"""Subject of notes of what was assumed."""


def taken_as(what: str) -> Note:
    """Return the note that states an assumption about something that no option states.

    >>> taken_as("racks of 4 nodes")
    'taken: racks of 4 nodes'
    """
    return Note(f"{TAKEN}: {what}", TAKEN, what)


def shell(option: str) -> str:
    """Return an option as the command line writes it.

    >>> shell("node-mtbf")
    '--node-mtbf'
    """
    return f"--{option}"


def python(option: str) -> str:
    """Return an option as Python, JSON and files write it.

    >>> python("node-mtbf"), python("inter-link")
    ('node_failure_interval', 'inter_link')
    """
    return _FIELDS.get(option) or option.replace("-", "_")


def json_path(path: Path) -> str:
    """Return a path as a JSONPath.

    >>> json_path(("claims", 0, "value"))
    '$.claims[0].value'
    """
    return "$" + "".join(f"[{part}]" if isinstance(part, int) else f".{part}" for part in path)


def path_of(text: str) -> Path:
    """Return a JSONPath as a tuple of keys and indices; the inverse of ``json_path``.

    >>> path_of("$.claims[0].value")
    ('claims', 0, 'value')
    """
    return tuple(int(each[2]) if each[2] else each[1] for each in _PART.finditer(text))


@dataclass(frozen=True, slots=True)
class Problem:
    """One thing that is wrong with an input."""

    code: str
    """Such as ``batch.indivisible``; its first word names the table of messages that holds the sentence."""
    fields: tuple[Path, ...] = ()
    """Paths of the fields it is about, the most important first."""
    values: Mapping[str, Any] = field(default_factory=dict)
    """Values for the names in braces of the sentence."""
    near: tuple[str, ...] = ()
    """Known names that are most like an unknown one."""
    depth: int = 0
    """Leading parts of every path that the sentence leaves out, because the error names them before it."""
    said: str = ""
    """The finished sentence, of a problem that another process reported."""
    before: str = ""
    """Text that begins the sentence: the part of the input that the problem is about."""

    def words(self, place: Place = python, longest: int | None = None) -> str:
        """Return the sentence.

        Parameters
        ----------
        place : how the interface writes the name of an option
        longest : letters of an input value that the sentence repeats; None: all

        >>> Problem("value.invalid", (("gpus",),), {"value": "-1", "expected": "at least 1"}).words()
        'gpus = -1: expected at least 1'
        """
        if self.said:
            return self.said
        values = {
            name: called(value, place) if isinstance(value, Words) else _shortened(value, longest, place)
            for name, value in self.values.items()
        }
        if isinstance(self.values.get("known"), tuple):
            values["known"] = ", ".join(self.values["known"])
        names = [".".join(map(str, path[self.depth :])) for path in self.fields]
        options = [place(_OPTIONS.get(each) or each.replace("_", "-")) for each in names]
        fields = {"field": names[0], "option": options[0], "options": " and ".join(options)} if names else {}
        words = called(message(self.code), place).format(**{**fields, **values})
        return f"{self.before}{words}"

    def under(self, path: Path) -> Problem:
        """Return this problem as one of a larger input, which holds its input at ``path``."""
        fields = tuple((*path, *each) for each in self.fields or ((),))
        return replace(self, fields=fields, depth=self.depth + len(path)) if path else self


def problem(code: str, /, *fields: str | Path, **values: Any) -> Problem:
    """Return a problem about the given fields and about the options that its message names.

    Parameters
    ----------
    code : key of a table in ``core/messages``
    fields : paths, or options by their names in any spelling
    values : for the names in braces of the message

    >>> problem("failures.checkpoint_time").fields[:2]
    (('node_failure_interval',), ('checkpoint_time',))
    """
    given = [(python(each.removeprefix("--")),) if isinstance(each, str) else each for each in fields]
    named = [(python(each[1]),) for each in _NAMED.finditer(message(code)) if each[1]]
    return Problem(code, tuple(dict.fromkeys((*given, *named))), values)


def message(code: str) -> str:
    """Return the message template of a code, with names in braces."""
    words: str = import_module(f"perfmodel.core.messages.{code.partition('.')[0]}").MESSAGES[code]
    return words


def called(words: str, place: Place) -> str:
    """Return a sentence with every option in it written as ``place`` writes it."""
    if place is shell or "--" not in words:
        return words
    return _NAMED.sub(lambda each: place(each[1]) if each[1] else each[0], words)


def _shortened(value: Any, longest: int | None, place: Place) -> Any:
    """Return a value of a sentence: a long text cut, the options in a note as ``place`` writes them."""
    if isinstance(value, Note):
        value = called(value, place)
    if isinstance(value, str) and longest is not None and len(value) > longest:
        return f"{value[:longest]}..."
    return value
