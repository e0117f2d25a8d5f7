"""What is wrong with an input, as data: a code, the fields it is about, their values; and its words.

The sentences are in ``perfmodel/core/messages``, a table for each subject.  A ``--name`` in one is an
option, which every interface calls in its own way; a name in braces is a value.  The words of options and
the notes of answers name options by the same notation.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from importlib import import_module
from typing import Any, TypeAlias

Path: TypeAlias = tuple[str | int, ...]
"""Keys and indices from the input down to a field."""
Place: TypeAlias = Callable[[str], str]
"""How an interface calls an option, from its name on the command line without the dashes."""
UNSORTED = "unsorted"
"""The code of a sentence that was not sorted yet."""
LONGEST_NAME = 100
"""Letters of an unknown name that are looked at, and said."""
_NAMED = re.compile(r"`[^`]*`|(?<![\w-])--([a-z][a-z-]*)")
"""An option in a sentence; a command in backquotes is no sentence."""
_FIELDS = {
    "node-mtbf": "node_failure_interval",
    "adapter-price": "adapter_prices",
    "switch-price": "switch_prices",
}
"""Fields of options that are not called as they are written."""
_PART = re.compile(r"\.([^.\[]+)|\[(\d+)\]")
_OPTIONS = {field: option for option, field in _FIELDS.items()}


class Words(str):
    """A value that is our own text, in which options are called as in a message."""

    __slots__ = ()


class Note(str):
    """A line of an answer, with what it is about, and what it says of that, for programs."""

    about: str
    said: str

    def __new__(cls, words: str, about: str, said: str = "") -> Note:
        """Take the line, and its two parts."""
        note = str.__new__(cls, words)
        note.about = about
        note.said = said
        return note

    def __getnewargs__(self) -> tuple[str, str, str]:  # type: ignore[override]
        return str(self), self.about, self.said


def default(option: str, value: object, whose: str = "") -> Note:
    """Return the line about an option that was left open, and the value that it has.

    >>> line = default("nics", 4)
    >>> line, line.about
    ('--nics 4', 'nics')
    """
    return Note(f"--{option} {value}{whose}", option, str(value))


def taken_as(what: str) -> Note:
    """Return the line about what was taken where nothing was said.

    >>> taken_as("racks of 4 nodes")
    'taken: racks of 4 nodes'
    """
    return Note(f"taken: {what}", "taken", what)


def shell(option: str) -> str:
    """Return an option as the command line has it.

    >>> shell("node-mtbf")
    '--node-mtbf'
    """
    return f"--{option}"


def python(option: str) -> str:
    """Return an option as Python, JSON and files have it.

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
    """Return the path of a JSONPath.

    >>> path_of("$.claims[0].value")
    ('claims', 0, 'value')
    """
    return tuple(int(each[2]) if each[2] else each[1] for each in _PART.finditer(text))


@dataclass(frozen=True, slots=True)
class Problem:
    """One thing that is wrong with an input."""

    code: str
    """For programs: its first word is the subject, in whose table the sentence is."""
    fields: tuple[Path, ...] = ()
    """What it is about, the first first."""
    values: Mapping[str, Any] = field(default_factory=dict)
    """What the sentence says of them, by the names that it has for them."""
    near: tuple[str, ...] = ()
    """Known names that are most like an unknown one."""
    depth: int = 0
    """Parts of every path that the sentence leaves out, as what it stands under is said before it."""
    said: str = ""
    """The sentence, where it is of another process."""
    before: str = ""
    """What the sentence begins with: the part of the input that it is about."""

    def words(self, place: Place = python, longest: int | None = None) -> str:
        """Return the sentence.

        Parameters
        ----------
        place : how options are called, by default as in Python
        longest : letters of a text of the input that it repeats

        >>> Problem("value.invalid", (("gpus",),), {"value": "-1", "expected": "at least 1"}).words()
        'gpus = -1: expected at least 1'
        """
        if self.said:
            return self.said
        values = {
            name: called(value, place) if isinstance(value, (Words, Note)) else _shortened(value, longest)
            for name, value in self.values.items()
        }
        if isinstance(self.values.get("known"), tuple):
            values["known"] = ", ".join(self.values["known"])
        said = [".".join(map(str, path[self.depth :])) for path in self.fields]
        options = [place(_OPTIONS.get(each) or each.replace("_", "-")) for each in said]
        fields = {"field": said[0], "option": options[0], "options": " and ".join(options)} if said else {}
        words = called(message(self.code), place).format(**{**fields, **values})
        return f"{self.before}{words}"

    def under(self, path: Path) -> Problem:
        """Return the problem of a larger input that this one's is a part of."""
        fields = tuple((*path, *each) for each in self.fields or ((),))
        return replace(self, fields=fields, depth=self.depth + len(path)) if path else self


def problem(code: str, /, *fields: str | Path, **values: Any) -> Problem:
    """Return a problem of fields, and of those that its message names.

    Parameters
    ----------
    fields : paths, or options by their names in any spelling

    >>> problem("failures.checkpoint_time").fields[:2]
    (('node_failure_interval',), ('checkpoint_time',))
    """
    given = [(python(each.removeprefix("--")),) if isinstance(each, str) else each for each in fields]
    named = [(python(each[1]),) for each in _NAMED.finditer(message(code)) if each[1]]
    return Problem(code, tuple(dict.fromkeys((*given, *named))), values)


def message(code: str) -> str:
    """Return the sentence of a code, with its names in braces."""
    words: str = import_module(f"perfmodel.core.messages.{code.partition('.')[0]}").MESSAGES[code]
    return words


def called(words: str, place: Place) -> str:
    """Return a sentence of ours in which an interface calls options in its own way."""
    if place is shell or "--" not in words:
        return words
    return _NAMED.sub(lambda each: place(each[1]) if each[1] else each[0], words)


def _shortened(value: Any, longest: int | None) -> Any:
    if isinstance(value, str) and longest is not None and len(value) > longest:
        return f"{value[:longest]}..."
    return value
