"""Weights, gradients and optimizer states of a rank, which its options imply."""

from __future__ import annotations

from collections.abc import Collection
from typing import Any, NamedTuple

from perfmodel.core.ops import maximum, where
from perfmodel.equations.transformer_memory import sharded_memory_bytes
from perfmodel.model.options.layout import ZERO_3
from perfmodel.model.transformers.held import (
    Held,
    gathered_bytes,
    held_parameters,
    trained_parameters,
)
from perfmodel.model.transformers.job import Job, any_of

LEAST_BYTES = 2
"""Bytes of a weight and of a gradient in software that keeps the fewest: 16 bits each."""


class States(NamedTuple):
    """Bytes by contents once all gradients are there, before they are used."""

    weights: Any
    """With adapters, which alone are then trained."""
    gradients: Any
    optimizer: Any


def states_of(job: Job, held: Held, layers: Any = None, towers: Any = None) -> States:
    """Return the states of a rank of a stage that lie in the accelerator's memory [B].

    Parameters
    ----------
    job, held, layers, towers : as for ``all_states``
    """
    software, states = job.stack, all_states(job, held, layers, towers)
    moved = software.host_weights, software.host_weights, software.host_update
    return States(*(where(there, 0.0, size) for there, size in zip(moved, states, strict=True)))


def host_states_bytes(job: Job, held: Held, layers: Any, towers: Any) -> Any:
    """Return the bytes of a rank's states that lie in the host's memory.

    Parameters
    ----------
    job, held, layers, towers : as for ``all_states``
    """
    there, here = all_states(job, held, layers, towers), states_of(job, held, layers, towers)
    return sum(there) - sum(here)


def all_states(job: Job, held: Held, layers: Any = None, towers: Any = None) -> States:
    """Return the states of a rank of a stage, wherever they lie [B].

    Parameters
    ----------
    job, layers, towers : as for ``held_parameters``
    held : result of ``held_parameters``
    """
    layout, software = job.layout, job.stack
    trained = trained_parameters(job, held, layers, towers)
    ranks, expert_ranks = layout.shard_ranks, layout.expert_shard_ranks

    def states(held: Held, bytes_per_parameter: Any, least: int) -> Any:
        """Return the bytes of states that replicas shard from ZeRO stage ``least`` on."""
        shared = layout.sharding >= least
        of_all = sharded_memory_bytes(held.dense, bytes_per_parameter, where(shared, ranks, 1.0))
        theirs = sharded_memory_bytes(held.experts, bytes_per_parameter, where(shared, expert_ranks, 1.0))
        return of_all + theirs

    frozen = gathered_bytes(job, held)
    weights = where(software.adapts, states(frozen, 1.0, 3), states(held, software.weight_bytes, 3))
    adapters = where(software.adapts, states(trained, software.weight_bytes, 3), 0.0)
    optimizer = states(trained, software.optimizer_bytes, 1)
    gradients = states(trained, software.kept_gradient_bytes, 2)
    if any_of(software.in_backward):
        largest = maximum(job.model.embedding_parameters, weights_of_each_shape(job))
        one = sharded_memory_bytes(largest, software.kept_gradient_bytes, 1.0)
        gradients = where(software.in_backward, one, gradients)
    return States(weights + adapters, gradients, optimizer)


def known_bytes(job: Job, layers: Any, towers: Any, tables: Any, opened: Collection[str] = ()) -> Any:
    """Return the bytes of a rank of a stage that its options imply, whatever else it needs [B].

    With sharding left open all ranks may share the states, with the software left open it may be that which
    keeps the fewest bytes of a parameter.  Gradients do not count where the host updates, as software may
    send them there at once, nor where each is used in the backward pass.

    Parameters
    ----------
    job, layers, towers, tables : as for ``held_parameters``
    opened : names of options that are left to their defaults
    """
    if "sharding" in opened:
        job = job._replace(layout=job.layout._replace(sharding=0 * job.layout.sharding + ZERO_3))
    if "framework" in opened:
        software = job.stack._replace(
            weight_bytes=LEAST_BYTES,
            kept_gradient_bytes=LEAST_BYTES,
            optimizer_bytes=job.stack.least_optimizer_bytes,
        )
        job = job._replace(stack=software)
    states = states_of(job, held_parameters(job, layers, towers, tables), layers, towers)
    streamed = job.stack.host_update | job.stack.in_backward
    return states.weights + states.optimizer + where(streamed, 0.0, states.gradients)


def weights_of_each_shape(job: Job) -> Any:
    """Return the parameters of one layer's products on a rank, of experts those of one of each size."""
    model = job.model
    routed = where(model.dense_share < 1, model.expert_parameters, 0.0)
    dense = where(model.dense_share > 0, model.dense_parameters, 0.0) + model.shared_experts * routed
    of_all = (model.attention_parameters + dense) / job.layout.tensor_parallel
    return of_all + routed / job.layout.expert_tensor_parallel
