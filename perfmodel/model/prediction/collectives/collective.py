"""One collective on its own: its time by a named algorithm, by NCCL's choice, or by the cheapest."""

import json
from typing import Any, Literal

from perfmodel.core.choices import SYNONYMS
from perfmodel.core.errors import refusal, unknown_name
from perfmodel.core.files.tables import Record as Row
from perfmodel.core.files.tables import flat
from perfmodel.core.records.names import word_of
from perfmodel.core.records.record import Record, fresh
from perfmodel.core.units import show, show_range
from perfmodel.equations.algorithm import Algorithm
from perfmodel.equations.algorithms import ALGORITHMS
from perfmodel.equations.bandwidths import algorithm_bandwidth, bus_bandwidth
from perfmodel.equations.nccl import ALGORITHMS as NCCL_ALGORITHMS
from perfmodel.model.collectives.all_reduce import ALWAYS, BY_LIBRARY, library_choice
from perfmodel.model.collectives.all_reduce import algorithms as library_algorithms
from perfmodel.model.collectives.all_reduce import curve as all_reduce_curve
from perfmodel.model.collectives.model import curve, fitted, ranks_of
from perfmodel.model.collectives.place import Point, check_mesh, place_of
from perfmodel.model.collectives.place import inside as rate_inside
from perfmodel.model.fitted.calibration import before_fit
from perfmodel.model.prediction.collectives.collective_limit import network_limit
from perfmodel.model.prediction.collectives.collective_spread import interval_of
from perfmodel.model.prediction.collectives.nccl_choice import nccl_ways
from perfmodel.model.prediction.result import Interval
from perfmodel.model.setting.rings import check_rings, filled_racks
from perfmodel.model.setting.torus import check_torus
from perfmodel.model.step.all_reduce import ONLY_ON_REQUEST, all_reduce_times
from perfmodel.model.step.fabric import Fabric
from perfmodel.model.step.layout import Group
from perfmodel.model.step.ports import port_limits, ring_bandwidth

Way = tuple[float, str, Any]
"""Time [s], algorithm, protocol."""
CLOSE = 1.1
"""Times this much apart are not told apart: measured collectives lie as far off the fitted ones."""
NEEDS_SWITCH = {"nvls": "a link through a switch that adds (nvlink4-nvswitch and later)"}
"""Algorithms only some links can do; what they need."""


def _way(algorithm: str, protocol: str | None) -> str:
    return f"{algorithm}/{protocol}" if protocol else algorithm


class RunnerUp(Record):
    """The second-best algorithm."""

    algorithm: str
    """Its name."""
    protocol: str | None
    """NCCL's name of how it sends; None where it is not known."""
    time: float
    """Of the collective by it [s]."""

    @property
    def way(self) -> str:
        """Algorithm and protocol in a word."""
        return _way(self.algorithm, self.protocol)


