"""Memory of a transformer on its fullest rank, by contents."""

from __future__ import annotations

from collections.abc import Collection
from typing import Any, NamedTuple

from perfmodel.core import ops
from perfmodel.core.tracing.tracing import given
from perfmodel.equations.layer_memory import head_backward_bytes, placeholder_bytes
from perfmodel.equations.memory import allocator_bytes
from perfmodel.equations.pipeline_schedule import scheduled_micro_batches_kept
from perfmodel.equations.transformer_memory import (
    checkpoint_bytes,
    fresh_gradient_bytes,
    last_micro_batches_kept,
    micro_batches_kept,
    stage_boundary_bytes,
)
from perfmodel.model.fitted.calibration import calibration
from perfmodel.model.options.layout import ZERO_3
from perfmodel.model.transformers.context import gathered_key_bytes
from perfmodel.model.transformers.frozen import EXPANDED_BYTES, largest_product
from perfmodel.model.transformers.held import (
    Held,
    held_parameters,
    tables_of_stage,
)
from perfmodel.model.transformers.job import Job, any_of
from perfmodel.model.transformers.layer_memory import layer_bytes
from perfmodel.model.transformers.states import (
    host_states_bytes,
    known_bytes,
    states_of,
    weights_of_each_shape,
)
from perfmodel.model.transformers.tower import tower_job, tower_parameters, trains_tower

CONTEXT_BYTES = 1.5e9
"""Context of CUDA or ROCm with kernels of PyTorch, workspaces of libraries, buffers of NCCL (assumed: kernels
alone took 1.34 GiB of a V100, by Hugging Face's "Model training anatomy", 2022, read 2026-11-26)."""
KEPT_LOGIT_BYTES = 2
"""Bytes of a logit kept as output of the last stage: 16 bits."""
FULL_GRADIENT_BYTES = 4
"""Bytes of a gradient summed over micro-batches: fp32."""


class Memory(NamedTuple):
    """Bytes by contents, at the peak of memory use."""

    weights: Any
    gradients: Any
    optimizer: Any
    activations: Any
    """Activations, with those of a recomputed layer and the gradients in its backward pass unless the peak is
    at the logits."""
    logits: Any
    """Logits with their loss, or the backward pass of the output head; 0 if the peak is on another stage or
    at a layer."""
    other: Any
    """Temporarily gathered parameters, and weights that are expanded from fewer bits."""
    placeholders: Any
    """Empty gradients of weights whose products add to the main gradients themselves."""
    reserved: Any
    """The driver's context, workspaces of libraries and communication buffers."""
    allocator: Any
    """Lost to rounding and fragmentation."""

    @property
    def total(self) -> Any:
        """Sum of all contents [B]."""
        return sum(self)

    @property
    def tensors(self) -> Any:
        """Sum without context and allocator, which PyTorch reports as allocated [B]."""
        return sum(self[:-2])


class Stage(NamedTuple):
    """A stage of a pipeline, as its memory depends on it."""

    job: Job
    """With the share of layers without experts of this stage."""
    layers: Any
    micro_batches: Any
    """Micro-batches whose activations it keeps."""
    tables: Any
    """Tables of words."""
    towers: Any
    """Encoders of images."""
    is_last: bool = False
    """Whether it has the logits."""


class _Activations(NamedTuple):
    """Activations of one stage at the peak [B]."""

    kept: Any
    logits: Any
    working: Any
    """What the backward pass of one layer needs: the layer if it is computed again, and gradients."""


def memory_of(job: Job) -> Memory:
    """Return the peak memory of the fullest rank of a job [B]."""
    first, *others = memory_of_stages(job)
    fullest, alone = first, job.layout.pipeline_parallel == 1
    for each in reversed(others):  # the last stage, then the second
        fuller = (each.total > fullest.total) | (alone if each is others[-1] else False)
        fullest = Memory(*(ops.where(fuller, *both) for both in zip(each, fullest, strict=True)))
    return fullest


def memory_of_stages(job: Job) -> tuple[Memory, ...]:
    """Return the peak memory of ranks of the first, the second and the last stage [B]; one is the fullest.

    The second stage is left out unless the network begins with layers without experts, or embedding and head
    count as layers: then it may be fuller than the first.
    """
    return tuple(memory_of_stage(stage) for stage in _stages(job))


def host_bytes_of(job: Job) -> Any:
    """Return the bytes of the host's memory that the rank with most there has [B]: states and activations."""
    if not any_of(job.stack.host_update | job.stack.host_activations | job.stack.host_weights):
        return 0.0
    first, *others = map(_host_bytes, _stages(job))
    for each in others:
        first = ops.maximum(first, each)
    return first


def host_known_of(job: Job) -> Any:
    """Return the bytes of states in the host's memory, of the rank with most of them there [B]."""
    return host_bytes_of(job._replace(stack=job.stack._replace(host_activations=False)))


