"""A training run to plan, and the hardware to choose from."""

from collections.abc import Mapping
from typing import Annotated, Literal

from perfmodel.core.choices import (
    SYNONYMS,
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
    Precision,
    PriceKind,
    Samples,
    Schedule,
    StrategyOfCopies,
)
from perfmodel.core.records.options import Described, OptionInfo
from perfmodel.core.records.record import Within, fresh, same_as
from perfmodel.model.options.conditions import LARGEST
from perfmodel.model.options.risk import Risk
from perfmodel.model.options.scenario import Scenario

LARGEST_SEARCH = 65_536
"""Largest number of GPUs of a search."""
MOST_TOKENS = 1e18

_Above = Annotated[float, Within(gt=0, le=LARGEST, strict=True)]
_GPUs = Annotated[int, Within(ge=1, le=LARGEST_SEARCH, strict=True)]


class Shared(Described):
    """Options of a scenario that every candidate of a search has alike."""

    sequence_length: int | None = same_as(Scenario)
    lora: int | None = same_as(Scenario)
    routing_nodes: int | None = same_as(Scenario)
    expert_imbalance: float = same_as(Scenario)
    capacity_factor: float | None = same_as(Scenario)
    lora_targets: str | None = same_as(Scenario)
    frozen_weights: FrozenWeights | None = same_as(Scenario)
    document_length: int | None = same_as(Scenario)
    document_spread: float = same_as(Scenario)
    mtp_layers: int | None = same_as(Scenario)
    image_tokens: int | None = same_as(Scenario)
    embedding: Embedding | None = same_as(Scenario)
    schedule: Schedule | None = same_as(Scenario)
    embedding_slots: bool | None = same_as(Scenario)
    context_method: ContextMethod | None = same_as(Scenario)
    context_inner: int | None = same_as(Scenario)
    expert_tensor_parallel: int | None = same_as(Scenario)
    shard_group: int | None = same_as(Scenario)
    attention_kernel: AttentionKernel | None = same_as(Scenario)
    sequence_parallel: bool | None = same_as(Scenario)
    recompute_modules: str | None = same_as(Scenario)
    loss: Loss | None = same_as(Scenario)
    gradient_precision: GradientPrecision | None = same_as(Scenario)
    offload: Offload | None = same_as(Scenario)
    optimizer: Optimizer | None = same_as(Scenario)
    framework: str | None = same_as(Scenario)
    input: Input = same_as(Scenario)
    loader_workers: int | None = same_as(Scenario)
    storage: str | None = same_as(Scenario)
    dataset: str | None = same_as(Scenario)
    dataset_samples: int | None = same_as(Scenario)
    sample_bytes: float | None = same_as(Scenario)
    decode_rate: float | None = same_as(Scenario)
    decoder: DecoderName | None = same_as(Scenario)
    prefetch_depth: int | None = same_as(Scenario)
    pinned_memory: bool = same_as(Scenario)
    non_blocking: bool = same_as(Scenario)
    persistent_workers: bool = same_as(Scenario)
    cache: Cache = same_as(Scenario)
    jitter: str | None = same_as(Scenario)
    calibration: str | None = same_as(Scenario)


