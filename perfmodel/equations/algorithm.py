"""The register of collective algorithms: a formula's entry says what it does, moves and cannot beat."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Literal, NamedTuple, TypeVar

from perfmodel.core.ops import Real

_Function = TypeVar("_Function", bound=Callable[..., Any])

CollectiveName = Literal[
    "all-reduce", "reduce-scatter", "all-gather", "broadcast", "all-to-all", "send-receive"
]


class Algorithm(NamedTuple):
    """One way of doing a collective among ranks with equal links."""

    name: str
    collective: CollectiveName
    time: Callable[..., Real]
    """Of group_size, message_bytes, hop_latency, link_bandwidth; and reduction_bandwidth where ``adds``."""
    bytes_per_rank: Callable[[Real, Real], Real]
    """Sent by the busiest rank, of group_size and message_bytes."""
    lower_bound: Callable[..., Real]
    """Takes what ``time`` takes."""
    adds: bool
    """Whether ranks spend time adding, so that a reduction bandwidth matters."""


REGISTERED: dict[str, list[Algorithm]] = {}
"""Of the modules imported so far, by the name of the module; ``perfmodel.equations.algorithms`` has all."""

OVER_NODES: dict[str, dict[str, Callable[..., Real]]] = {}
"""As ``REGISTERED``: all-reduces over two kinds of link, by name."""


def algorithm_over_nodes(name: str) -> Callable[[_Function], _Function]:
    """Register the decorated formula as an all-reduce over two kinds of link, and return it untouched.

    It takes accelerators_per_node, nodes, message_bytes, then hop_latency and link_bandwidth inside nodes
    and between them, and a reduction_bandwidth that need not be given.

    Parameters
    ----------
    name : as people give it
    """

    def register(function: _Function) -> _Function:
        OVER_NODES.setdefault(function.__module__, {})[name] = function
        return function

    return register


def algorithm(
    name: str,
    collective: CollectiveName = "all-reduce",
    *,
    bytes_per_rank: Callable[[Real, Real], Real],
    lower_bound: Callable[..., Real] | None = None,
    adds: bool = False,
) -> Callable[[_Function], _Function]:
    """Register the decorated formula as a way of doing a collective, and return it untouched.

    Parameters
    ----------
    name, collective : as people give them
    bytes_per_rank, adds : as of ``Algorithm``
    lower_bound : by default the formula itself, where there is one way only
    """

    def register(function: _Function) -> _Function:
        entry = Algorithm(name, collective, function, bytes_per_rank, lower_bound or function, adds)
        REGISTERED.setdefault(function.__module__, []).append(entry)
        return function

    return register
