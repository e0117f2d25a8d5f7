"""A two-dimensional torus of ranks: its rows and columns, defaults and checks."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable
from functools import lru_cache
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from perfmodel.core import ops
from perfmodel.core.errors import refusal
from perfmodel.core.problem import Words
from perfmodel.hardware.placement import in_domains

if TYPE_CHECKING:
    from perfmodel.hardware.link import Link
    from perfmodel.hardware.node import Node
    from perfmodel.model.options.scenario import Scenario

ALGORITHM = "torus"


class Torus(NamedTuple):
    """A grid whose rows and columns close to rings; ranks fill row after row, node after node."""

    columns: int
    """Ranks in one row; a whole number, or in a sweep an array."""
    rows: int
    """Ranks in one column."""

    def __str__(self) -> str:
        return f"{self.columns}x{self.rows}"


def runs_torus(scenario: Scenario, strategy: str) -> bool:
    """Whether gradients are summed on a torus."""
    return scenario.algorithm == ALGORITHM and strategy == "all-reduce"


@lru_cache(maxsize=256)
def parse_torus(text: str) -> Torus:
    """Parse the dimensions of a torus, e.g. ``4x8``.

    Raises
    ------
    InputError : anything but two whole numbers

    >>> parse_torus("4x8")
    Torus(columns=4, rows=8)
    """
    first, cross, second = text.lower().replace(" ", "").partition("x")
    if cross and all(part.isascii() and part.isdigit() and int(part) for part in (first, second)):
        return Torus(int(first), int(second))
    raise refusal("torus.malformed", text=text)


def usual_torus(per_node: Any, nodes: Any) -> Torus:
    """Return the default grid: one row for each node; in one node, the most square grid.

    Parameters are numbers, or arrays in which all jobs have one node or all have several.

    >>> usual_torus(8, 4), usual_torus(8, 1)
    (Torus(columns=8, rows=4), Torus(columns=4, rows=2))
    """
    if np.all(np.asarray(ops.plain(nodes)) > 1):
        return Torus(per_node, nodes)
    if np.ndim(per_node):
        rows = np.vectorize(_shorter_side, otypes=[float])(per_node)
        return Torus(per_node / rows, rows)
    ranks = int(ops.plain(per_node))
    rows = _shorter_side(ranks)
    return Torus(ranks // rows, rows)


def _shorter_side(ranks: float) -> int:
    """Return the largest divisor of ``ranks`` up to its square root."""
    return next(side for side in range(int(ranks**0.5), 0, -1) if ranks % side == 0)


def take_torus(
    scenario: Scenario, strategy: str, node: Node, link: Link, take: Callable[[str, Any, Any], Any]
) -> None:
    """Check the torus dimensions of a job, and record the default if none are requested.

    Parameters
    ----------
    scenario, strategy : of the job
    node, link : the machine, and the link inside a node or an NVLink domain of several
    take : called with an option, its stated value and its default; records a default that is taken

    Raises
    ------
    InputError : as for ``check_torus``; a strategy without an all-reduce; nodes not equally full
    """
    requested = scenario.torus_dimensions
    if strategy != "all-reduce":
        if requested is not None:
            raise refusal("torus.strategy", strategy=scenario.strategy)
        return
    if requested is None and scenario.algorithm != ALGORITHM:
        return
    ranks = scenario.world_size
    held = scenario.accelerators_per_node or node.accelerators
    per_node, nodes = in_domains(ranks, held, node, link, scenario.inter_link)
    if scenario.algorithm == ALGORITHM and ranks != per_node * nodes:
        raise refusal(
            "torus.uneven",
            ranks=ranks,
            nodes=nodes,
            per_node=per_node,
            jobs=Words(_even(scenario, held, node, link)),
        )
    check_torus(requested, scenario.algorithm, ranks, per_node, nodes)
    if runs_torus(scenario, strategy) and scenario.world_size > 1:
        take("torus-dimensions", requested, usual_torus(per_node, nodes))


def _even(scenario: Scenario, held: int, node: Node, link: Link) -> str:
    """Return advice on similar jobs that fill their nodes evenly: other ranks, or fewer in a node."""
    ranks = scenario.world_size

    def fills(count: int, per_node: int) -> bool:
        return math.prod(in_domains(count, per_node, node, link, scenario.inter_link)) == count

    fewer = next(count for count in range(ranks, 0, -1) if fills(count, held))
    more = next(count for count in itertools.count(ranks) if fills(count, held))
    spread = next((each for each in range(held, 1, -1) if fills(ranks, each)), None)
    return f"--gpus {fewer} or {more}" + (f", or --accelerators-per-node {spread}" if spread else "")


def check_torus(text: str | None, algorithm: str, ranks: int, per_node: int, nodes: int) -> None:
    """Refuse a grid of the wrong size, whose rows straddle nodes, or without the torus algorithm.

    Parameters
    ----------
    text : ``--torus-dimensions``, if any
    algorithm : of the all-reduce
    ranks : number of ranks of the job; a single one needs no grid
    per_node, nodes : ranks in each node or NVLink domain, and the number of these

    Raises
    ------
    InputError : with grids that are possible
    """
    if algorithm != ALGORITHM:
        if text is not None:
            raise refusal("torus.algorithm", text=text, algorithm=algorithm)
        return
    grid = None if text is None else parse_torus(text)
    if ranks == 1:
        return
    if grid is None:
        return
    able = [f"{x}x{ranks // x}" for x in range(1, ranks + 1) if ranks % x == 0 and _fits(x, per_node)]
    right = f"e.g. {', '.join(sorted(able, key=lambda one: abs(parse_torus(one).columns - per_node))[:4])}"
    if grid.columns * grid.rows != ranks:
        held = grid.columns * grid.rows
        raise refusal("torus.ranks", grid=grid, held=held, ranks=ranks, right=right)
    if not _fits(grid.columns, per_node):
        raise refusal("torus.straddles", grid=grid, per_node=per_node, right=right)


def _fits(columns: int, per_node: int) -> bool:
    """Return whether rows of a torus divide a node, or nodes divide a row."""
    return per_node % columns == 0 or columns % per_node == 0