def _host_bytes(stage: Stage) -> Any:
    """Return the bytes of the host's memory that a rank of a stage has [B]."""
    job, where = stage.job, ops.where
    held = held_parameters(job, stage.layers, stage.towers, stage.tables)
    states = host_states_bytes(job, held, stage.layers, stage.towers)
    kept, _ = layer_bytes(job._replace(stack=job.stack._replace(host_activations=False)))
    return states + where(job.stack.host_activations, kept * stage.layers * stage.micro_batches, 0.0)


def known_of(job: Job, opened: Collection[str] = ()) -> Any:
    """Return the bytes of states on the rank that has most of them, which its options imply [B].

    Parameters
    ----------
    job : one job, or many as arrays
    opened : as for ``known_bytes``
    """
    first, *others = (known_of_stage(stage, opened) for stage in _stages(job))
    for each in others:
        first = ops.maximum(first, each)
    return first


def known_of_stage(stage: Stage, opened: Collection[str] = ()) -> Any:
    """Return the same of a rank of one stage [B]."""
    return known_bytes(stage.job, stage.layers, stage.towers, stage.tables, opened)


def _stages(job: Job) -> list[Stage]:
    """Return the stages of a job that may be the fullest.

    If layers do not divide by stages, the first stages hold one more than the last.  Where the last layers
    come back to the first stage, that has the logits.
    """
    layout, where = job.layout, ops.where
    stages, slots, returns = layout.pipeline_parallel, layout.end_slots, layout.returns_to_first
    mean = job.model.layers / stages
    places = (job.model.layers + 2 * slots) / stages
    most, least = (where(stages > 1, each, mean) for each in (ops.ceil(places), ops.floor(places)))
    # a stage of a V has both ends, of each of two copies one
    is_v = returns & (layout.copies_of_stage == 1)
    of_ends = where(is_v, 2 * slots, slots)
    # any stage of a V may hold as many layers as the fullest
    most, between = most - of_ends, where(is_v, most, ops.floor(places + (stages - 2) / stages))
    least = where(returns, most, least - of_ends)
    tables, image = tables_of_stage(job), where(stages > 1, 0.0, 1.0)
    of_first, of_second, of_last = _micro_batches(job)
    leading = any_of(job.model.first_dense > 0)
    after = where(returns, 0.0, job.model.layers - least)

    def part(before: Any, layers: Any) -> Job:
        return with_dense_share(job, before, layers) if leading else job

    first = Stage(part(0.0, most), most, of_first, tables, 1.0)
    last = Stage(part(after, least), least, of_last, tables, image, is_last=True)
    apart = (stages > 2) | returns
    if not (any_of(apart) and (leading or any_of(slots > 0))):
        return [first, last]
    between = where(apart, between, 0.0)
    return [first, Stage(part(most, between), between, of_second, 0.0, 0.0), last]


def with_dense_share(job: Job, before: Any, layers: Any) -> Job:
    """Return a job whose network has the share of layers without experts of one stage.

    Parameters
    ----------
    job : one job, or many as arrays
    before : layers before those of the stage, whose first chunk follows them
    layers : of the stage
    """
    model = job.model
    others = (model.dense_share * model.layers - model.first_dense) / ops.maximum(
        model.layers - model.first_dense, 1.0
    )
    leading = ops.minimum(ops.maximum(model.first_dense - before, 0.0), layers / job.layout.virtual_stages)
    leading = leading / job.layout.copies_of_stage  # the other copy of the network begins with other layers
    share = (leading + others * (layers - leading)) / ops.maximum(layers, 1.0)
    return job._replace(model=model._replace(dense_share=share))


def _micro_batches(job: Job) -> tuple[Any, Any, Any]:
    """Return the micro-batches whose activations the first, the second and the last stage keep.

    In schedules that split the backward pass all keep as many as the fullest.
    """
    layout = job.layout
    stages, steps, chunks = layout.pipeline_parallel, layout.accumulation_steps, layout.virtual_stages
    first, second, last = (micro_batches_of_stage(job, stage) for stage in (0, 1, stages - 1))
    if any_of(layout.splits_backward):
        by_order = scheduled_micro_batches_kept(layout.schedule, stages, chunks, steps)
        first, second, last = (
            ops.where(layout.splits_backward, by_order, each) for each in (first, second, last)
        )
    return first, second, last


def micro_batches_of_stage(job: Job, stage: Any) -> Any:
    """Return the micro-batches whose activations a stage keeps, in schedules of whole backward passes.

    Each keeps one more for each stage behind it, of several chunks two chunks more; of several chunks the
    first has an own rule.

    Parameters
    ----------
    job : one job, or many as arrays
    stage : the first is 0
    """
    layout, where = job.layout, ops.where
    stages, steps, chunks = layout.pipeline_parallel, layout.accumulation_steps, layout.virtual_stages
    each = where(chunks > 1, 2 / chunks, 1.0)
    later = ops.minimum(steps, last_micro_batches_kept(stages, chunks) + (stages - 1 - stage) * each)
    return where(stage == 0, micro_batches_kept(steps, stages, chunks, where(chunks > 1, 1, 0)), later)


