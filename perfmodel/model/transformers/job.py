"""All that decides the time of a training step; of one job, or of many as arrays."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from perfmodel.core import ops
from perfmodel.model.options.layout import Layout
from perfmodel.model.transformers.architecture import Dimensions
from perfmodel.model.transformers.machine import Chip, Fabric, Groups, group_points, groups_of, ways_of
from perfmodel.model.transformers.software import Software


class Job(NamedTuple):
    """What ``step`` and ``memory`` are worked out of; numbers, or arrays of shape (jobs,)."""

    model: Dimensions
    layout: Layout
    chip: Chip
    stack: Software
    groups: Groups
    sequence_length: Any
    nodes: Any
    domain: Any
    """Accelerators that reach each other over the link inside a node."""
    inner_bandwidth: Any
    """Nominal, of one accelerator to its peers [B/s]."""
    dispatch_bandwidth: Any
    """Nominal, of one accelerator's part of its node's adapters, as its tokens get it [B/s]."""

    @property
    def tokens(self) -> Any:
        """Tokens of one micro-batch on one rank."""
        return self.layout.micro_batch_size * self.sequence_length / self.layout.context_parallel

    @property
    def sequence_shards(self) -> Any:
        """Ranks that share those tokens between products."""
        return 1 + self.stack.shares_sequence * (self.layout.tensor_parallel - 1)

    def flops(self, passes: Any) -> Any:
        """Arithmetic of a step [FLOP], its layers run so many times forward; a backward pass is two."""
        model, layout = self.model, self.layout
        routed = (1 - model.dense_share) * (model.top_k + model.shared_experts) * model.expert_parameters
        each = model.attention_parameters + model.dense_share * model.dense_parameters + routed
        scores = 2 * model.heads * model.head_size * self.sequence_length
        flops = 2 * passes * model.layers * (each + scores) + 6 * model.embedding_parameters
        return flops * layout.global_batch_size * self.sequence_length


class Case(NamedTuple):
    """One job before its groups are worked out."""

    model: Dimensions
    layout: Layout
    chip: Chip
    stack: Software
    fabric: Fabric
    sequence_length: int

    @property
    def nodes(self) -> Any:
        """Nodes that take part."""
        return ops.maximum(1.0, self.layout.world_size / self.fabric.per_node)


def job_of(case: Case) -> Job:
    """Return one job, of plain numbers."""
    return bare_job(case, groups_of(case.fabric, case.layout))


def jobs_of(cases: Sequence[Case]) -> Job:
    """Return many jobs as arrays."""
    points = [group_points(case.fabric, case.layout) for case in cases]
    kinds = (ways_of([each[kind] for each in points]) for kind in range(len(Groups._fields)))
    jobs: Job = stacked([bare_job(case) for case in cases])
    return jobs._replace(groups=Groups(*kinds))


def bare_job(case: Case, groups: Any = None) -> Job:
    """Return one job, or that of many layouts, without the ways of its groups unless they are given."""
    return Job(
        case.model,
        case.layout,
        case.chip,
        case.stack,
        groups,
        ops.number(case.sequence_length),
        case.nodes,
        ops.number(case.fabric.domain),
        case.fabric.link.bandwidth.value,
        case.fabric.dispatch_bandwidth(case.layout),
    )


def stacked(values: Sequence[Any]) -> Any:
    """Return tuples of numbers as one tuple of arrays: floats, but for flags and texts."""
    first = values[0]
    if first is None:
        return None
    if isinstance(first, tuple):
        return type(first)(*(stacked(column) for column in zip(*values, strict=True)))
    array = np.array(values)
    return array if array.dtype.kind in "bU" else array.astype(np.float64)


def rows(value: Any, which: Any) -> Any:
    """Return some of the jobs of a tuple of arrays; what all jobs share stays as it is."""
    if isinstance(value, tuple):
        return type(value)(*(rows(column, which) for column in value))
    return value[which] if np.ndim(value) else value
