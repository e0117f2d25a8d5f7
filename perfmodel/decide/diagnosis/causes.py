"""What may slow a collective: the prediction of the model with one input changed, for each cause."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

from perfmodel.core.units import percent
from perfmodel.hardware.catalogue.store import Catalogue
from perfmodel.hardware.machine_words import link_words
from perfmodel.model.collectives import all_reduce
from perfmodel.model.collectives.all_reduce import Curve, Values
from perfmodel.model.collectives.model import curve, ranks_of
from perfmodel.model.collectives.place import (
    ALL_REDUCE,
    KERNEL_TCP,
    PCIE,
    Place,
    Point,
    host_path,
    place_of,
)
from perfmodel.model.setting.transport import LIKE_TCP

SLOW_RANK = (0.67, 0.5, 0.33, 0.25, 0.125)
"""Shares of its bandwidth that the slowest rank may have left [1]; a network port or PCIe link that trained
down has half, a quarter or an eighth."""
LATE = (3.0, 10.0, 30.0)
"""Factors on the time of an empty message: another process on the host's cores, a lower clock, debug logs."""

TWO_FAULTS = 0.07
"""Probability of a fault on top of another, over that of the other alone: about that of one cause of
seven, which share a half (``weighed.NORMAL``) [1]."""


class Variant(NamedTuple):
    """One form of a cause."""

    words: str
    """The changed input."""
    curve: Curve
    """Predicted times by message size."""
    odds: float = 1.0
    """Its probability over that of other variants of the cause, before the listing is seen [1]."""
    value: int | str | None = None
    """Of an option left open the other value; None of other causes."""


class Cause(NamedTuple):
    """One cause that a listing may have."""

    id: str
    name: str
    """In a few words."""
    words: str
    """What it is, for people."""
    next: str
    """What tells it from others, or mends it."""
    variants: tuple[Variant, ...]
    is_assumption: bool = False
    """Whether it is that the machines are not as they were taken; nothing is wrong then."""


def causes_of(point: Point, p: Values, catalogue: Catalogue) -> list[Cause]:
    """Return the causes that a collective at a point may have.

    Parameters
    ----------
    point : collective and placement, as the machine is stated
    p : learned parameters of collectives by name
    catalogue : where TCP is looked up
    """
    at = place_of(point)
    candidates = (make(point, at, p, catalogue) for make in _MAKERS)
    return [cause for cause in candidates if cause is not None and cause.variants]


def _tcp(point: Point, at: Place, p: Values, catalogue: Catalogue) -> Cause | None:
    """The plug-in or driver of the network is missing: sockets through the kernel."""
    if not _has_network(point) or at.transport == KERNEL_TCP:
        return None
    tcp = catalogue.link(LIKE_TCP)
    fallen = _changed(
        at,
        transport=KERNEL_TCP,
        is_built_in=True,
        hop=tcp.hop_latency.value,
        reaches_adapter=False,
        has_low_latency=tcp.low_latency,
    )
    variants = tuple(
        Variant(f"TCP over {_adapters(count)}", curve(_changed(fallen, adapters=float(count)), p))
        for count in (int(at.adapters), *_fewer(at))
    )
    return Cause(
        "tcp",
        "kernel TCP",
        "fallen back to kernel TCP",
        "is NET/Socket in the output of NCCL_DEBUG=INFO? install or load the network's plug-in "
        "(aws-ofi-nccl, libfabric, IB verbs in the container)",
        variants,
    )


def _few_adapters(point: Point, at: Place, p: Values, _: Catalogue) -> Cause | None:
    """Part of the adapters is used."""
    total = int(at.adapters)
    if not _has_network(point) or total < 2:
        return None
    variants = []
    for count in _fewer(at):
        words, left = f"{_adapters(count)} of {total}", _changed(at, adapters=float(count))
        variants.append(Variant(words, curve(left, p)))
        forced = _by_algorithm(left, p)
        variants += [
            Variant(f"{words}, {each.words}", each.curve, TWO_FAULTS / len(forced)) for each in forced
        ]
    return Cause(
        "few-adapters",
        "few adapters",
        "only some of the network adapters are used",
        "are all adapters in the output of NCCL_DEBUG=INFO (NET/IB: Using ...)? check "
        "NCCL_IB_HCA, the topology file, and that the container sees them all",
        tuple(variants),
    )


