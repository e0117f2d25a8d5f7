"""Times of collective algorithms by message size and number of ranks, and their crossovers."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from itertools import pairwise
from typing import Any, NamedTuple

from app.backend import backend
from app.options import values
from perfmodel.core.errors import InputError
from perfmodel.core.units import show
from perfmodel.equations.bandwidths import algorithm_bandwidth, bus_bandwidth
from perfmodel.equations.crossover import crossover_bytes
from perfmodel.equations.parameter_server import parameter_server_time
from perfmodel.hardware.catalogue.store import Catalogue
from perfmodel.model.collectives.place import Point
from perfmodel.model.fitted.calibration import before_fit
from perfmodel.model.prediction.collectives.collective_fabric import fabric_of
from perfmodel.model.setting.resolve import DEFAULT_ACCELERATOR
from perfmodel.model.step.ports import bulk_bandwidth

SERVER = "parameter-server"
NCCL = "NCCL's choice"
MACHINE = (
    *("accelerator", "node", "intra-link", "inter-link", "transport"),
    *("nodes", "nics", "connections", "network-cap"),
)
RACKS = ("rack-nodes", "oversubscription", "placement")
WHERE = (*MACHINE, *RACKS)
"""Options of ``perfmodel collective`` that place the ranks."""
MOST_RANKS = 512
"""Most ranks in a chart by number of ranks."""


class Transfer(NamedTuple):
    """Time and bus bandwidth of one message by one algorithm."""

    time: float
    """[s]"""
    bus_bandwidth: float
    """As nccl-tests define it [B/s]."""


class Ranks(NamedTuple):
    """Placement of the ranks of a collective, in two forms."""

    fabric: Point
    """As the model has it."""
    options: dict[str, Any]
    """As parameters of ``perfmodel.collective``."""


def collective_times(
    name: str, ranks: Ranks, sizes: Sequence[float], servers: int | None, wanted: Sequence[str]
) -> dict[str, list[float]]:
    """Return the times of a collective at each size [s], by every wanted algorithm that the ranks can use.

    Parameters
    ----------
    name : of the collective
    ranks : their placement
    sizes : of the message [B]
    servers : parameter servers; None: one for each node
    wanted : names of algorithms

    Raises
    ------
    InputError : links that cannot join these ranks
    """
    answers = backend()
    result: dict[str, list[float]] = {}
    if NCCL in wanted:
        result[NCCL] = [each.time for each in answers.collective(name, *ranks, sizes)]
    result |= answers.collective_times(name, *ranks, sizes, wanted)
    if name == "all-reduce" and SERVER in wanted:
        server_time = _server_time(ranks.fabric, servers)
        result[SERVER] = [server_time(size) for size in sizes]
    return result


def _server_time(fabric: Point, servers: int | None) -> Callable[[float], float]:
    """Return a function from message size [B] to the time of a push to dedicated servers and a pull [s]."""
    link = fabric.inter_link or fabric.link
    port = bulk_bandwidth(link, before_fit()) * (fabric.nics if fabric.inter_link else 1)
    share = port / (fabric.per_node if fabric.nodes > 1 else 1)
    count = servers or fabric.nodes
    return lambda size: float(
        parameter_server_time(fabric.group_size, count, size, link.hop_latency.value, share, port)
    )


def transfer(name: str, group_size: int, size: float, time: float) -> Transfer:
    """Return the ``Transfer`` of a message of ``size`` bytes that takes ``time`` seconds."""
    reached = float(algorithm_bandwidth(size, time)) if time else 0.0
    return Transfer(time, float(bus_bandwidth(name, reached, group_size)) if reached else 0.0)


def by_size(
    name: str, ranks: Ranks, sizes: Sequence[float], servers: int | None, wanted: Sequence[str]
) -> dict[str, list[Transfer]]:
    """Return the transfers of every wanted algorithm at each message size [B]; parameters as above.

    Raises
    ------
    InputError : links that cannot join these ranks
    """
    return {
        known: [transfer(name, ranks.fabric.group_size, *each) for each in zip(sizes, line, strict=True)]
        for known, line in collective_times(name, ranks, sizes, servers, wanted).items()
    }


def limit_words(name: str, place: Ranks, time: float) -> str:
    """Return whether the links or latency takes most of a message's time [s]: latency is that of one byte."""
    least = by_size(name, place, [1.0], None, [NCCL]).get(NCCL)
    if not least:
        return "the links; for small messages, latency"
    latency = show(least[0].time, "s")
    if 2 * least[0].time > time:
        return f"latency, {latency} for the smallest message"
    return f"the bandwidth of the links; latency alone takes {latency}"


