"""Collectives of NCCL and RCCL for a group of ranks: availability, algorithms and times."""

from __future__ import annotations

from typing import Any

from perfmodel.core import ops
from perfmodel.hardware.accelerator import Accelerator
from perfmodel.hardware.link import Link
from perfmodel.model.collectives import all_gather, all_reduce, all_to_all
from perfmodel.model.collectives.all_reduce import Curve, Ranks
from perfmodel.model.collectives.generation import adds, generation_index
from perfmodel.model.collectives.model import NO_LIMIT, chooses_trees, fitted, ramp_strength
from perfmodel.model.step.layout import Group


def runs_nccl(accelerator: Accelerator | None) -> bool:
    """Return whether the collectives are NCCL's or RCCL's; None counts as an NVIDIA GPU."""
    return accelerator is None or accelerator.collective_library is not None


def rings_only(accelerator: Accelerator | None) -> bool:
    """Return whether the library uses only rings, as RCCL does."""
    return accelerator is not None and accelerator.collective_library == "RCCL"


def library_algorithms(group: Group) -> tuple[str, ...]:
    """Return the algorithms that the library offers for a group."""
    chip = group.accelerator
    return all_reduce.algorithms(group.several_nodes, adds(group.link, chip), rings_only(chip))


def library_times(group: Group, message_bytes: Any) -> dict[str, Any]:
    """Return the time of messages by algorithm of the library [s], its own choice first."""
    names = dict.fromkeys((all_reduce.library_choice(_ranks(group)), *all_reduce.ALWAYS))
    return {name: library_curve(group, name).time(message_bytes) for name in names}


def library_curve(group: Group, algorithm: str = "auto") -> Curve:
    """Return the curve of a library's all-reduce over the message size.

    Parameters
    ----------
    group : of ranks
    algorithm : ``auto`` for the library's choice, or one of ``library_algorithms``
    """
    return all_reduce.curve(_ranks(group), fitted().parameters, algorithm)


def library_all_gather(group: Group) -> Curve:
    """Return the curve of a library's all-gather over the total bytes of all ranks."""
    return all_gather.curve(_ranks(group), fitted().parameters, group.link.kind == "pcie")


def library_all_to_all(group: Group) -> Curve:
    """Return the curve of a library's all-to-all over the bytes that one rank sends to all."""
    return all_to_all.curve(_ranks(group), fitted().parameters, group.link.kind == "pcie")


def ring_part(link: Link, accelerator: Accelerator | None, ranks: int, bus_bandwidth: float) -> float:
    """Return the bandwidth of rings in a node [B/s], from a measured bus bandwidth of the library [B/s]."""
    if not all_reduce.sums_by_switch(adds(link, accelerator), ranks):
        return bus_bandwidth
    unit: Any = all_reduce.switch_bandwidth(1.0, ranks, fitted().parameters)
    return bus_bandwidth / float(unit)


def _ranks(group: Group) -> Ranks:
    """Return a group as the ranks that the models of collectives take."""
    fabric, link, chip = group.fabric, group.link, group.accelerator
    return Ranks(
        per_node=group.per_node,
        nodes=group.nodes,
        several=group.several_nodes,
        inside_bandwidth=ops.where(group.per_node > 1, fabric.intra_link_bandwidth, NO_LIMIT),
        between_bandwidth=fabric.inter_link_bandwidth,
        launch_time=fabric.launch_time,
        hop_latency=fabric.library_hop_latency,
        round_trip_time=fabric.round_trip_time,
        crowd_latency=fabric.crowd_latency,
        low_latency=fabric.low_latency,
        ramp_strength=ramp_strength(group.several_nodes, fabric.ramp_factor, group.year, fitted().parameters),
        adds=adds(link, chip),
        chooses_trees=chooses_trees(link.switched, generation_index(link, chip)),
        rings_only=rings_only(chip),
    )