class Collective(Record):
    """One collective; times in seconds, bandwidths in B/s."""

    collective: str
    """What the ranks do."""
    group_size: int
    nodes: int
    message_bytes: float
    time: float
    """Of the collective [s]."""
    algorithm: str
    """By which it runs, or would be the cheapest."""
    protocol: Literal["LL", "LL128", "Simple"] | None
    """NCCL's protocol, where its model chose."""
    algorithm_bandwidth: float
    bus_bandwidth: float
    """As nccl-tests define both."""
    bytes_per_rank: float
    """Sent by the busiest rank."""
    lower_bound: float
    """No algorithm of its kind is faster on these links [s]."""
    interval: Interval | None = None
    """Of its time, where a library runs it so; None by an algorithm of textbooks, which nobody measured."""
    runner_up: RunnerUp | None
    """The algorithm next to it; None where there is no choice."""
    network_limit: str | None = None
    """What binds between nodes other than the link, and what would lift it; None where the link does."""
    warnings: list[str] = fresh(list)
    """What names that fit several things were taken to be, and what was taken where nothing was said."""

    @property
    def way(self) -> str:
        """Algorithm and protocol in a word."""
        return _way(self.algorithm, self.protocol)

    @property
    def interval_text(self) -> str | None:
        """The 80 % interval of its time; None where there is none."""
        return show_range(self.interval.low_80, self.interval.high_80, "s") if self.interval else None

    @property
    def clipped_at(self) -> float | None:
        """The least time that links allow [s], where an end of the interval was moved up to it; else None."""
        return self.interval.clipped_at if self.interval else None

    @property
    def where(self) -> str:
        """Where the ranks lie."""
        return f"on {self.nodes} nodes" if self.nodes > 1 else "in one node"

    def records(self) -> list[Row]:
        """Return a row, the runner-up in columns of its own."""
        return [flat(self.model_dump(exclude={"warnings"}))]

    def to_json(self) -> str:
        """Return what ``perfmodel collective --json`` prints."""
        return json.dumps(self.model_dump())

    def __repr__(self) -> str:
        return (
            f"<Collective: {self.collective} of {show(self.message_bytes, 'B')} over {self.group_size} ranks "
            f"{self.where}: {show(self.time, 's')} by {self.way}, bus bandwidth "
            f"{show(self.bus_bandwidth, 'B/s')}, lower bound {show(self.lower_bound, 's')}>"
        )

    __str__ = __repr__


def collective(name: str, algorithm: str, fabric: Point, message_bytes: float) -> Collective:
    """Return the time of one collective and what goes with it.

    Parameters
    ----------
    name : all-reduce, reduce-scatter, all-gather, broadcast, all-to-all, send-receive (each rank to the next)
    algorithm : ``auto`` (NCCL's choice), ``best`` (the cheapest of all, that choice included), or a name
    fabric : ranks and links
    message_bytes : S [B]; of all ranks together for all-gather and reduce-scatter

    Raises
    ------
    InputError : an unknown name, or an algorithm these links cannot do
    """
    result = _timed(name, algorithm, fabric, message_bytes)
    limit = network_limit(
        fabric,
        result.time,
        result.interval is not None,
        lambda point: _timed(name, algorithm, point, message_bytes).time,
    )
    return result if limit is None else result.model_copy(update={"network_limit": limit})


def _timed(name: str, algorithm: str, fabric: Point, message_bytes: float) -> Collective:
    if name not in ALGORITHMS:
        raise unknown_name("collective", name, ALGORITHMS)
    algorithm = word_of(algorithm, (), SYNONYMS["algorithm"])
    check_mesh(fabric.link, fabric.per_node)
    if fabric.nodes > 1 and fabric.inter_link is None:
        raise refusal("collective.no_inter_link", hosts=fabric.hosts)
    asked = None if fabric.torus is None else str(fabric.torus)
    check_torus(asked, algorithm, fabric.group_size, fabric.per_node, fabric.nodes)
    racks = fabric.racks
    check_rings(
        algorithm,
        racks and racks.nodes,
        racks.placement if racks else "contiguous",
        fabric.nodes,
        fabric.hosts,
    )
    if fabric.group_size == 1:
        return _result(name, fabric, message_bytes, [(0.0, "none", None)])
    ranked, by_library = _by_library(name, fabric, message_bytes)
    if algorithm == "auto":
        return _measured(_result(name, fabric, message_bytes, ranked), fabric)
    one_level = algorithm in ("hierarchical", "multi-ring") and fabric.nodes == 1
    same = "ring" if one_level else algorithm
    own = [(time, algorithm, protocol) for time, known, protocol in by_library if known == same]
    if own:
        return _measured(_result(name, fabric, message_bytes, own), fabric)
    times = {known: float(time(message_bytes)) for known, time in _textbook(name, fabric).items()}
    if algorithm == "best":
        others = [(time, known, None) for known, time in times.items()]
        ways = [way for way in (*by_library, *others) if way[1] not in ONLY_ON_REQUEST]
        return _result(name, fabric, message_bytes, sorted(ways, key=lambda way: way[0]))
    if algorithm not in times:
        if algorithm == "nvls" and fabric.nodes > 1:
            raise refusal("collective.nvls", "algorithm")
        if algorithm in NEEDS_SWITCH:
            raise refusal(
                "collective.no_switch",
                "algorithm",
                algorithm=algorithm,
                link=fabric.link.id,
                needs_switch=NEEDS_SWITCH[algorithm],
            )
        able = dict.fromkeys((*(way[1] for way in by_library), *times))
        raise unknown_name(f"algorithm for {name}", algorithm, ["auto", "best", *able])
    return _result(name, fabric, message_bytes, [(times[algorithm], algorithm, None)])