class Run(Described):
    """A run and the hardware to choose from; options left open are searched.

    Parameters
    ----------
    workload : Network, or a file: .onnx, .csv, config.json.
    epochs : [1] Epochs of the run.  [default: the target's]
    samples : [count of samples] Samples of the whole run, instead of epochs, e.g. 5M.
    tokens : [count of tokens] Tokens of the whole run, instead of epochs, e.g. 1T or 300B.
        [default: of networks that predict the next token those published, or 20 for each parameter]
    target : Published quality that ends the run, instead of a length.
    recipe : Recipe of the training to the target; perfmodel workloads recipes lists them.
        [default: that of --framework; without one stock, for BERT mlperf]
    deadline : [s] Latest end of the run, e.g. 24h, 3d or 2 weeks.
    budget : [USD] Largest cost of the run, e.g. $20,000 or 1.5M.
    confidence : [1] How sure to be that a plan fits into memory and keeps deadline and budget, e.g. 0.5, 0.8
        or 0.95: one with more risk is not recommended.
    power_limit : [W] Largest rated power of the job, with --host-power and --pue, e.g. 500kW.
    accelerators : Accelerators to choose from, e.g. a100-sxm4-40gb,h100-sxm5-80gb.
    instances : Cloud offers to choose from, e.g. p4d.24xlarge.
    nodes : Machines to choose from, e.g. dgx-1v,p3.16xlarge.  [default: all for rent]
    max_gpus : [1] Largest number of GPUs in the job.
    max_nodes : [1] Largest number of machines in the job.
    strategies : Strategies to choose from.  [default: all-reduce,parameter-server]
    algorithms : All-reduce algorithms to choose from.  [default: auto]
    precisions : Precisions to choose from.  [default: amp,bf16,tf32,fp32; bf16 for transformers with layouts]
    server_node : Machine of a parameter server.  [default: that of the workers]
    local_batch_sizes : [samples] Batch sizes of a GPU to choose from.  [default: powers of two that fit]
    max_global_batch_size : [samples] Largest global batch.  [default: the largest published]
    global_batch_size : [samples] Global batch size of every plan.
        [default: any; for transformers with layouts the largest of published runs on as many tokens]
    pricing : Kinds of price to compare: each offer is tried at each of them.
        [default: on-demand; owned for machines with a --purchase-price]
    prices : Rent of one node with all its accelerators, USD per hour, by the name of its type or offer; of
        the first kind of --pricing that is a rent.  [default: the catalogue's]
    purchase_prices : Price to buy one node, USD, by its name, instead of a rent.

    Raises
    ------
    InputError : an unknown option, or a value that does not fit it
    """

    workload: Annotated[str, OptionInfo(label="Workload", offers="workloads", basic=True)] = "resnet50"
    epochs: _Above | None = None
    samples: Annotated[_Above | None, OptionInfo(unit="count of samples")] = None
    tokens: Annotated[
        Annotated[float, Within(gt=0, le=MOST_TOKENS, strict=True)] | None, OptionInfo(unit="count of tokens")
    ] = None
    target: str | None = None
    recipe: Literal["stock", "mlperf", "lars", "lamb", "tokens"] | None = None
    deadline: Annotated[_Above | None, OptionInfo(label="Deadline, e.g. 24h or 3d", unit="s")] = None
    budget: Annotated[_Above | None, OptionInfo(label="Budget [USD]", unit="USD")] = None
    confidence: float = same_as(Risk)
    power_limit: Annotated[_Above | None, OptionInfo(label="Power at most, e.g. 500kW", unit="W")] = None
    accelerators: Annotated[
        tuple[str, ...], OptionInfo(name="accelerator", old="accelerators", offers="accelerators")
    ] = ()
    instances: Annotated[
        tuple[str, ...],
        OptionInfo(label="Cloud offers", name="instance", old="instances", offers="instances"),
    ] = ()
    nodes: Annotated[
        tuple[str, ...], OptionInfo(label="Machines", name="node", old="nodes", offers="nodes")
    ] = ()
    max_gpus: Annotated[_GPUs, OptionInfo(label="GPUs at most")] = 512
    max_nodes: Annotated[_GPUs | None, OptionInfo(label="Machines at most")] = None
    strategies: Annotated[
        tuple[StrategyOfCopies, ...],
        OptionInfo(name="strategy", old="strategies", synonyms=SYNONYMS["strategy"]),
    ] = ()
    algorithms: Annotated[
        tuple[Algorithm, ...],
        OptionInfo(name="algorithm", old="algorithms", synonyms=SYNONYMS["algorithm"]),
    ] = ()
    precisions: Annotated[
        tuple[Precision, ...],
        OptionInfo(name="precision", old="precisions", synonyms=SYNONYMS["precision"]),
    ] = ()
    server_node: Annotated[str | None, OptionInfo(label="Machine of a parameter server", offers="nodes")] = (
        None
    )
    local_batch_sizes: Annotated[
        tuple[Samples, ...], OptionInfo(name="local-batch-size", old="local-batch-sizes")
    ] = ()
    max_global_batch_size: Annotated[Samples | None, OptionInfo(old="max-global-batch")] = None
    global_batch_size: Annotated[Samples | None, OptionInfo(label="Batch of the whole job")] = None
    pricing: Annotated[
        tuple[PriceKind, ...], OptionInfo(label="Kind of price", synonyms=SYNONYMS["pricing"])
    ] = ()
    prices: Annotated[Mapping[str, _Above], OptionInfo(label="Price of a machine", name="price")] = fresh(
        dict
    )
    purchase_prices: Annotated[
        Mapping[str, _Above], OptionInfo(label="Purchase of a machine", name="purchase-price")
    ] = fresh(dict)
