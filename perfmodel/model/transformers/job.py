"""Everything that the time of a transformer's step depends on; one job, or many as arrays."""

from __future__ import annotations

from collections.abc import Sequence
from operator import is_
from typing import Any, NamedTuple

import numpy as np

from perfmodel.core import ops
from perfmodel.model.options.layout import Layout
from perfmodel.model.transformers.architecture import Dimensions
from perfmodel.model.transformers.machine import Chip, Fabric, Groups, costs_of, group_points, groups_of
from perfmodel.model.transformers.software import Software


class Job(NamedTuple):
    """Inputs of ``step_of`` and ``memory_of``; numbers, or arrays of shape (jobs,)."""

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
    """Nominal bandwidth of one accelerator to its peers [B/s]."""
    dispatch_bandwidth: Any
    """Nominal bandwidth of one accelerator's share of its node's adapters, for tokens to experts [B/s]."""
    host_bandwidth: Any = 1.0
    """Of copies between the host's memory and one accelerator [B/s]."""

    @property
    def tokens(self) -> Any:
        """Tokens of one micro-batch on one rank."""
        return self.layout.micro_batch_size * self.sequence_length / self.layout.context_parallel

    @property
    def predicted_tokens(self) -> Any:
        """Tokens of a micro-batch whose logits are computed."""
        share = self.model.predicted_share
        return self.tokens * ops.where(self.stack.all_logits, ops.maximum(share, 1.0), share)

    @property
    def sequence_shards(self) -> Any:
        """Ranks that split the tokens between products (sequence parallelism)."""
        return 1 + self.stack.shares_sequence * (self.layout.tensor_parallel - 1)

    def flops(self, passes: Any) -> Any:
        """Return the FLOP of a step of ``passes`` forward passes; a backward pass counts as two."""
        model, layout = self.model, self.layout
        routed = (1 - model.dense_share) * (model.top_k + model.shared_experts) * model.expert_parameters
        each = model.attention_parameters + model.dense_share * model.dense_parameters + routed
        scores = 2 * model.heads * model.head_size * self.sequence_length
        flops = 2 * passes * model.layers * (each + scores) + 6 * model.embedding_parameters
        return flops * layout.global_batch_size * self.sequence_length


class Case(NamedTuple):
    """One job before the communication costs of its groups are computed."""

    model: Dimensions
    layout: Layout
    chip: Chip
    stack: Software
    fabric: Fabric
    sequence_length: int

    @property
    def nodes(self) -> Any:
        """Number of nodes of the job."""
        return ops.maximum(1.0, self.layout.world_size / self.fabric.per_node)


def job_of(case: Case) -> Job:
    """Return the job of a case, of plain numbers."""
    return bare_job(case, groups_of(case.fabric, case.layout))


def jobs_of(cases: Sequence[Case]) -> Job:
    """Return the jobs of many cases as arrays."""
    points = [group_points(case.fabric, case.layout) for case in cases]
    costs = (costs_of([each[kind] for each in points]) for kind in range(len(Groups._fields)))
    jobs: Job = stacked([bare_job(case) for case in cases])
    return jobs._replace(groups=Groups(*costs))


def bare_job(case: Case, groups: Any = None) -> Job:
    """Return the job of a case, whose layout may be of arrays; costs of groups only if given."""
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
        case.fabric.host_bandwidth if any_of(case.stack.host_weights) else 1.0,
    )


def stacked(values: Sequence[Any]) -> Any:
    """Stack tuples of numbers into one tuple of arrays: floats, except flags and texts."""
    first = values[0]
    if first is None:
        return None
    if isinstance(first, tuple):
        return type(first)(*(stacked(column) for column in zip(*values, strict=True)))
    array = np.array(values)
    return array if array.dtype.kind in "bU" else array.astype(np.float64)


def rows(value: Any, which: Any) -> Any:
    """Return the jobs at some indices of a tuple of arrays; what all jobs share stays the same object."""
    if isinstance(value, tuple):
        parts = [
            rows(column, which) if isinstance(column, (tuple, np.ndarray)) else column for column in value
        ]
        return value if all(map(is_, parts, value)) else type(value)(*parts)
    return value[which] if isinstance(value, np.ndarray) and value.ndim else value


def any_of(condition: Any) -> bool:
    """Return whether a condition holds, for an array whether it holds for any job."""
    return bool(condition) if isinstance(condition, (bool, int, float)) else bool(condition.any())
