"""The network adapters of a machine that an answer assumed, and another number, in words."""

from __future__ import annotations

from perfmodel.core.units import counted


def with_assumed(count: int) -> str:
    """Return the condition that the number of adapters is the assumed one.

    >>> with_assumed(4)
    'with 4 network adapters a machine (assumed),'
    """
    return f"with {counted(count, 'network adapter')} a machine (assumed),"


def with_others(count: int, is_all: bool = False) -> str:
    """Return the condition that the number of adapters is another one.

    Parameters
    ----------
    is_all : whether these are all that the machine has

    >>> with_others(1), with_others(2), with_others(8, is_all=True)
    ('with one (--nics 1)', 'with 2 (--nics 2)', 'with all 8 (--nics 8)')
    """
    number = "one" if count == 1 else f"{'all ' if is_all else ''}{count}"
    return f"with {number} (--nics {count})"
