"""The register of collective algorithms: the collective, time, traffic and lower bound of each formula."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Literal, NamedTuple, TypeVar

from perfmodel.core.ops import Real

_Function = TypeVar("_Function", bound=Callable[..., Any])

CollectiveName = Literal[
    "all-reduce", "reduce-scatter", "all-gather", "broadcast", "all-to-all", "send-receive"
]


class Algorithm(NamedTuple):
    """One algorithm of a collective among ranks with equal links."""

    name: str
    collective: CollectiveName
    time: Callable[..., Real]
    """Time [s] from group_size, message_bytes, hop_latency, link_bandwidth and, if ``adds``,
    reduction_bandwidth."""
    bytes_per_rank: Callable[[Real, Real], Real]
    """Bytes that the busiest rank sends, from group_size and message_bytes."""
    lower_bound: Callable[..., Real]
    """Least possible time [s], from the parameters of ``time``."""
    adds: bool
    """Whether ranks spend time adding, so that a reduction bandwidth matters."""


REGISTERED: dict[str, list[Algorithm]] = {}
"""Module -> its algorithms, for the modules imported so far; ``perfmodel.equations.algorithms`` imports
all."""

OVER_NODES: dict[str, dict[str, Callable[..., Real]]] = {}
"""Module -> name -> time of an all-reduce with different links inside nodes and between them."""


def algorithm_over_nodes(name: str) -> Callable[[_Function], _Function]:
    """Return a decorator that registers a formula as an all-reduce with different links inside nodes.

    The formula takes accelerators_per_node, nodes, message_bytes, then hop_latency and link_bandwidth inside
    nodes and between them, and an optional reduction_bandwidth.

    Parameters
    ----------
    name : of the algorithm, as an option's value
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
    """Return a decorator that registers a formula as an algorithm of a collective.

    Parameters
    ----------
    name, collective : of the algorithm, as options' values
    bytes_per_rank, adds : as in ``Algorithm``
    lower_bound : by default the formula itself, for a collective with one algorithm
    """

    def register(function: _Function) -> _Function:
        entry = Algorithm(name, collective, function, bytes_per_rank, lower_bound or function, adds)
        REGISTERED.setdefault(function.__module__, []).append(entry)
        return function

    return register
