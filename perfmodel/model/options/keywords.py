"""The options of a scenario as typed keyword arguments of functions, for editors and type checkers."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, TypedDict

from perfmodel.core.choices import (
    Algorithm,
    AttentionKernel,
    Cache,
    ContextMethod,
    DecoderName,
    Embedding,
    FrozenWeights,
    GradientPrecision,
    Input,
    Loss,
    Offload,
    Optimizer,
    Overlap,
    Placement,
    Precision,
    Schedule,
    ServerShards,
    Strategy,
    Transport,
)
from perfmodel.model.options.layout import Recompute, Sharding
from perfmodel.model.options.scenario import AnyScenario, Scenario, laid_over, options_of


class Options(TypedDict, total=False):
    """Every option of a ``Scenario`` but the number of accelerators; a test holds the two to each other."""

    workload: str
    sequence_length: int | None
    image_tokens: int | None
    embedding: Embedding | None
    lora: int | None
    routing_nodes: int | None
    expert_imbalance: float
    capacity_factor: float | None
    lora_targets: str | None
    frozen_weights: FrozenWeights | None
    document_length: int | None
    document_spread: float
    mtp_layers: int | None
    accelerator: str | None
    node: str | None
    accelerators_per_node: int | None
    host_memory: float | None
    intra_link: str | None
    inter_link: str | None
    transport: Transport
    nics: int | None
    connections: int | None
    network_cap: bool
    oversubscription: float
    rack_nodes: int | None
    placement: Placement
    strategy: Strategy
    k: int | None
    local_steps: int | None
    backups: int | None
    servers: int | None
    server_shards: ServerShards | None
    server_node: str | None
    local_aggregation: bool
    algorithm: Algorithm
    torus_dimensions: str | None
    overlap: Overlap | None
    compression: str | None
    tensor_parallel: int
    pipeline_parallel: int
    virtual_stages: int
    schedule: Schedule | None
    embedding_slots: bool | None
    context_parallel: int
    context_method: ContextMethod | None
    context_inner: int | None
    expert_parallel: int
    expert_tensor_parallel: int | None
    sharding: Sharding | None
    shard_group: int | None
    recompute: Recompute | None
    micro_batch_size: int | None
    attention_kernel: AttentionKernel | None
    sequence_parallel: bool | None
    recompute_modules: str | None
    loss: Loss | None
    gradient_precision: GradientPrecision | None
    offload: Offload | None
    precision: Precision | None
    local_batch_size: int | None
    global_batch_size: int | None
    accumulation_steps: int | None
    optimizer: Optimizer | None
    framework: str | None
    input: Input
    loader_workers: int | None
    storage: str | None
    dataset: str | None
    dataset_samples: int | None
    sample_bytes: float | None
    decode_rate: float | None
    decoder: DecoderName | None
    prefetch_depth: int | None
    pinned_memory: bool
    non_blocking: bool
    persistent_workers: bool
    cache: Cache
    jitter: str | None
    anchor: str | None
    profile: str | None
    calibration: str | None


class SizedOptions(Options, total=False):
    """Every option of a ``Scenario``."""

    world_size: int
    gpus: int
    """Another word for ``world_size``."""


def scenario_from(scenario: AnyScenario | None, options: Mapping[str, Any]) -> Scenario:
    """Return a scenario with options replaced; either batch size replaces the other.

    Parameters
    ----------
    scenario : or its options by name; None: all defaults
    options : to replace, by the field names of a ``Scenario``, or ``gpus``

    Raises
    ------
    InputError : an unknown option, or a value that does not fit it

    >>> vgg = Scenario(workload="vgg16", local_batch_size=32)
    >>> strong = scenario_from(vgg, {"gpus": 8, "global_batch_size": 512})
    >>> strong.workload, strong.world_size, strong.local_batch_size, strong.global_batch_size
    ('vgg16', 8, None, 512)
    """
    if isinstance(scenario, Scenario):
        if not options:
            return scenario
        scenario = scenario.model_dump(exclude_unset=True)
    return Scenario(**laid_over({} if scenario is None else options_of(scenario), options))