def _staged(point: Point, at: Place, p: Values, _: Catalogue) -> Cause | None:
    """Adapters do not reach the accelerators' memory."""
    if not _has_network(point) or not at.reaches_adapter or at.transport == KERNEL_TCP:
        return None
    return Cause(
        "no-gpudirect",
        "staged in host memory",
        "no GPUDirect RDMA: messages are staged in host memory",
        "is GDRDMA in the output of NCCL_DEBUG=INFO? load nvidia-peermem or use dma-buf, switch off PCIe ACS",
        (Variant("without GPUDirect RDMA", curve(_changed(at, reaches_adapter=False), p)),),
    )


def _no_peers(point: Point, at: Place, p: Values, _: Catalogue) -> Cause | None:
    """Accelerators of a node do not reach each other's memory."""
    if at.per_node < 2:
        return None
    variants = []
    if at.reaches_peers and at.per_node > 2:
        variants.append(Variant("without access between peers", curve(_changed(at, reaches_peers=False), p)))
    if at.interconnect != PCIE:
        path = at.adapter_path if at.nodes > 1 else host_path(point)
        over = _changed(at, interconnect=PCIE, inside_rate=path, adds=False)
        variants.append(Variant(f"PCIe instead of {link_words(point.link)}", curve(over, p)))
        if over.per_node > 2:
            variants.append(
                Variant("PCIe without access between peers", curve(_changed(over, reaches_peers=False), p))
            )
    return Cause(
        "no-peer-access",
        "no peer access",
        "accelerators of a node reach each other through host memory or PCIe, not their own links",
        "check nvidia-smi topo -m and nvlink --status, P2P (not SHM) in the output of NCCL_DEBUG=INFO, "
        "NCCL_P2P_DISABLE, and the fabric manager",
        tuple(variants),
    )


def _algorithm(point: Point, at: Place, p: Values, _: Catalogue) -> Cause:
    """Another algorithm than the library's choice, for all sizes."""
    variants = _by_algorithm(at, p)
    return Cause(
        "algorithm",
        "another algorithm",
        "an algorithm other than the usual one",
        "unset NCCL_ALGO, NCCL_PROTO and NCCL_NVLS_ENABLE; check what a tuner plug-in or the image sets",
        variants,
    )


def _by_algorithm(at: Place, p: Values) -> tuple[Variant, ...]:
    """Return the curves of an all-reduce by each algorithm for all sizes; none where there is no choice.

    Between two ranks a ring and a tree send the same messages.
    """
    if at.collective != ALL_REDUCE or at.by_ring or at.nodes * at.per_node <= 2:
        return ()
    ranks = ranks_of(at, p)
    names = all_reduce.ALWAYS if ranks.several or ranks.adds else ("tree",)
    return tuple(Variant(f"{name} for all sizes", all_reduce.curve(ranks, p, name)) for name in names)


def _slow_rank(point: Point, at: Place, p: Values, _: Catalogue) -> Cause:
    """The slowest rank or link has part of its bandwidth."""
    usual = curve(at, p)
    variants = tuple(
        Variant(
            f"the slowest rank at {percent(share)} of its bandwidth",
            usual._replace(byte_time=usual.byte_time / share),
        )
        for share in SLOW_RANK
    )
    return Cause(
        "slow-rank",
        "one slow rank",
        "one rank or link is slower than the others",
        "run it on halves of the machines to find which; check link width and speed (lspci, ibstat), "
        "throttling, and error counters",
        variants,
    )


def _late(point: Point, at: Place, p: Values, _: Catalogue) -> Cause:
    """Every message starts late."""
    usual = curve(at, p)
    variants = tuple(
        Variant(
            f"{factor:g} times the time of an empty message",
            usual._replace(start_time=usual.start_time * factor),
        )
        for factor in LATE
    )
    return Cause(
        "latency",
        "large latency",
        "latency is too large, bandwidth is as usual",
        "check cores that NCCL's threads share, power saving of CPU and GPU, NCCL_PROTO, debug output, and "
        "the distance between the nodes",
        variants,
    )


_MAKERS: tuple[Callable[[Point, Place, Values, Catalogue], Cause | None], ...] = (
    _tcp,
    _few_adapters,
    _staged,
    _no_peers,
    _algorithm,
    _slow_rank,
    _late,
)


def _changed(at: Place, **numbers: Any) -> Place:
    """Return a place with other numbers."""
    return at._replace(**numbers)


def _fewer(at: Place) -> list[int]:
    """Return the powers of 2 below the number of adapters of a node."""
    total = int(at.adapters)
    return [1 << power for power in range(total.bit_length()) if 1 << power < total]


def _has_network(point: Point) -> bool:
    return point.nodes > 1 and point.inter_link is not None


def _adapters(count: float) -> str:
    return "1 adapter" if count == 1 else f"{count:g} adapters"
