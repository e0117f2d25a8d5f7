"""Time of one collective by a named algorithm, by NCCL's choice, or by the fastest algorithm."""

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
from perfmodel.model.prediction.collectives.nccl_choice import nccl_protocols
from perfmodel.model.prediction.result import Interval
from perfmodel.model.setting.rings import check_rings, filled_racks
from perfmodel.model.setting.torus import check_torus
from perfmodel.model.step.all_reduce import ONLY_ON_REQUEST, all_reduce_times
from perfmodel.model.step.fabric import Fabric
from perfmodel.model.step.layout import Group
from perfmodel.model.step.ports import port_limits, ring_bandwidth

TimedAlgorithm = tuple[float, str, Any]
"""Time [s], algorithm, protocol."""
CLOSE = 1.1
"""Ratio below which predicted times count as equal: the error of the fit to measured collectives."""
NEEDS_SWITCH = {"nvls": "a link through a reducing switch (nvlink4-nvswitch and later)"}
"""Algorithms that need a certain link, and that link."""


def _algorithm_text(algorithm: str, protocol: str | None) -> str:
    """Return algorithm and protocol as text, as ``ring/LL``."""
    return f"{algorithm}/{protocol}" if protocol else algorithm


class RunnerUp(Record):
    """The second-best algorithm."""

    algorithm: str
    """Its name."""
    protocol: str | None
    """NCCL's protocol; None if unknown."""
    time: float
    """Time of the collective by this algorithm [s]."""

    @property
    def way(self) -> str:
        """Algorithm and protocol, as ``ring/LL``."""
        return _algorithm_text(self.algorithm, self.protocol)


class Collective(Record):
    """One collective; times in seconds, bandwidths in B/s."""

    collective: str
    """Name of the collective."""
    group_size: int
    nodes: int
    message_bytes: float
    time: float
    """Time of the collective [s]."""
    algorithm: str
    """The algorithm used."""
    protocol: Literal["LL", "LL128", "Simple"] | None
    """NCCL's protocol, if NCCL's model chose it."""
    algorithm_bandwidth: float
    bus_bandwidth: float
    """Both bandwidths are defined as in nccl-tests [B/s]."""
    bytes_per_rank: float
    """Bytes that the busiest rank sends."""
    lower_bound: float
    """Lower bound of the time by any such algorithm on these links [s]."""
    interval: Interval | None = None
    """Interval of the time; None for textbook algorithms, which were not measured."""
    runner_up: RunnerUp | None
    """The second-best algorithm; None without a choice."""
    network_limit: str | None = None
    """The limit between nodes other than the link, with a remedy; None if the link is the limit."""
    warnings: list[str] = fresh(list)
    """Interpretations of ambiguous names, and defaults taken."""

    @property
    def way(self) -> str:
        """Algorithm and protocol, as ``ring/LL``."""
        return _algorithm_text(self.algorithm, self.protocol)

    @property
    def interval_text(self) -> str | None:
        """The 80 % interval of the time, as text; None without an interval."""
        return show_range(self.interval.low_80, self.interval.high_80, "s") if self.interval else None

    @property
    def clipped_at(self) -> float | None:
        """The least time that links allow [s], if it limits the interval; else None."""
        return self.interval.clipped_at if self.interval else None

    @property
    def where(self) -> str:
        """Placement of the ranks, as text."""
        return f"on {self.nodes} nodes" if self.nodes > 1 else "in one node"

    def records(self) -> list[Row]:
        """Return one row, with the runner-up in separate columns."""
        return [flat(self.model_dump(exclude={"warnings"}))]

    def to_json(self) -> str:
        """Return the collective as JSON, as ``perfmodel collective --json`` prints it."""
        return json.dumps(self.model_dump())

    def __repr__(self) -> str:
        return (
            f"<Collective: {self.collective} of {show(self.message_bytes, 'B')} over {self.group_size} ranks "
            f"{self.where}: {show(self.time, 's')} by {self.way}, bus bandwidth "
            f"{show(self.bus_bandwidth, 'B/s')}, lower bound {show(self.lower_bound, 's')}>"
        )

    __str__ = __repr__


