"""A measured run of a transformer that another is predicted from: how much it says of the other."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from perfmodel import ops
from perfmodel.equations.transformer_anchor import anchor_weight
from perfmodel.transformers.parameters import fitted

if TYPE_CHECKING:
    from collections.abc import Mapping

    from perfmodel.resolve import Setting
    from perfmodel.specs.layout import Layout

SAME, OTHER = "same machine and precision", "other machine or precision"
"""Kinds of anchors, by what their share is learned from."""
REACH = "reach"


class Place(NamedTuple):
    """Where a run stands among those of one network: logarithms, or arrays of them."""

    world_size: Any
    """Twice, as it counts for more than anything else."""
    micro_batch_size: Any
    sequence_length: Any
    tensor_parallel: Any
    pipeline_parallel: Any


def place_of(layout: Layout, sequence_length: Any) -> Place:
    """Return where a run of a layout stands."""
    return Place(
        2 * ops.log(layout.world_size * 1.0),
        ops.log(layout.micro_batch_size * 1.0),
        ops.log(sequence_length * 1.0),
        ops.log(layout.tensor_parallel * 1.0),
        ops.log(layout.pipeline_parallel * 1.0),
    )


def distance(one: Place, other: Place) -> Any:
    """Return how far two runs are apart: 1 is e times the accelerators, or e^2 times the micro-batch."""
    return 0.5 * sum(abs(a - b) for a, b in zip(one, other, strict=True))


def weight(kind: str, apart: Any, learned: Mapping[str, float]) -> Any:
    """Return the share of an anchor's miss that another run has as well.

    Parameters
    ----------
    kind : ``SAME`` or ``OTHER``
    apart : distance of the two
    learned : share of each kind, and ``REACH``
    """
    return anchor_weight(learned[kind], apart, learned[REACH])


def weight_between(run: Setting, job: Setting) -> Any:
    """Return the weight of a measured run in the prediction of a job: 1 of the very same job.

    Published rows do not say that a repeated run is the same: 230 pairs that state one layout, network and
    machine differ by other options and releases, by 3 % in the median and up to 30 %, and share no more of
    their misses than near runs do.  Who names a job and its time means that job.

    Parameters
    ----------
    run, job : settings with layouts, which may be arrays
    """
    one, other = run.layout, job.layout
    assert one is not None
    assert other is not None
    lengths = run.workload.tokens, job.workload.tokens
    kind = SAME if _chip(run) == _chip(job) else OTHER
    apart = distance(place_of(one, lengths[0]), place_of(other, lengths[1]))
    shared = weight(kind, apart, fitted().anchor_weights)
    if _machine(run) != _machine(job) or lengths[0] != lengths[1]:
        return shared
    is_same: Any = True
    for a, b in zip(one, other, strict=True):
        is_same = is_same & (a == b)
    return ops.where(is_same, 1.0, shared)


def _chip(setting: Setting) -> tuple[object, ...]:
    return setting.accelerator.id, setting.precision


def _machine(setting: Setting) -> tuple[object, ...]:
    """Return what a layout runs on, and by what."""
    links = setting.intra_link.id, setting.inter_link.id, setting.host_link.id
    size = setting.world_size, setting.nodes, setting.accelerators_per_node, setting.nics
    return *_chip(setting), setting.node.id, *links, *size, setting.software
