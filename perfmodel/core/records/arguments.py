"""Refuse an argument of another type than a function takes, in a line that says what would be right."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from os import PathLike
from typing import NamedTuple

from perfmodel.core.errors import refusal


class Kind(NamedTuple):
    """What an argument may be."""

    words: str
    """As an error says it."""
    fits: Callable[[object], bool]
    optional: bool = False

    @property
    def or_none(self) -> Kind:
        """The kind that None is of too."""
        return self._replace(optional=True)


def expect(kind: Kind, **arguments: object) -> None:
    """Refuse the first argument that is not of a kind.

    Raises
    ------
    InputError : names the argument, its value and what is expected

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
    """Return the kind that the objects of a class are, or of any of some classes."""
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
