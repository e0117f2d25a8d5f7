"""A scenario as a prediction has it: every default filled in."""

from typing import Literal

from typing_extensions import TypedDict

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


class Understood(TypedDict):
    """The options of a ``Scenario`` with every default filled in, and what they imply.

    None is what the job lacks: servers, a sequence length, an anchor.  ``Scenario`` accepts this dictionary.
    """

    workload: str
    sequence_length: int | None
    image_tokens: int | None
    accelerator: str
    world_size: int
    node: str
    accelerators_per_node: int
    host_memory: float | None
    intra_link: str
    inter_link: str | None
    transport: Transport
    nics: int
    connections: int | None
    network_cap: bool
    oversubscription: float
    rack_nodes: int | None
    placement: Placement
    strategy: Strategy
    k: int | None
    local_steps: int | None
    backups: int | None
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
    lora: int | None
    routing_nodes: int | None
    expert_imbalance: float
    capacity_factor: float | None
    lora_targets: str | None
    frozen_weights: FrozenWeights | None
    document_length: int | None
    document_spread: float
    mtp_layers: int | None
    micro_batch_size: int | None
    attention_kernel: AttentionKernel | None
    sequence_parallel: bool | None
    recompute_modules: str | None
    loss: Loss | None
    gradient_precision: GradientPrecision | None
    offload: Offload | None
    servers: int | None
    server_shards: ServerShards | None
    server_node: str | None
    local_aggregation: bool
    algorithm: Algorithm
    torus_dimensions: str | None
    overlap: Overlap | None
    embedding: Embedding | None
    compression: str | None
    precision: Precision
    local_batch_size: int
    global_batch_size: int
    accumulation_steps: int
    optimizer: Optimizer
    framework: str
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
    nodes: int
    scaling: Literal["weak", "strong"]
    """Whether the batch of one accelerator is fixed, or that of the job."""
