"""Hardware of a transformer's step: rates of an accelerator, and costs of collectives in groups of ranks."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from perfmodel.core import ops
from perfmodel.core.tracing.tracing import remembered
from perfmodel.equations.link_rates import node_bandwidth
from perfmodel.equations.transformer_exchange import busy_collective_time
from perfmodel.hardware.accelerator import TPU_VENDOR, Accelerator
from perfmodel.hardware.formats import OPERANDS
from perfmodel.hardware.link import Link
from perfmodel.hardware.provenance import Spec
from perfmodel.hardware.software import BLACKWELL, HOPPER
from perfmodel.model.collectives.model import curve, fitted, kernel_bandwidth
from perfmodel.model.collectives.place import USUAL_YEAR, Point, Sockets, place_of
from perfmodel.model.collectives.racks import Racks
from perfmodel.model.fitted.calibration import calibration
from perfmodel.model.options.layout import Layout
from perfmodel.model.setting.link_caveats import NCCL_CONNECTIONS
from perfmodel.model.step.ports import bulk_bandwidth

BORROWED_SHARE = 0.80
"""Share of its peak that the best product of an unmeasured accelerator reaches (assumed: those measured in 16
bits, from A100 to GB200, reach between 0.73 and 0.87)."""
BORROWED_SHARES = {"AMD": 0.58, TPU_VENDOR: 0.95}
"""The same for other vendors: for AMD the mean of MI300X, MI325X and MI355X (0.51 to 0.62); a TPU keeps its
clocks (assumed)."""
CONSUMER, CONSUMER_SHARE = "GeForce", 1.07
"""The same for NVIDIA's cards with this in their name, which run above their stated clock: the mean of six,
from RTX 2080 to RTX 4090 (0.97 to 1.15)."""
OF_VECTOR_UNITS = ("fp32", "fp16-vector")
VECTOR_SHARE = 0.91
"""The same for products in fp32 on ordinary units: the mean of seven, P100 to A100 (0.86 to 0.97)."""
DOUBLED_FROM, DOUBLED_SHARE = 8.6, 0.65
"""CUDA's capability from which those units have twice the lanes, and the share they reach: the mean of eight,
from RTX 3080 to H100 (0.51 to 0.73)."""
EIGHT_OVER_SIXTEEN = 0.75 / BORROWED_SHARE
"""Share of the peak in 8 bits over that in 16, if unmeasured (in 8 bits: 0.71 to 0.78); also that of 4 bits
over 8 bits (assumed: no product in 4 bits was measured)."""


IN_32_BITS = ("fp32", "tf32")
"""Precisions whose activations take 4 B."""
FARTHEST = 2.0**22
"""Larger than any stride of ranks: combines a group's size and stride into one number."""


class Chip(NamedTuple):
    """Rates and properties of an accelerator; numbers, or arrays of them."""

    product_rate: Any
    """Best measured product in 16 bits [FLOP/s]."""
    product_rate_narrow: Any
    """The same in the format of 8 or 4 bits that the job computes in, or in 16 bits without one [FLOP/s]."""
    power: Any
    """Power limit over that of the module on which products were measured [1]."""
    memory_bytes: Any
    memory_bandwidth: Any
    """[B/s]"""
    compute_units: Any
    """Units that each compute a tile of a product."""
    capability: Any
    """CUDA compute capability; 0 for other accelerators."""
    is_tpu: Any
    on_vector_units: Any
    """Whether products run on ordinary units rather than matrix units."""

    @property
    def is_hopper(self) -> Any:
        """Whether the accelerator is a Hopper GPU or later."""
        return self.capability >= HOPPER

    @property
    def is_blackwell(self) -> Any:
        """Whether the accelerator is a Blackwell GPU or later."""
        return self.capability >= BLACKWELL


