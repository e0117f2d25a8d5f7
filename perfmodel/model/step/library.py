"""All-reduces of NCCL and RCCL: where they run, which algorithms they have there, and how long each takes."""

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
    """Whether NCCL or RCCL sums the gradients; links alone are taken as those of NVIDIA's."""
    return accelerator is None or accelerator.collective_library is not None


def rings_only(accelerator: Accelerator | None) -> bool:
    """Whether the library goes by rings alone."""
    return accelerator is not None and accelerator.collective_library == "RCCL"


def library_algorithms(group: Group) -> tuple[str, ...]:
    """Return which of its algorithms a library can use in a group."""
    chip = group.accelerator
    return all_reduce.algorithms(group.several_nodes, adds(group.link, chip), rings_only(chip))


def library_times(group: Group, message_bytes: Any) -> dict[str, Any]:
    """Return the time of messages by each of its algorithms [s], the one that it chooses first."""
    names = dict.fromkeys((all_reduce.library_choice(_ranks(group)), *all_reduce.ALWAYS))
    return {name: library_curve(group, name).time(message_bytes) for name in names}


def library_curve(group: Group, algorithm: str = "auto") -> Curve:
    """Return how long a library's all-reduce takes, for every size of message.

    Parameters
    ----------
    group : whose ranks add up
    algorithm : ``auto`` as it chooses, or one of ``library_algorithms``
    """
    return all_reduce.curve(_ranks(group), fitted().parameters, algorithm)


def library_gather(group: Group) -> Curve:
    """Return how long a library's all-gather takes, for every number of bytes of all ranks together."""
    return all_gather.curve(_ranks(group), fitted().parameters, group.link.kind == "pcie")


def library_exchange(group: Group) -> Curve:
    """Return how long a library's all-to-all takes, for every number of bytes that one rank holds for all."""
    return all_to_all.curve(_ranks(group), fitted().parameters, group.link.kind == "pcie")


def ring_part(link: Link, accelerator: Accelerator | None, ranks: int, bus_bandwidth: float) -> float:
    """Return what rings in a node carry [B/s] where a library reached a bus bandwidth there."""
    if not all_reduce.sums_by_switch(adds(link, accelerator), ranks):
        return bus_bandwidth
    unit: Any = all_reduce.switch_bandwidth(1.0, ranks, fitted().parameters)
    return bus_bandwidth / float(unit)


def _ranks(group: Group) -> Ranks:
    on, link, chip = group.on, group.link, group.accelerator
    return Ranks(
        per_node=group.per_node,
        nodes=group.nodes,
        several=group.several_nodes,
        inside_bandwidth=ops.where(group.per_node > 1, on.intra_link_bandwidth, NO_LIMIT),
        between_bandwidth=on.inter_link_bandwidth,
        launch_time=on.launch_time,
        hop_latency=on.library_hop_latency,
        round_trip_time=on.round_trip_time,
        crowd_latency=on.crowd_latency,
        low_latency=on.low_latency,
        ramp_strength=ramp_strength(group.several_nodes, on.ramp_factor, group.year, fitted().parameters),
        adds=adds(link, chip),
        chooses_trees=chooses_trees(link.switched, generation_index(link, chip)),
        rings_only=rings_only(chip),
    )
