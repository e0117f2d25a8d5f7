"""The table of collective algorithms: time, traffic and lower bound of each, by collective and name."""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module
from pathlib import Path

from perfmodel.core.ops import Real
from perfmodel.equations.algorithm import OVER_NODES, REGISTERED, Algorithm

PAGES = (
    "ring_all_reduce",
    "chunked_ring",
    "tree_all_reduce",
    "direct_all_reduce",
    "in_network",
    "shuffles",
    "broadcast",
    "point_to_point",
)
"""Modules whose formulas register algorithms, in the order of the table; other modules that are named
``..._all_reduce`` follow."""
ALGORITHMS: dict[str, dict[str, Algorithm]] = {}
"""Every algorithm among ranks with equal links, by collective and name."""
GRID_ALGORITHMS: dict[str, Callable[..., Real]] = {}
"""The time of every all-reduce with different links inside nodes and between them, by name."""
_others = sorted(path.stem for path in Path(__file__).parent.glob("*_all_reduce.py"))
for _page in dict.fromkeys((*PAGES, *_others)):
    _module = import_module(f"perfmodel.equations.{_page}").__name__
    for _algorithm in REGISTERED.get(_module, ()):
        ALGORITHMS.setdefault(_algorithm.collective, {})[_algorithm.name] = _algorithm
    GRID_ALGORITHMS |= OVER_NODES.get(_module, {})
