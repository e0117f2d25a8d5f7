"""A two-dimensional torus of ranks: how many lie in a row and in a column."""

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
    """Return the grid that a text names.

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
    """Return the grid where nobody says: a node a row; in one node, the most square one.

    Takes numbers, or arrays of which all have one node or all have more.

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
    """Return the largest divisor that is no more than the square root."""
    return next(side for side in range(int(ranks**0.5), 0, -1) if ranks % side == 0)


def take_torus(
    scenario: Scenario, strategy: str, node: Node, link: Link, take: Callable[[str, Any, Any], Any]
) -> None:
    """Check the grid of a job, and name the usual one where none is asked for.

    Parameters
    ----------
    scenario, strategy : of the job
    node, link : that its ranks lie on, and that joins those of a node, or of a domain of several
    take : names the default of an option that was left open

    Raises
    ------
    InputError : as ``check_torus``, a strategy without an all-reduce, or nodes that are not equally full
    """
    asked = scenario.torus_dimensions
    if strategy != "all-reduce":
        if asked is not None:
            raise refusal("torus.strategy", strategy=scenario.strategy)
        return
    if asked is None and scenario.algorithm != ALGORITHM:
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
    check_torus(asked, scenario.algorithm, ranks, per_node, nodes)
    if runs_torus(scenario, strategy) and scenario.world_size > 1:
        take("torus-dimensions", asked, usual_torus(per_node, nodes))


def _even(scenario: Scenario, held: int, node: Node, link: Link) -> str:
    """Say which jobs near one fill their nodes evenly: fewer ranks, more, or as many on more nodes."""
    ranks = scenario.world_size

    def fills(count: int, per_node: int) -> bool:
        return math.prod(in_domains(count, per_node, node, link, scenario.inter_link)) == count

    fewer = next(count for count in range(ranks, 0, -1) if fills(count, held))
    more = next(count for count in itertools.count(ranks) if fills(count, held))
    spread = next((each for each in range(held, 1, -1) if fills(ranks, each)), None)
    return f"--gpus {fewer} or {more}" + (f", or --accelerators-per-node {spread}" if spread else "")


def check_torus(text: str | None, algorithm: str, ranks: int, per_node: int, nodes: int) -> None:
    """Refuse a grid that does not hold the ranks, whose rows straddle nodes, or that nothing runs on.

    Parameters
    ----------
    text : ``--torus-dimensions``, if any
    algorithm : of the all-reduce
    ranks : in all; of one alone nothing is asked
    per_node, nodes : how the ranks lie, as many in each: nodes, or NVLink domains of several

    Raises
    ------
    InputError : with what would be right
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
    return per_node % columns == 0 or columns % per_node == 0