def collective(name: str, algorithm: str, fabric: Point, message_bytes: float) -> Collective:
    """Return one collective with time, bandwidths, bound, interval and network limit.

    Parameters
    ----------
    name : all-reduce, reduce-scatter, all-gather, broadcast, all-to-all, send-receive (each rank to the next)
    algorithm : ``auto`` (NCCL's choice), ``best`` (the fastest of all, including that choice), or a name
    fabric : placement of the ranks and their links
    message_bytes : S [B]; for all-gather and reduce-scatter the total of all ranks

    Raises
    ------
    InputError : an unknown name, or an algorithm that the links do not support
    """
    result = _timed_collective(name, algorithm, fabric, message_bytes)
    limit = network_limit(
        fabric,
        result.time,
        result.interval is not None,
        lambda point: _timed_collective(name, algorithm, point, message_bytes).time,
    )
    return result if limit is None else result.model_copy(update={"network_limit": limit})


def _timed_collective(name: str, algorithm: str, fabric: Point, message_bytes: float) -> Collective:
    """Return one collective without its network limit."""
    if name not in ALGORITHMS:
        raise unknown_name("collective", name, ALGORITHMS)
    algorithm = word_of(algorithm, (), SYNONYMS["algorithm"])
    check_mesh(fabric.link, fabric.per_node)
    if fabric.nodes > 1 and fabric.inter_link is None:
        raise refusal("collective.no_inter_link", hosts=fabric.hosts)
    dimensions = None if fabric.torus is None else str(fabric.torus)
    check_torus(dimensions, algorithm, fabric.group_size, fabric.per_node, fabric.nodes)
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
        return _with_interval(_result(name, fabric, message_bytes, ranked), fabric)
    one_level = algorithm in ("hierarchical", "multi-ring") and fabric.nodes == 1
    same = "ring" if one_level else algorithm
    own = [(time, algorithm, protocol) for time, known, protocol in by_library if known == same]
    if own:
        return _with_interval(_result(name, fabric, message_bytes, own), fabric)
    times = {known: float(time(message_bytes)) for known, time in _textbook(name, fabric).items()}
    if algorithm == "best":
        others = [(time, known, None) for known, time in times.items()]
        candidates = [each for each in (*by_library, *others) if each[1] not in ONLY_ON_REQUEST]
        return _result(name, fabric, message_bytes, sorted(candidates, key=lambda each: each[0]))
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
        able = dict.fromkeys((*(candidate[1] for candidate in by_library), *times))
        raise unknown_name(f"algorithm for {name}", algorithm, ["auto", "best", *able])
    return _result(name, fabric, message_bytes, [(times[algorithm], algorithm, None)])


def _with_interval(result: Collective, fabric: Point) -> Collective:
    """Return the result with its interval from measured collectives."""
    point = fabric.of(result.collective, result.message_bytes)
    return result.model_copy(update={"interval": interval_of(point, result.time)})


def algorithms(name: str, fabric: Point) -> dict[str, Any]:
    """Return every algorithm of these ranks by name, as a function from message size [B] to time [s]."""
    result = _textbook(name, fabric)
    by_library = [candidate[1] for candidate in _by_library(name, fabric, 1.0)[1]]
    if name == "all-reduce" and fabric.nodes == 1:
        by_library.append("hierarchical")  # with one level of links: a ring
    for known in dict.fromkeys(by_library):
        result[known] = lambda size, known=known: _timed_collective(name, known, fabric, size).time
    return result


def _textbook(name: str, fabric: Point) -> dict[str, Any]:
    """Return the algorithms other than NCCL's, as functions from message size [B] to time [s]."""
    numbers = _numbers(name, fabric)
    if name == "all-reduce":
        known = all_reduce_times(_group(fabric, numbers))
        not_textbook = (*BY_LIBRARY, "hierarchical") if fabric.nodes == 1 else BY_LIBRARY
        return {algorithm: time for algorithm, time in known.items() if algorithm not in not_textbook}
    hop, bandwidth = numbers.intra_hop_latency, numbers.intra_link_bandwidth
    if fabric.nodes > 1:
        hop = max(hop, numbers.inter_hop_latency)
        # in a chain of sends one leaves each node, by one adapter; else all ranks share the adapters
        sharing = fabric.nics if name == "send-receive" else fabric.per_node
        bandwidth = min(bandwidth, numbers.inter_link_bandwidth / sharing)

    def flat(time: Any) -> Any:
        return lambda message_bytes: time(fabric.group_size, message_bytes, hop, bandwidth)

    of_library = NCCL_ALGORITHMS.get(name) or tuple(ALGORITHMS[name])[:1]
    return {
        known: flat(algorithm.time)
        for known, algorithm in ALGORITHMS[name].items()
        if known not in of_library
    }


