"""Graph of the links between a node's accelerators, where pairs differ."""

from __future__ import annotations

from typing import Annotated

from perfmodel.core.records.record import Passing, Within
from perfmodel.hardware.provenance import PositiveInt

Rank = Annotated[int, Within(ge=0)]
Edge = Annotated[tuple[Rank, Rank, PositiveInt], Within(strict=False)]


def _pairs_once(graph: tuple[Edge, ...]) -> tuple[Edge, ...]:
    pairs = {frozenset(edge[:2]) for edge in graph}
    if any(len(pair) < 2 for pair in pairs):
        raise ValueError("expected pairs of two accelerators")
    if len(pairs) < len(graph):
        raise ValueError("expected each pair once")
    return graph


PeerGraph = Annotated[tuple[Edge, ...], Within(strict=False), Passing(_pairs_once)]
"""Edges (accelerator, accelerator, number of links); empty where all pairs are alike."""


def ranks_of(graph: PeerGraph) -> int:
    """Return the number of accelerators in a graph; 0 of an empty one."""
    return 1 + max((max(edge[:2]) for edge in graph), default=-1)


def links_of_one(graph: PeerGraph) -> int:
    """Return the largest number of links that one accelerator has."""
    return max(sum(links for *pair, links in graph if rank in pair) for rank in range(ranks_of(graph)))