def chip_of(accelerator: Accelerator, precision: str = "amp") -> Chip:
    """Return the rates of an accelerator from its specs; unmeasured products are a share of the peak.

    Parameters
    ----------
    accelerator : the accelerator's specs
    precision : of products; all but ``fp32`` and ``tf32`` have rates in 16 bits and in fp8, or in the format
        of less bits that it names
    """
    half: Any = "bf16" if "bf16" in accelerator.peak_flops else accelerator.training_peak("amp")[1]
    rate = _best_rate(accelerator, half, _borrowed_share(accelerator, half))
    narrow = _narrow_rate(accelerator, precision if precision in OPERANDS else "fp8", half, rate)
    kept_in = half
    if precision in IN_32_BITS:
        _, kept_in = accelerator.training_peak(precision)
        rate = _best_rate(accelerator, kept_in, _borrowed_share(accelerator, kept_in))
    measured_at, own = accelerator.achieved_tdp, accelerator.tdp
    return Chip(
        rate,
        narrow,
        own.value / measured_at.value if measured_at and own else 1.0,
        accelerator.memory_bytes.value,
        accelerator.memory_bandwidth.value,
        ops.number(accelerator.matrix_units or accelerator.compute_units),
        accelerator.compute_capability or 0.0,
        accelerator.is_tpu,
        kept_in in OF_VECTOR_UNITS,
    )


def _narrow_rate(accelerator: Accelerator, precision: Any, half: Any, rate: Any) -> Any:
    """Return the rate of the best product in a format of 8 or 4 bits [FLOP/s]; without such a peak ``rate``.

    Formats of 8 bits reach the same share of their peaks.

    Parameters
    ----------
    accelerator, precision : the accelerator's specs, and a key of ``OPERANDS``
    half, rate : format of 16 bits, and its rate [FLOP/s]
    """
    peaks = accelerator.peak_flops
    if precision not in peaks:
        return rate
    share = EIGHT_OVER_SIXTEEN * rate / peaks[half].value
    if precision != "fp8" and "fp8" in peaks:
        share = _best_rate(accelerator, "fp8", share) / peaks["fp8"].value
    if OPERANDS[precision].value_bytes < 1:
        share = share * EIGHT_OVER_SIXTEEN
    return _best_rate(accelerator, precision, share)


def _borrowed_share(accelerator: Accelerator, precision: str) -> float:
    """Return the share of its peak that the best product of an unmeasured accelerator is assumed to reach."""
    if accelerator.vendor in BORROWED_SHARES:
        return BORROWED_SHARES[accelerator.vendor]
    if precision in OF_VECTOR_UNITS:
        is_doubled = (accelerator.compute_capability or 0.0) >= DOUBLED_FROM
        return DOUBLED_SHARE if is_doubled else VECTOR_SHARE
    return CONSUMER_SHARE if CONSUMER in accelerator.name else BORROWED_SHARE


def _best_rate(accelerator: Accelerator, precision: Any, share: float) -> float:
    """Return the rate of the best product [FLOP/s]: measured, or a share of the peak."""
    measured = accelerator.achieved_flops.get(precision)
    return measured.value if measured else share * accelerator.peak_flops[precision].value


