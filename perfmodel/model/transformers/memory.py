"""Memory of a transformer on its fullest rank, by contents."""

from __future__ import annotations

from typing import Any, NamedTuple

from perfmodel.core import ops
from perfmodel.core.tracing.tracing import given
from perfmodel.equations.layer_memory import (
    expert_activation_bytes,
    head_backward_bytes,
    placeholder_bytes,
    unfused_activation_bytes,
    working_bytes,
)
from perfmodel.equations.memory import allocator_bytes
from perfmodel.equations.pipeline_schedule import scheduled_micro_batches_kept
from perfmodel.equations.transformer_memory import (
    checkpoint_bytes,
    fresh_gradient_bytes,
    last_micro_batches_kept,
    layer_activation_bytes,
    micro_batches_kept,
    product_checkpoint_bytes,
    sharded_memory_bytes,
    stage_boundary_bytes,
)
from perfmodel.model.fitted.calibration import calibration
from perfmodel.model.options.layout import FULL, SELECTIVE, ZERO_3
from perfmodel.model.transformers.job import Job
from perfmodel.model.transformers.layer import any_of
from perfmodel.model.transformers.recomputed import dropped_bytes, names_modules, selects
from perfmodel.model.transformers.step import Held, held_parameters, tables_of_stage, trained_parameters

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
    """Temporarily gathered parameters."""
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

    If layers do not divide by stages, the first stages hold one more than the last.  Where the last layers
    come back to the first stage, that has the logits.  The second stage is left out unless the network begins
    with layers without experts, so that it holds more experts than the first.
    """
    layout, where = job.layout, ops.where
    stages = layout.pipeline_parallel
    mean = job.model.layers / stages
    most, least = (where(stages > 1, each, mean) for each in (ops.ceil(mean), ops.floor(mean)))
    least = where(layout.returns_to_first, most, least)
    leading = any_of(job.model.first_dense > 0)
    before = job.model.layers - least if leading else 0.0
    ends = [(0.0, most), (where(layout.returns_to_first, 0.0, before), least)]
    of_first, of_last = (_with_dense_share(job, *each) if leading else job for each in ends)
    kept_first, kept_last = _micro_batches(job, stages)
    first = _of_stage(of_first, most, _activations(of_first, most, kept_first, False), 0.0)
    last = _of_stage(of_last, least, _activations(of_last, least, kept_last, True), 0.0)
    if not (leading and any_of(stages > 2)):
        return first, last
    second = _with_dense_share(job, most, most)
    kept, _ = _micro_batches(job, where(stages > 2, stages - 1, stages))
    tables = where((stages > 2) & (layout.returns_to_first == 0), 1.0, 0.0)
    return first, _of_stage(second, most, _activations(second, most, kept, False), tables), last


def _with_dense_share(job: Job, before: Any, layers: Any) -> Job:
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
    share = (leading + others * (layers - leading)) / ops.maximum(layers, 1.0)
    return job._replace(model=model._replace(dense_share=share))


def _micro_batches(job: Job, stages: Any) -> tuple[Any, Any]:
    """Return the micro-batches whose activations the first and the last of some stages keep."""
    layout, where = job.layout, ops.where
    steps, chunks = layout.accumulation_steps, layout.virtual_stages
    of_first = micro_batches_kept(steps, stages, chunks, where(chunks > 1, 1, 0))
    of_last = ops.minimum(steps, last_micro_batches_kept(stages, chunks))
    if any_of(layout.splits_backward):
        by_order = scheduled_micro_batches_kept(layout.schedule, layout.pipeline_parallel, chunks, steps)
        of_first, of_last = (where(layout.splits_backward, by_order, each) for each in (of_first, of_last))
    return of_first, of_last


def _of_stage(job: Job, layers: Any, activations: Activations, without_tables: Any) -> Memory:
    """Return the peak memory of a rank of a stage [B].

    Parameters
    ----------
    job : with the network as the stage has it
    layers, activations : of the stage
    without_tables : 1 if the stage has neither embeddings nor logits, else 0
    """
    layout, software, where = job.layout, job.stack, ops.where
    held = held_parameters(job, layers)
    tables = without_tables * job.model.embedding_parameters / layout.tensor_parallel
    held = held._replace(dense=held.dense - tables)
    trained = trained_parameters(job, held, layers)
    kept, logits, working = activations
    of_expert = ops.maximum(layout.replicas / layout.expert_parallel, 1.0)

    def states(held: Held, bytes_per_parameter: Any, least: int) -> Any:
        """Return the bytes of states that replicas shard from ZeRO stage ``least`` on."""
        shared = layout.sharding >= least
        of_all = sharded_memory_bytes(held.dense, bytes_per_parameter, where(shared, layout.replicas, 1.0))
        theirs = sharded_memory_bytes(held.experts, bytes_per_parameter, where(shared, of_expert, 1.0))
        return of_all + theirs

    weights = states(held, software.weight_bytes, 3)
    adapters = where(software.adapts, states(trained, software.weight_bytes, 3), 0.0)
    optimizer = where(software.host_update, 0.0, states(trained, software.optimizer_bytes, 1))
    gradients = states(trained, software.kept_gradient_bytes, 2)
    fresh = software.fresh_gradients & (layout.pipeline_parallel * layout.accumulation_steps == 1)
    if any_of(software.in_backward):
        largest = ops.maximum(job.model.embedding_parameters, _weights_of_each_shape(job))
        one = sharded_memory_bytes(largest, software.kept_gradient_bytes, 1.0)
        gradients = where(software.in_backward, one, gradients)
    gradients = where(fresh, fresh_gradient_bytes(gradients, working, kept + logits), gradients)
    tensors = (
        weights + adapters,
        gradients,
        optimizer,
        kept,
        logits,
        where(layout.sharding == ZERO_3, _gathered(job, held, layers), 0.0),
        where(software.placeholders, placeholder_bytes(_weights_of_each_shape(job)), 0.0),
    )
    share = given(calibration().allocator_share, "constants.allocator_share", "assumed")
    context = given(CONTEXT_BYTES, "constants.reserved_bytes", "assumed")
    return Memory(*tensors, context, allocator_bytes(sum(tensors), share))


def _gathered(job: Job, held: Held, layers: Any) -> Any:
    """Return the bytes of sharded parameters and gradients while they are gathered.

    The embedding tables stay gathered, two layers have their weights (one is prefetched), and one has its
    gradient, with a second copy of it in transit in fp32.  Software that gathers a pipeline's stage once
    keeps all of its weights; software that sums whole gradients, or gathers once, keeps all gradients.
    """
    model, layout, software, where = job.model, job.layout, job.stack, ops.where
    weight, travels = where(software.gathers_8, 1.0, 2.0), software.gradient_bytes
    tables = tables_of_stage(job) * model.embedding_parameters / layout.tensor_parallel
    local = held.dense + held.experts
    layers = ops.maximum(layers, 1.0)
    layer = (local - tables) / layers
    weights = weight * layer * where(software.keeps_gathered, layers, 2.0)
    several = software.sums_whole_gradients & (layout.accumulation_steps > 1)
    gradients = (2 + where(travels > 2, travels, 0.0)) * layer
    gradients = where(several | software.keeps_gathered, FULL_GRADIENT_BYTES * local, gradients)
    return 2 * tables + weights + where(software.adapts, 0.0, gradients)


class Activations(NamedTuple):
    """Activations of one stage at the peak [B]."""

    kept: Any
    logits: Any
    working: Any
    """What the backward pass of one layer needs: the layer if it is computed again, and gradients."""


def _activations(job: Job, layers: Any, micro_batches: Any, has_logits: bool) -> Activations:
    """Return the activations of a stage with ``layers`` layers at the peak.

    Logits are 0 if the peak is in the backward pass of a layer.
    """
    model, layout, software, where = job.model, job.layout, job.stack, ops.where
    of_layer, working = _layer(job)
    stages, steps, chunks = layout.pipeline_parallel, layout.accumulation_steps, layout.virtual_stages
    kept = of_layer * layers * micro_batches
    boundary = checkpoint_bytes(job.tokens, model.hidden, job.sequence_shards)
    boundary = where(software.keeps_boundaries, boundary, 0.0)
    received, sending = (chunks, chunks - 1) if has_logits else (chunks - 1, chunks)
    sent = ops.minimum(steps, stages)  # sent and not yet returned
    kept = kept + stage_boundary_bytes(boundary, received, sending, steps, sent)
    if not has_logits:
        return Activations(kept + working, 0.0 * kept, working)
    tensor, tokens = layout.tensor_parallel, job.tokens * model.predicted_share
    words = model.vocabulary / where(software.shares_logits, tensor, 1)
    gathered = where(job.sequence_shards > 1, 2 * model.hidden, 0.0)
    logits = tokens * (software.logit_bytes * words + gathered)
    head = head_backward_bytes(tokens, model.hidden, words, model.embedding_parameters / tensor)
    backward = where(software.adapts, 0.0, where(software.logit_bytes > 0, head, 0.0))
    logits = ops.maximum(logits, backward)
    kept = kept + where(software.keeps_logits, KEPT_LOGIT_BYTES * words * tokens * (steps - 1), 0.0)
    with_logits = logits > working
    return Activations(kept + where(with_logits, 0.0, working), where(with_logits, logits, 0.0), working)


def _weights_of_each_shape(job: Job) -> Any:
    """Return the parameters of one layer's products on a rank, of experts those of one of each size."""
    model, where = job.model, ops.where
    experts = where(model.dense_share < 1, (1 + model.shared_experts) * model.expert_parameters, 0.0)
    dense = where(model.dense_share > 0, model.dense_parameters, 0.0)
    return (model.attention_parameters + dense + experts) / job.layout.tensor_parallel


