"""The function that learns from a table of own runs; the package names it, as it needs layers above."""

from __future__ import annotations

from pathlib import Path
from pkgutil import resolve_name

TYPE_CHECKING = False  # as of typing, whose import takes longer than this file
if TYPE_CHECKING:
    from typing import Any

ENDING = ".csv"
"""Of the name of a table of own runs, where other files hold what was learned from one."""
_names: list[str] = []


def learns(name: str) -> None:
    """Let the function of a name, ``module:name``, learn: from a path and a catalogue to constants."""
    _names[:] = [name]


def is_table(path: Path | str) -> bool:
    """Return whether a file is a table of own runs: by its name, and as it holds no JSON.

    >>> is_table("mine.json")
    False
    """
    from perfmodel.core.files.reading import LARGEST_TEXT, opened

    if not str(path).lower().endswith(ENDING):
        return False
    with opened(path, LARGEST_TEXT) as file:
        return file.read(1) != b"{"


def learned_from(path: Path | str, catalogue: Any) -> Any:
    """Return the constants that a table of own runs teaches, by the function that ``learns`` named."""
    (name,) = _names
    return resolve_name(name)(str(path), catalogue)