class Fabric(NamedTuple):
    """Links and adapters between the ranks of a job."""

    accelerator: Accelerator
    link: Link
    """Link between accelerators of a node."""
    inter_link: Link
    """Link between nodes."""
    per_node: float
    """Accelerators of a node that the job uses."""
    domain: float
    """Accelerators that reach each other over ``link``; it may span nodes."""
    nics: float
    """Adapters of a node."""
    host_link: Link | None = None
    year: int = USUAL_YEAR
    """Year of the collective library."""
    racks: Racks | None = None
    """None: every node reaches every other at its adapters' full rate."""
    connections: int = NCCL_CONNECTIONS
    """TCP connections between two nodes."""
    lone_bandwidth: float | None = None
    """Bandwidth of one adapter while the others of its machine are idle [B/s]; None: of ``inter_link``."""
    sockets: Sockets | None = None
    """Link between the processors of a node; None if ranks do not exchange over it, or unknown."""
    below_switch: int = 1
    """Accelerators of the job below one PCIe switch, which share its link to the host's memory."""

    @property
    def host_bandwidth(self) -> Any:
        """Bandwidth of copies between the host's memory and one accelerator, as all copy at once [B/s]."""
        link = self.host_link or self.link
        return bulk_bandwidth(link, calibration()) / self.below_switch

    @property
    def place(self) -> tuple[object, ...]:
        """Key of the fabric for caches; specs are compared by identity."""
        return tuple([id(each) if isinstance(each, Spec) else each for each in self])

    def dispatch_bandwidth(self, layout: Layout) -> Any:
        """Return the nominal bandwidth for one accelerator's tokens to experts on other nodes [B/s].

        That is its share of its node's adapters, reduced between racks as for any all-to-all; an array for
        many layouts.
        """
        part = self.inter_link.bandwidth.value * self.nics / self.per_node
        if self.racks is None:
            return part
        experts, apart = layout.expert_parallel, layout.expert_tensor_parallel
        near = ops.minimum(experts, ops.maximum(self.domain / apart, 1.0))
        slower = self.racks.slowdown("all-to-all", experts / near, experts * apart / self.per_node)
        return node_bandwidth(part, 1, 1.0, slower)

    def point(self, collective: str, group_size: float, stride: float) -> Point | None:
        """Return the point of a collective of ranks ``stride`` apart; None for a single rank.

        A group uses the share of a node's adapters that belongs to its ranks.
        """
        if group_size < 1.5:
            return None
        ranks, apart, domain = ops.plain(group_size), ops.plain(stride), ops.plain(self.domain)
        inside = max(1, round(min(ranks, max(domain / apart, 1.0))))
        nodes = max(1, round(ranks / inside))
        return Point(
            inside * nodes,
            nodes,
            self.link,
            self.inter_link if nodes > 1 else None,
            inside * self.nics / self.per_node,
            self.accelerator,
            self.host_link,
            collective,
            year=self.year,
            # the number of machines that the group spans
            machines=max(nodes, round(ranks * apart / ops.plain(self.per_node))) if self.racks else 0,
            host_nics=self.nics,
            shares_host=ops.plain(self.per_node) > 1,
            racks=self.racks,
            connections=self.connections,
            lone_bandwidth=self.lone_bandwidth,
            sockets=math.inf if self.sockets is None else self.sockets.limit(inside, apart),
        )


class CollectiveCost(NamedTuple):
    """Arguments of ``busy_collective_time`` for one group; ``NO_COST`` for a single rank."""

    start_time: Any
    wire_time: Any
    ramp: Any
    bend_time: Any
    inner_wire_time: Any
    outer_wire_time: Any
    kernel_wire_time: Any


NO_COST = CollectiveCost(0.0, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0)


def travel_time(cost: CollectiveCost, message_bytes: Any, p: Mapping[str, Any]) -> Any:
    """Return the time of a collective of a training step [s]; 0 for a single rank."""
    if cost is NO_COST:
        return 0.0
    return busy_collective_time(message_bytes, *cost, p["inside"], p["between"])


class Groups(NamedTuple):
    """Costs of the collectives of a step, by group of ranks."""

    tensor: Any
    """All-reduce of activations."""
    context: Any
    """All-gather of keys and values."""
    gather: Any
    """All-gather of parameters, and reduce-scatter of gradients, over replicas that share a copy."""
    reduce: Any
    """All-reduce of gradients over replicas."""
    expert_gather: Any
    """As ``gather``, over the replicas of an expert."""
    expert_reduce: Any
    stage: Any
    """Send from one stage to the next."""
    expert_tensor: Any
    """As ``tensor``, over ranks with parts of the same experts, or other experts for the same tokens."""
    context_heads: Any
    """All-to-all of heads between neighbours of context parallelism."""
    copies: Any
    """All-reduce of shards of gradients over groups of replicas (HSDP)."""
    expert_copies: Any


def _group_shapes(layout: Layout) -> tuple[tuple[str, Any, Any], ...]:
    """Return collective, number of ranks and their stride, in the order of ``Groups``."""
    tensor, replicas, shards = layout.tensor_parallel, layout.replicas, layout.shard_ranks
    stride, copies = layout.replica_stride, layout.token_copies
    of_expert, expert_shards = layout.expert_replicas, layout.expert_shard_ranks
    parts, inner = layout.expert_tensor_parallel, layout.context_inner
    apart, stages = parts * layout.expert_parallel, layout.pipeline_parallel
    return (
        ("all-reduce", tensor, 1),
        ("all-gather", layout.context_ring, stride * inner),
        ("all-gather", shards, stride),
        ("all-reduce", replicas, stride),
        ("all-gather", expert_shards, apart),
        ("all-reduce", of_expert, apart),
        ("send-receive", ops.minimum(stages, 2), layout.world_size / stages),
        ("all-reduce", parts * copies, 1),
        ("all-to-all", inner, stride),
        ("all-reduce", replicas / shards, stride * shards),
        ("all-reduce", of_expert / expert_shards, apart * expert_shards),
    )