def _layer(job: Job) -> tuple[Any, Any]:
    """Return the bytes of one micro-batch that a layer keeps, and those its backward pass needs besides.

    Products with frozen weights need no inputs for their backward pass: the inputs of the feed-forward part
    and of its last product are kept only for gradients of weights.
    """
    model, layout, software, where = job.model, job.layout, job.stack, ops.where
    tokens, hidden, tensor, shards = job.tokens, model.hidden, layout.tensor_parallel, job.sequence_shards
    routed = 1 - model.dense_share
    width = model.dense_share * model.feed_forward + routed * model.shared_experts * model.expert_width
    values, read = model.heads * model.value_size, model.matrices - where(software.adapts, 1, 0)
    made = model.kept_width + values + read * width
    scores = where(software.flash | (layout.recompute == SELECTIVE), 0.0, model.heads * job.sequence_length)
    whole = layer_activation_bytes(tokens, hidden, shards, made, tensor, scores)
    inputs = checkpoint_bytes(tokens, hidden, shards)
    whole = whole - where(software.dropout, 0.0, inputs)  # two masks of one byte are as large as an input
    whole = whole - where(software.adapts, inputs, 0.0)
    if any_of(model.experts > 0):
        later = where(software.weighted_inside, 0.0, 1.0)
        one, k = read * model.expert_width, model.top_k
        experts = expert_activation_bytes(tokens, hidden, k, model.experts, one, tensor, later)
        whole = whole + routed * experts
    gates = width + routed * model.top_k * model.expert_width
    loose = unfused_activation_bytes(tokens, hidden, shards, gates, tensor)
    # networks with gates have RMSNorms; PyTorch's LayerNorm is one kernel everywhere
    whole = whole + where(software.keeps_unfused & (model.matrices > 2), loose, 0.0)
    widest = ops.maximum(
        where(model.dense_share > 0, model.feed_forward, 0.0),
        where(routed > 0, (model.top_k + model.shared_experts) * model.expert_width, 0.0),
    )
    widened = where(software.in_place, 1.0, model.matrices - 1)
    working = working_bytes(tokens, hidden, shards, widened * widest, tensor)
    width = width + routed * model.top_k * model.expert_width
    products = model.kept_width + (model.matrices - 1) * width
    selected = product_checkpoint_bytes(tokens, hidden, shards, values, products, tensor)
    selective = (layout.recompute == SELECTIVE) & software.checkpoints_operations
    each = where(selective, selected, whole)
    full = layout.recompute == FULL
    share = where(full, layout.recomputed_layers, 0.0)
    checkpoint = inputs / where(software.shares_checkpoints, tensor / shards, 1)
    checkpoint = where(software.host_checkpoints, 0.0, checkpoint)
    again = where(full | selective, whole, 0.0)
    if names_modules(job):
        dropped, named = dropped_bytes(job), selects(job)
        each = each - where(named, dropped.all, 0.0)
        again = again + where(named, dropped.largest, 0.0)
    kept = share * checkpoint + (1 - share) * each
    # in the host's memory, but for one layer on its way and one in use
    working = again + working + where(software.host_activations, 2 * kept, 0.0)
    return where(software.host_activations, 0.0, kept), working
