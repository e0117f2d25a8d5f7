"""A measured run of a transformer that another is predicted from: how much it says of the other."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from perfmodel import ops
from perfmodel.equations.transformer_anchor import anchor_weight

if TYPE_CHECKING:
    from collections.abc import Mapping

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


def anchored_spread(alone: float, anchored: float, weight: Any, learned: Mapping[str, float]) -> Any:
    """Return the standard deviation of ln(measured / predicted) of an anchored prediction.

    From that of the best anchors it grows to that without one as the weight falls to nothing.

    Parameters
    ----------
    alone, anchored : without an anchor, and on the nearest run
    weight, learned : of the anchor, and what is learned of anchors
    """
    trusted = ops.minimum(weight / learned[SAME], 1.0)
    return alone + trusted * (min(anchored, alone) - alone)