def _measured(result: Collective, fabric: Point) -> Collective:
    """The result with the interval that measured collectives give it."""
    point = fabric.of(result.collective, result.message_bytes)
    return result.model_copy(update={"interval": interval_of(point, result.time)})


def algorithms(name: str, fabric: Point) -> dict[str, Any]:
    """Every algorithm these ranks can use, as a function of the message's bytes that returns seconds."""
    result = _textbook(name, fabric)
    by_library = [way[1] for way in _by_library(name, fabric, 1.0)[1]]
    if name == "all-reduce" and fabric.nodes == 1:
        by_library.append("hierarchical")  # one level of links: a ring
    for known in dict.fromkeys(by_library):
        result[known] = lambda size, known=known: _timed(name, known, fabric, size).time
    return result


def _textbook(name: str, fabric: Point) -> dict[str, Any]:
    """Algorithms other than NCCL's."""
    on = _numbers(name, fabric)
    if name == "all-reduce":
        known = all_reduce_times(_group(fabric, on))
        not_textbook = (*BY_LIBRARY, "hierarchical") if fabric.nodes == 1 else BY_LIBRARY
        return {algorithm: time for algorithm, time in known.items() if algorithm not in not_textbook}
    hop, bandwidth = on.intra_hop_latency, on.intra_link_bandwidth
    if fabric.nodes > 1:
        hop = max(hop, on.inter_hop_latency)
        # of a chain of sends one leaves each node, by one adapter; else all ranks share them
        sharing = fabric.nics if name == "send-receive" else fabric.per_node
        bandwidth = min(bandwidth, on.inter_link_bandwidth / sharing)

    def flat(time: Any) -> Any:
        return lambda message_bytes: time(fabric.group_size, message_bytes, hop, bandwidth)

    of_library = NCCL_ALGORITHMS.get(name) or tuple(ALGORITHMS[name])[:1]
    return {
        known: flat(algorithm.time)
        for known, algorithm in ALGORITHMS[name].items()
        if known not in of_library
    }


def _numbers(name: str, fabric: Point) -> Fabric:
    """Latencies and bandwidths of a fabric, as small messages and large ones see them."""
    constants = before_fit()  # this model has a fit of its own
    inside = ring_bandwidth(fabric.link, fabric.per_node, constants)
    if fabric.link.peer_graph and fabric.link.ring_bandwidth is None:
        _, inside = rate_inside(fabric.of(name, 1.0))
    inside = min(inside, fabric.sockets)
    hop = fabric.link.hop_latency.value
    link = fabric.inter_link
    if fabric.nodes == 1:
        return Fabric(hop, inside, 0.0, inside)
    assert link is not None  # ``collective`` has refused it

    def carried(slowdown: float) -> float:
        limits = port_limits(link, constants, fabric.connections, slowdown=slowdown)
        return fabric.nics * min((limits | {"link": limits["link"] / slowdown}).values())

    outer = carried(fabric.of(name, 1.0).slowdown)
    between = link.hop_latency.value
    if fabric.per_node == 1:
        hop, inside = between, outer  # no link inside a node is crossed
    on = Fabric(hop, inside, between, outer)
    racks = fabric.racks
    if racks is None or racks.placement != "contiguous":
        return on
    return on._replace(
        racks=filled_racks(racks.nodes, fabric.nodes, fabric.hosts),
        rack_factor=outer / carried(1.0),
        uplink_factor=outer / carried(racks.oversubscription),
    )