def group_points(fabric: Fabric, layout: Layout) -> tuple[Point | None, ...]:
    """Return the points of the collectives of one layout, in the order of ``Groups``."""
    return tuple(fabric.point(*shape) for shape in _group_shapes(layout))


def groups_of_many(fabric: Fabric, layouts: Layout) -> Groups:
    """Return the costs of the groups of many layouts on one fabric; equal groups are computed once.

    The costs of a group that is the same in all layouts are plain numbers.
    """
    result = []
    shapes = _group_shapes(layouts)
    known: dict[tuple[int, int], tuple[list[tuple[float, float]], Any]] = {}
    for collective, sizes, strides in shapes:
        same = id(sizes), id(strides)  # gathers and sums have the same ranks
        if same not in known:
            known[same] = _distinct(sizes, strides)
        pairs, at = known[same]
        points = [fabric.point(collective, size, stride) for size, stride in pairs]
        one = _cost_of(points[0]) if len(points) == 1 else None
        result.append(one or CollectiveCost(*(column[at] for column in costs_of(points))))
    return Groups(*result)


def _distinct(sizes: Any, strides: Any) -> tuple[list[tuple[float, float]], Any]:
    """Return the distinct pairs of size and stride, and for each layout the index of its pair."""
    sizes, strides = (np.asarray(each, np.float64) for each in np.broadcast_arrays(sizes, strides))
    both = (sizes * FARTHEST + strides).reshape(-1)
    if both.size and (both == both[0]).all():
        return [(float(sizes.flat[0]), float(strides.flat[0]))], np.zeros(both.size, np.intp)
    _, first, at = np.unique(both, return_index=True, return_inverse=True)
    return list(zip(sizes.flat[first].tolist(), strides.flat[first].tolist(), strict=True)), at.reshape(-1)


def costs_of(points: Sequence[Point | None]) -> CollectiveCost:
    """Return the costs of many groups, shape (points,)."""
    return CollectiveCost(
        *np.array([_cost_of(point) for point in points], np.float64).reshape(-1, len(NO_COST)).T
    )


def _cost_of(point: Point | None) -> CollectiveCost:
    """Return the cost of one group; ``NO_COST`` for a single rank."""
    return NO_COST if point is None else _cost(_PlaceKey(point, point.place))


class _PlaceKey:
    """A hashable point, or fabric with shapes of groups, equal to any other at the same place."""

    __slots__ = ("place", "value")

    def __init__(self, value: Any, place: tuple[object, ...]) -> None:
        self.value, self.place = value, place

    def __hash__(self) -> int:
        return hash(self.place)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _PlaceKey) and self.place == other.place


@remembered(maxsize=4096)
def _cost(key: _PlaceKey) -> CollectiveCost:
    """Return the cost of one group, as plain numbers."""
    point: Point = key.value
    at, ranks = place_of(point), point.group_size
    share = (ranks - 1) / ranks
    inner: Any = {"all-reduce": 2 * share, "all-gather": share}.get(point.collective, 1.0)
    outer, p = inner, fitted().parameters
    if point.collective == "all-to-all":  # each of a node's ranks sends to its peers, and to other nodes
        inner, outer = (at.per_node - 1) / ranks, at.per_node * (1 - 1 / at.nodes)
    return CollectiveCost(
        *curve(at, p),
        inner / point.link.bandwidth.value if at.per_node > 1 else 0.0,
        outer / (at.port * at.adapters) if at.nodes > 1 else 0.0,
        outer / (kernel_bandwidth(at, p, 1.0) * at.adapters) if at.nodes > 1 else 0.0,
    )


def groups_of(fabric: Fabric, layout: Layout) -> Groups:
    """Return the costs of one layout's groups."""
    shapes = _group_shapes(layout)
    return _cached_groups(_PlaceKey((fabric, shapes), (*fabric.place, *shapes)))


@remembered(maxsize=1024)
def _cached_groups(key: _PlaceKey) -> Groups:
    """Return the costs of one layout's groups, cached."""
    fabric, shapes = key.value
    return Groups(*[_cost_of(fabric.point(*shape)) for shape in shapes])
