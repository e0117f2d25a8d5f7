"""Switches that join the adapters of machines without blocking."""

from __future__ import annotations

from perfmodel.core.errors import refusal
from perfmodel.equations.fleets import fat_tree_switches

MOST_LEVELS = 3
"""Levels of switches in a fat tree."""


def switches(ports: int, each: int) -> int:
    """Return the number of switches that join ports without blocking, in as few levels as possible.

    Parameters
    ----------
    ports : to join
    each : ports of one switch

    Raises
    ------
    InputError : more ports than three levels join

    Examples
    --------
    >>> switches(64, 64), switches(96, 40), switches(128, 64)
    (1, 8, 6)
    """
    if each < 2:
        raise refusal("switch.ports", each=each)
    for levels in range(1, MOST_LEVELS + 1):
        if ports <= each * (each / 2) ** (levels - 1):
            return int(fat_tree_switches(ports, each, levels))
    raise refusal("switch.levels", ports=ports, each=each)
