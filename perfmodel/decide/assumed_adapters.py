"""The network adapters of a machine that an answer assumed, and another number, in words."""

from __future__ import annotations

from collections.abc import Iterable

from perfmodel.core.units import counted
from perfmodel.model.setting.link_caveats import PART_OF


def with_assumed(count: int, is_own: bool = False) -> str:
    """Return the condition that the number of adapters is the one taken where none was given.

    Parameters
    ----------
    is_own : whether a machine was named, and these are all that it has

    >>> with_assumed(4), with_assumed(8, is_own=True)
    ('with 4 network adapters a machine (assumed),', 'with 8 network adapters a machine (its own),')
    """
    return f"with {counted(count, 'network adapter')} a machine ({'its own' if is_own else 'assumed'}),"


def are_own(defaults: Iterable[str]) -> bool:
    """Return whether the adapters are all those of a machine that was named, by the defaults that were taken.

    >>> are_own(["--nics 4"]), are_own(["--node dgx-1v", "--nics 4"])
    (True, False)
    >>> are_own(["--nics 1 (of 4, for 1 of 8 GPUs)"])
    False
    """
    return not any(
        line.startswith("--node ") or (line.startswith("--nics ") and PART_OF in line) for line in defaults
    )


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