def _group(fabric: Point, on: Fabric) -> Group:
    return Group(fabric.per_node, fabric.nodes, fabric.link, on, fabric.accelerator, torus=fabric.torus)


def _by_library(name: str, fabric: Point, message_bytes: float) -> tuple[list[Way], list[Way]]:
    """What the library takes with what it takes it from; and each of its algorithms on its own.

    All by the model fitted to measured collectives, which tells algorithms of an all-reduce apart.  Among
    those ``CLOSE`` to the library's time, NCCL's own estimates say which it takes, and by which protocol.
    """
    point = fabric.of(name, message_bytes)
    at, p = place_of(point), fitted().parameters
    time = float(curve(at, p).time(message_bytes))
    if name not in NCCL_ALGORITHMS:
        only = [(time, next(iter(ALGORITHMS[name])), None)]
        return only, only  # NCCL knows one way of sending point to point
    protocols: dict[str, Any] = nccl_ways(point, at, p)
    if name != "all-reduce":
        ways: list[Way] = [(time, *way) for way in protocols.items()]
        return ways[:1], ways
    ranks = ranks_of(at, p)
    own = {
        known: (float(all_reduce_curve(ranks, p, known).time(message_bytes)), known, protocols.get(known))
        for known in library_algorithms(ranks.several, ranks.adds, ranks.rings_only)
    }
    usual = library_choice(ranks)
    among = [known for known in protocols if known in (usual, *ALWAYS)]  # few ranks of a switch go by rings
    chosen = next((known for known in among if own[known][0] <= CLOSE * time), usual)
    others = sorted(own[known] for known in among if known != chosen)
    return [(time, *own[chosen][1:]), *others], list(own.values())


def _result(name: str, fabric: Point, message_bytes: float, ranked: list[Way]) -> Collective:
    (time, algorithm, protocol), *others = ranked
    n = fabric.group_size
    reached = float(algorithm_bandwidth(message_bytes, time)) if time else 0.0
    known = ALGORITHMS[name].get(algorithm) or next(iter(ALGORITHMS[name].values()))
    return Collective.model_construct(
        collective=name,
        group_size=n,
        nodes=fabric.hosts,
        message_bytes=message_bytes,
        time=time,
        algorithm=algorithm,
        protocol=protocol,
        algorithm_bandwidth=reached,
        bus_bandwidth=float(bus_bandwidth(name, reached, n)),
        bytes_per_rank=float(known.bytes_per_rank(n, message_bytes)) if n > 1 else 0.0,
        lower_bound=_lower_bound(known, fabric, message_bytes) if n > 1 else 0.0,
        runner_up=RunnerUp.model_construct(algorithm=others[0][1], protocol=others[0][2], time=others[0][0])
        if others
        else None,
    )


def _lower_bound(algorithm: Algorithm, fabric: Point, message_bytes: float) -> float:
    """No schedule beats its ranks' own links, nor what must cross the border of a node, or of a rack [s]."""
    link, outer, racks = fabric.link, fabric.inter_link, fabric.racks
    inside = float(
        algorithm.lower_bound(fabric.per_node, message_bytes, link.hop_latency.value, link.bandwidth.value)
    )
    if fabric.nodes == 1 or outer is None:
        return inside
    # the latency of a link is that of NCCL's hop, which waits for an answer: no bound of a message one way
    adapters = fabric.nics * outer.bandwidth.value
    borders = [(fabric.nodes, adapters)]
    if racks is not None and racks.nodes < fabric.nodes == fabric.hosts:
        borders.append((-(-fabric.nodes // racks.nodes), racks.nodes * adapters / racks.oversubscription))
    crossing = (float(algorithm.lower_bound(many, message_bytes, 0.0, rate)) for many, rate in borders)
    return max(inside, *crossing)