def _numbers(name: str, fabric: Point) -> Fabric:
    """Return the latencies and bandwidths of a collective's fabric."""
    constants = before_fit()  # collectives have a fit of their own
    inside = ring_bandwidth(fabric.link, fabric.per_node, constants)
    if fabric.link.peer_graph and fabric.link.ring_bandwidth is None:
        _, inside = rate_inside(fabric.of(name, 1.0))
    inside = min(inside, fabric.sockets)
    hop = fabric.link.hop_latency.value
    link = fabric.inter_link
    if fabric.nodes == 1:
        return Fabric(hop, inside, 0.0, inside)
    assert link is not None  # ``collective`` refuses it

    def carried(slowdown: float) -> float:
        limits = port_limits(link, constants, fabric.connections, slowdown=slowdown)
        return fabric.nics * min((limits | {"link": limits["link"] / slowdown}).values())

    outer = carried(fabric.of(name, 1.0).slowdown)
    between = link.hop_latency.value
    if fabric.per_node == 1:
        hop, inside = between, outer  # no link inside a node is used
    numbers = Fabric(hop, inside, between, outer)
    racks = fabric.racks
    if racks is None or racks.placement != "contiguous":
        return numbers
    return numbers._replace(
        racks=filled_racks(racks.nodes, fabric.nodes, fabric.hosts),
        rack_factor=outer / carried(1.0),
        uplink_factor=outer / carried(racks.oversubscription),
    )


def _group(fabric: Point, numbers: Fabric) -> Group:
    """Return the group of ranks for the algorithms of a training step."""
    return Group(fabric.per_node, fabric.nodes, fabric.link, numbers, fabric.accelerator, torus=fabric.torus)


def _by_library(
    name: str, fabric: Point, message_bytes: float
) -> tuple[list[TimedAlgorithm], list[TimedAlgorithm]]:
    """Return the library's choice with its alternatives, and all algorithms of the library, with times.

    Times are from the model fitted to measured collectives, which distinguishes algorithms only of an
    all-reduce. Among those ``CLOSE`` to the library's time, NCCL's own estimates determine the choice and the
    protocol.
    """
    point = fabric.of(name, message_bytes)
    at, p = place_of(point), fitted().parameters
    time = float(curve(at, p).time(message_bytes))
    if name not in NCCL_ALGORITHMS:
        only = [(time, next(iter(ALGORITHMS[name])), None)]
        return only, only  # NCCL has one algorithm for point-to-point sends
    protocols: dict[str, Any] = nccl_protocols(point, at, p)
    if name != "all-reduce":
        candidates: list[TimedAlgorithm] = [(time, *candidate) for candidate in protocols.items()]
        return candidates[:1], candidates
    ranks = ranks_of(at, p)
    own = {
        known: (float(all_reduce_curve(ranks, p, known).time(message_bytes)), known, protocols.get(known))
        for known in library_algorithms(ranks.several, ranks.adds, ranks.rings_only)
    }
    usual = library_choice(ranks)
    # few ranks behind a switch use rings
    considered = [known for known in protocols if known in (usual, *ALWAYS)]
    chosen = next((known for known in considered if own[known][0] <= CLOSE * time), usual)
    others = sorted(own[known] for known in considered if known != chosen)
    return [(time, *own[chosen][1:]), *others], list(own.values())


def _result(name: str, fabric: Point, message_bytes: float, ranked: list[TimedAlgorithm]) -> Collective:
    """Return the record of a collective from its timed algorithms, the chosen one first."""
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
    """Return the lower bound by the ranks' links, and by traffic across nodes and racks [s]."""
    link, outer, racks = fabric.link, fabric.inter_link, fabric.racks
    inside = float(
        algorithm.lower_bound(fabric.per_node, message_bytes, link.hop_latency.value, link.bandwidth.value)
    )
    if fabric.nodes == 1 or outer is None:
        return inside
    # a link's latency is that of NCCL's hop with acknowledgement, which is no bound for one message
    adapters = fabric.nics * outer.bandwidth.value
    borders = [(fabric.nodes, adapters)]
    if racks is not None and racks.nodes < fabric.nodes == fabric.hosts:
        borders.append((-(-fabric.nodes // racks.nodes), racks.nodes * adapters / racks.oversubscription))
    crossing = (float(algorithm.lower_bound(many, message_bytes, 0.0, rate)) for many, rate in borders)
    return max(inside, *crossing)
