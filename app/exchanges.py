"""Collectives side by side: what each algorithm takes, and where one overtakes another."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from itertools import pairwise
from typing import Any, NamedTuple

from app.answering import answering
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
MACHINE = ("accelerator", "node", "intra-link", "inter-link", "nodes", "nics", "connections", "network-cap")
RACKS = ("rack-nodes", "oversubscription", "placement")
WHERE = (*MACHINE, *RACKS)
"""Options of the command that say where the ranks lie."""
MOST_RANKS = 512
"""Drawn by number of ranks."""


class Moved(NamedTuple):
    """One algorithm moving one message."""

    time: float
    """[s]."""
    bus_bandwidth: float
    """[B/s], as nccl-tests define it."""


class Ranks(NamedTuple):
    """Where the ranks of a collective lie."""

    fabric: Point
    options: dict[str, Any]
    """That say so, by the parameters of ``perfmodel.collective``."""


def times(
    name: str, ranks: Ranks, sizes: Sequence[float], servers: int | None, wanted: Sequence[str]
) -> dict[str, list[float]]:
    """Return how long a collective takes at each message size [s], by every wanted way that these ranks can.

    Raises
    ------
    InputError : links that cannot join these ranks
    """
    answers = answering()
    result: dict[str, list[float]] = {}
    if NCCL in wanted:
        result[NCCL] = [each.time for each in answers.collective(name, *ranks, sizes)]
    result |= answers.collective_times(name, *ranks, sizes, wanted)
    if name == "all-reduce" and SERVER in wanted:
        served = _served(ranks.fabric, servers)
        result[SERVER] = [served(size) for size in sizes]
    return result


def _served(fabric: Point, servers: int | None) -> Callable[[float], float]:
    """Every rank pushes to dedicated servers and pulls, over its share of its machine's adapters."""
    link = fabric.inter_link or fabric.link
    port = bulk_bandwidth(link, before_fit()) * (fabric.nics if fabric.inter_link else 1)
    share = port / (fabric.per_node if fabric.nodes > 1 else 1)
    count = servers or fabric.nodes
    return lambda size: float(
        parameter_server_time(fabric.group_size, count, size, link.hop_latency.value, share, port)
    )


def point(name: str, group_size: int, size: float, time: float) -> Moved:
    """Return the time with the bus bandwidth it comes to."""
    reached = float(algorithm_bandwidth(size, time)) if time else 0.0
    return Moved(time, float(bus_bandwidth(name, reached, group_size)) if reached else 0.0)


def by_size(
    name: str, ranks: Ranks, sizes: Sequence[float], servers: int | None, wanted: Sequence[str]
) -> dict[str, list[Moved]]:
    """Return every wanted algorithm at every message size [B].

    Raises
    ------
    InputError : links that cannot join these ranks
    """
    return {
        known: [point(name, ranks.fabric.group_size, *each) for each in zip(sizes, line, strict=True)]
        for known, line in times(name, ranks, sizes, servers, wanted).items()
    }


def by_ranks(
    name: str, places: Sequence[Ranks], size: float, servers: int | None, wanted: Sequence[str]
) -> dict[str, list[Moved | None]]:
    """Return every wanted algorithm at every number of ranks; None where it cannot run there."""
    result: dict[str, list[Moved | None]] = {}
    for index, ranks in enumerate(places):
        try:
            for known, (time,) in times(name, ranks, [size], servers, wanted).items():
                line = result.setdefault(known, [None] * len(places))
                line[index] = point(name, ranks.fabric.group_size, size, time)
        except InputError:  # a mesh that joins fewer ranks
            continue
    return result


class Crossover(NamedTuple):
    """Where the fastest algorithm changes."""

    message_bytes: float
    smaller: str
    """Fastest below."""
    larger: str
    """Fastest above."""


def crossovers(
    sizes: Sequence[float], lines: Mapping[str, Sequence[Moved | None]], among: Sequence[str]
) -> list[Crossover]:
    """Return the message sizes at which the fastest of some algorithms changes.

    Between two sizes every time is a line, a + b S, so where two lines meet is exact.
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
    """Fixed time and time per byte of the line through two points."""
    slope = (at_high - at_low) / (high - low)
    return at_low - slope * low, slope


def crossing_words(crossings: Sequence[Crossover]) -> str:
    """Say which is the fastest by size of message.

    >>> crossing_words([Crossover(64e3, "tree", "ring"), Crossover(2e8, "ring", "torus")])
    'tree up to 64 kB, ring up to 200 MB, torus beyond'
    """
    ends = [f"{each.smaller} up to {show(each.message_bytes, 'B')}" for each in crossings]
    return ", ".join([*ends, f"{crossings[-1].larger} beyond"])


def where(picked: Mapping[str, Any]) -> dict[str, Any]:
    """Return the chosen options that say where the ranks lie; where none names what they are, the default."""
    chosen = {name: picked[name] for name in WHERE if name in picked}
    return chosen if {"accelerator", "node", "intra-link"} & set(chosen) else STARTED | chosen


STARTED = {"accelerator": DEFAULT_ACCELERATOR}


def ranks_of(
    picked: Mapping[str, Any], ranks: int, catalogue: Catalogue, per_machine: int | None = None
) -> Ranks:
    """Return the ranks of the command line's options; with ``per_machine`` on as many as that fills.

    Raises
    ------
    InputError : ranks that do not spread evenly over the nodes
    """
    chosen = where(picked)
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


def counts(per_machine: int) -> list[int]:
    """Return numbers of ranks to draw: parts of a machine, then machines, each twice the one before.

    >>> counts(8), counts(6)[:5]
    ([2, 4, 8, 16, 32, 64, 128, 256, 512], [2, 4, 6, 12, 24])
    """
    parts = [2**power for power in range(1, 10) if 2**power < per_machine]
    whole = [per_machine * 2**power for power in range(10)]
    return [*parts, *(ranks for ranks in whole if 1 < ranks <= max(MOST_RANKS, per_machine))]
