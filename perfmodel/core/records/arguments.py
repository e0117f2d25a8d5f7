"""Checks the types of a function's arguments; the error says what is expected."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from os import PathLike
from typing import NamedTuple

from perfmodel.core.errors import refusal


class Kind(NamedTuple):
    """A type of argument: its description and its check."""

    words: str
    """Description for errors, after ``expected``."""
    fits: Callable[[object], bool]
    """Whether a value is of the type."""
    optional: bool = False
    """Whether None is allowed too."""

    @property
    def or_none(self) -> Kind:
        """The same type, with None allowed."""
        return self._replace(optional=True)


def expect(kind: Kind, **arguments: object) -> None:
    """Check arguments, given by name, against a type.

    Raises
    ------
    InputError : an argument is of another type; names it, its value and what is expected

    >>> expect(COUNT, ranks="eight")
    Traceback (most recent call last):
    ...
    perfmodel.core.errors.InputError: ranks = 'eight': expected a whole number of at least 1
    """
    for name, value in arguments.items():
        if not (kind.fits(value) or (kind.optional and value is None)):
            raise refusal("value.invalid", name, value=f"{value!r:.60}", expected=kind.words)


def _whole(value: object) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool) and value % 1 == 0


def a(*classes: type) -> Kind:
    """Return the ``Kind`` of instances of one of some classes."""
    names = " or ".join(cls.__name__ for cls in classes)
    return Kind(f"a {names}", lambda value: isinstance(value, classes))


def _texts(value: object) -> bool:
    return isinstance(value, Iterable) and all(isinstance(each, (str, PathLike)) for each in value)


TEXT = Kind("text", lambda value: isinstance(value, str))
COUNT = Kind("a whole number of at least 1", lambda value: _whole(value) and value >= 1)  # type: ignore[operator]
NUMBER = Kind("a number", lambda value: isinstance(value, (int, float)) and not isinstance(value, bool))
FROM_ZERO = Kind("a whole number from 0", lambda value: _whole(value) and value >= 0)  # type: ignore[operator]
FILE = Kind("the path of a file", lambda value: isinstance(value, (str, PathLike)))
FILES = Kind("a list of paths", lambda value: _texts(value) and not isinstance(value, str))
NAMES = Kind("a list of names", FILES.fits)
TABLE = Kind("a mapping from names to values", lambda value: isinstance(value, Mapping))