def memory_of_stage(stage: Stage) -> Memory:
    """Return the peak memory of a rank of a stage [B]."""
    job, layers = stage.job, stage.layers
    layout, software, where = job.layout, job.stack, ops.where
    held = held_parameters(job, layers, stage.towers, stage.tables)
    kept, logits, working = _activations(stage)
    states = states_of(job, held, layers, stage.towers)
    fresh = software.fresh_gradients & (layout.pipeline_parallel * layout.accumulation_steps == 1)
    late = fresh_gradient_bytes(states.gradients, working, kept + logits)
    tensors = (
        *states._replace(gradients=where(fresh, late, states.gradients)),
        kept,
        logits,
        where(_gathers(job), _gathered(stage, held), 0.0) + _expanded(job) + gathered_key_bytes(job),
        where(software.placeholders, placeholder_bytes(weights_of_each_shape(job)), 0.0),
    )
    share = given(calibration().allocator_share, "constants.allocator_share", "assumed")
    context = given(CONTEXT_BYTES, "constants.reserved_bytes", "assumed")
    return Memory(*tensors, context, allocator_bytes(sum(tensors), share))


def _gathers(job: Job) -> Any:
    """Return whether layers have copies of sharded parameters: gathered, or in one replica cast from fp32 or
    copied from the host."""
    software, layout = job.stack, job.layout
    casts = (software.weight_bytes > 2) & ops.where(software.adapts, False, True)
    return (layout.sharding == ZERO_3) & ((layout.replicas > 1) | casts | software.host_weights)


def _gathered(stage: Stage, held: Held) -> Any:
    """Return the bytes of sharded parameters and gradients while they are gathered.

    The embedding tables stay gathered, two layers have their weights (one is prefetched), and one has its
    gradient, with a second copy of it in transit in fp32.  Software that gathers a pipeline's stage once
    keeps all of its weights; software that sums whole gradients, or gathers once, keeps all gradients.
    """
    job = stage.job
    model, layout, software, where = job.model, job.layout, job.stack, ops.where
    weight, travels = where(software.gathers_8, 1.0, 2.0), software.gradient_bytes
    weight = where(software.expansion_kernels > 0, software.frozen_bytes, weight)
    tables = stage.tables * model.embedding_parameters / layout.tensor_parallel
    local = held.dense + held.experts
    layers = ops.maximum(stage.layers, 1.0)
    rest = local - tables
    if model.tower is not None:
        rest = rest - tower_parameters(job, stage.towers)
    layer = rest / layers
    weights = weight * layer * where(software.keeps_gathered, layers, 2.0)
    several = software.sums_whole_gradients & (layout.accumulation_steps > 1)
    gradients = (2 + where(travels > 2, travels, 0.0)) * layer
    gradients = where(several | software.keeps_gathered, FULL_GRADIENT_BYTES * local, gradients)
    return 2 * tables + weights + where(software.adapts, 0.0, gradients)


def _expanded(job: Job) -> Any:
    """Return the bytes of quantized weights expanded for the largest product of a layer."""
    expanded = EXPANDED_BYTES * largest_product(job.model) / job.layout.tensor_parallel
    return ops.where(job.stack.expansion_kernels > 0, expanded, 0.0)


def _activations(stage: Stage) -> _Activations:
    """Return the activations of a stage at the peak.

    Logits are 0 if the peak is in the backward pass of a layer.
    """
    job = stage.job
    model, layout, software, where = job.model, job.layout, job.stack, ops.where
    of_layer, working = layer_bytes(job)
    stages, steps, chunks = layout.pipeline_parallel, layout.accumulation_steps, layout.virtual_stages
    kept = of_layer * stage.layers * stage.micro_batches
    if model.tower is not None:
        images = tower_job(job)
        of_images = layer_bytes(images)[0] * images.model.layers * stage.micro_batches
        kept = kept + stage.towers * where(trains_tower(job), of_images, 0.0)
    boundary = checkpoint_bytes(job.tokens, model.hidden, job.sequence_shards)
    boundary = where(software.keeps_boundaries, boundary, 0.0)
    received, sending = (chunks, chunks - 1) if stage.is_last else (chunks - 1, chunks)
    sent = ops.minimum(steps, stages)  # sent and not yet returned
    kept = kept + stage_boundary_bytes(boundary, received, sending, steps, sent)
    if not stage.is_last:
        return _Activations(kept + working, 0.0 * kept, working)
    tensor, tokens = layout.tensor_parallel, job.predicted_tokens
    words = model.vocabulary / where(software.shares_logits, tensor, 1)
    gathered = where(job.sequence_shards > 1, 2 * model.hidden, 0.0)
    logits = tokens * (software.logit_bytes * words + gathered)
    head = head_backward_bytes(tokens, model.hidden, words, model.embedding_parameters / tensor)
    backward = where(software.adapts, 0.0, where(software.logit_bytes > 0, head, 0.0))
    logits = ops.maximum(logits, backward)
    kept = kept + where(software.keeps_logits, KEPT_LOGIT_BYTES * words * tokens * (steps - 1), 0.0)
    with_logits = logits > working
    return _Activations(kept + where(with_logits, 0.0, working), where(with_logits, logits, 0.0), working)
