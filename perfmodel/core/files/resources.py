"""Finds the data folders: inside an installed package, or next to it in a checkout."""

from __future__ import annotations

from pathlib import Path

_PACKAGE = Path(__file__).parents[2]


def folder(name: str) -> Path:
    """Return the path of the data folder ``name`` (``hardware_specs``, ``validation`` or ``app``).

    Raises
    ------
    FileNotFoundError : neither the wheel nor the checkout has it
    """
    for parent in (_PACKAGE / "_data", _PACKAGE.parent):
        if (parent / name).is_dir():
            return parent / name
    raise FileNotFoundError(f"{name}: not in the installed package and not next to it; reinstall perfmodel")