def by_ranks(
    name: str, places: Sequence[Ranks], size: float, servers: int | None, wanted: Sequence[str]
) -> dict[str, list[Transfer | None]]:
    """Return the transfers of every wanted algorithm at each placement; None where it cannot run."""
    result: dict[str, list[Transfer | None]] = {}
    for index, ranks in enumerate(places):
        try:
            for known, (time,) in collective_times(name, ranks, [size], servers, wanted).items():
                line = result.setdefault(known, [None] * len(places))
                line[index] = transfer(name, ranks.fabric.group_size, size, time)
        except InputError:  # a mesh that joins fewer ranks
            continue
    return result


class Crossover(NamedTuple):
    """A message size at which the fastest algorithm changes."""

    message_bytes: float
    """[B]"""
    smaller: str
    """The fastest algorithm below it."""
    larger: str
    """The fastest algorithm above it."""


def crossovers(
    sizes: Sequence[float], lines: Mapping[str, Sequence[Transfer | None]], among: Sequence[str]
) -> list[Crossover]:
    """Return the message sizes at which the fastest of some algorithms changes.

    Between two neighbouring sizes every time is linear in the size, so the crossover is exact.

    Parameters
    ----------
    sizes : message sizes [B]
    lines : algorithm -> its transfer at each size
    among : names of the algorithms
    """
    rows: list[dict[str, float]] = [
        {name: p.time for name in among if (p := lines[name][index]) is not None}
        for index in range(len(sizes))
    ]
    result = []
    for (low, at_low), (high, at_high) in pairwise(zip(sizes, rows, strict=True)):
        if not at_low or not at_high:
            continue
        before, after = min(at_low, key=at_low.__getitem__), min(at_high, key=at_high.__getitem__)
        if before == after or after not in at_low or before not in at_high:
            continue
        first, second = (_straight(low, at_low[name], high, at_high[name]) for name in (before, after))
        result.append(Crossover(float(crossover_bytes(*first, *second)), before, after))
    return result


def _straight(low: float, at_low: float, high: float, at_high: float) -> tuple[float, float]:
    """Return intercept [s] and slope [s/B] of the line through two points (size, time)."""
    slope = (at_high - at_low) / (high - low)
    return at_low - slope * low, slope


def crossing_words(crossings: Sequence[Crossover]) -> str:
    """Return text on the fastest algorithm by message size.

    >>> crossing_words([Crossover(64e3, "tree", "ring"), Crossover(2e8, "ring", "torus")])
    'tree up to 64 kB, ring up to 200 MB, torus beyond'
    """
    ends = [f"{each.smaller} up to {show(each.message_bytes, 'B')}" for each in crossings]
    return ", ".join([*ends, f"{crossings[-1].larger} beyond"])


def rank_options(picked: Mapping[str, Any]) -> dict[str, Any]:
    """Return the chosen options that place the ranks, with the default accelerator if none names hardware."""
    chosen = {name: picked[name] for name in WHERE if name in picked}
    return chosen if {"accelerator", "node", "intra-link"} & set(chosen) else DEFAULT_OPTIONS | chosen


DEFAULT_OPTIONS = {"accelerator": DEFAULT_ACCELERATOR}


def ranks_of(
    picked: Mapping[str, Any], ranks: int, catalogue: Catalogue, per_machine: int | None = None
) -> Ranks:
    """Return the placement of ranks by the chosen options.

    Parameters
    ----------
    picked : chosen options, by name
    ranks : number of ranks
    catalogue : hardware
    per_machine : ranks on each machine, which sets the number of machines; None: as the options say

    Raises
    ------
    InputError : ranks that do not spread evenly over the nodes
    """
    chosen = rank_options(picked)
    given = values(chosen, WHERE, "collective")
    if per_machine is not None:
        several = {"accelerator", "node", "inter_link"} & set(given)
        given["nodes"] = max(1, ranks // per_machine) if several else 1
    result = fabric_of(ranks, catalogue, **given)
    options = {"ranks": ranks, **given}
    if chosen.keys() <= set(picked):
        return Ranks(result, options)
    notes = (f"--accelerator {DEFAULT_ACCELERATOR}, by default", *result.notes)
    return Ranks(result._replace(notes=notes), options)


def rank_counts(per_machine: int) -> list[int]:
    """Return numbers of ranks for a chart: powers of two within a machine, then doubling numbers of machines.

    >>> rank_counts(8), rank_counts(6)[:5]
    ([2, 4, 8, 16, 32, 64, 128, 256, 512], [2, 4, 6, 12, 24])
    """
    parts = [2**power for power in range(1, 10) if 2**power < per_machine]
    whole = [per_machine * 2**power for power in range(10)]
    return [*parts, *(ranks for ranks in whole if 1 < ranks <= max(MOST_RANKS, per_machine))]
