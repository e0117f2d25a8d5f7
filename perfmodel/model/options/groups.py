"""The options of a training job, in groups that commands share."""

from typing import Annotated

from perfmodel.core.choices import (
    LARGEST_DATA_SET,
    LARGEST_HOST,
    LARGEST_IMBALANCE,
    LARGEST_RATE,
    LARGEST_SAMPLE,
    LARGEST_SPREAD,
    SYNONYMS,
    Algorithm,
    AttentionKernel,
    Cache,
    ContextMethod,
    Count,
    CountFromZero,
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
    Samples,
    Schedule,
    ServerShards,
    Strategy,
    Transport,
)
from perfmodel.core.records.options import Described, OptionInfo
from perfmodel.core.records.record import Within
from perfmodel.model.options.layout import Recompute, Sharding

MOST_MODULES = 16
"""More than any network was published with."""
_Most = Annotated[int, Within(ge=1, le=LARGEST_DATA_SET, strict=True)]
_Modules = Annotated[int, Within(ge=0, le=MOST_MODULES, strict=True)]
_Bytes = Annotated[float, Within(gt=0, le=LARGEST_SAMPLE)]
_HostMemory = Annotated[float, Within(gt=0, le=LARGEST_HOST)]
_Rate = Annotated[float, Within(gt=0, le=LARGEST_RATE)]
_Imbalance = Annotated[float, Within(ge=1, le=LARGEST_IMBALANCE)]
_Capacity = Annotated[float, Within(gt=0, le=LARGEST_IMBALANCE)]


class Network(Described, heading="The workload"):
    """The network that is trained.

    Parameters
    ----------
    workload : Network, or a file: .onnx, .csv, config.json.
    sequence_length : [tokens] Tokens of one sample.
    image_tokens : [tokens] Tokens of one sample that are of images: read by a language model with a vision
        tower, where 0 leaves out the tower, or made by a diffusion transformer.  [default: one image]
    embedding : Embedding tables of a recommender: replicated, with gradients of every row summed;
        sharded, whole tables on different accelerators, which exchange and update the rows that a batch looks
        up.
        [default: as the network is usually trained]
    lora : [1] Rank of adapters that are trained instead of a transformer's own weights (LoRA, QLoRA).
    routing_nodes : [1] Most nodes that a token of a mixture of experts is sent to.
        [default: as the network routes; deepseek-v3 to 4]
    expert_imbalance : [1] Tokens of the accelerator with the fullest experts over the mean; 1 is balanced.
    capacity_factor : [1] Tokens that every expert takes over the mean; more are dropped.
        [default: none is dropped]
    lora_targets : Products with adapters: q, k, v, o, gate, up, down; also attention, mlp, all.
        [default: as the software does]
    frozen_weights : Storage of the products' frozen weights; nf4: 4 bits, expanded in every pass (QLoRA).
        [default: 16-bit]
    document_length : [tokens] Mean length of documents that are packed into sequences; attention stays inside
        each.  [default: a sequence is one document]
    document_spread : [1] Standard deviation of the documents' lengths over their mean.
    mtp_layers : [1] Modules after a decoder's last layer that predict a further token each (DeepSeek-V3).
        [default: 0, and a note where the network was published with some]
    """

    workload: Annotated[
        str, OptionInfo(label="Workload", offers="workloads", axis="computation", basic=True)
    ] = "resnet50"
    sequence_length: Annotated[Count | None, OptionInfo(axis="computation")] = None
    image_tokens: Annotated[CountFromZero | None, OptionInfo(axis="computation")] = None
    embedding: Annotated[Embedding | None, OptionInfo(label="Embedding tables", axis="computation")] = None
    lora: Annotated[Count | None, OptionInfo(label="Rank of LoRA adapters")] = None
    routing_nodes: Annotated[Count | None, OptionInfo(label="Nodes that a token is routed to")] = None
    expert_imbalance: Annotated[_Imbalance, OptionInfo(label="Imbalance of experts")] = 1.0
    capacity_factor: Annotated[_Capacity | None, OptionInfo(label="Capacity of experts")] = None
    lora_targets: Annotated[str | None, OptionInfo(label="Products with LoRA adapters", commas=True)] = None
    frozen_weights: Annotated[
        FrozenWeights | None,
        OptionInfo(label="Storage of frozen weights", synonyms=SYNONYMS["frozen_weights"]),
    ] = None
    document_length: Annotated[
        Count | None, OptionInfo(label="Length of packed documents", axis="computation")
    ] = None
    document_spread: Annotated[
        float,
        Within(ge=0, le=LARGEST_SPREAD),
        OptionInfo(label="Spread of their lengths", axis="computation"),
    ] = 0.0
    mtp_layers: Annotated[_Modules | None, OptionInfo(label="Modules for further tokens")] = None


class Machines(Described, heading="The machines"):
    """The machines that train, and the network between them.

    Parameters
    ----------
    accelerator : Accelerator, e.g. k80, v100-sxm2-16gb, h100-sxm5-80gb.
        [default: v100-sxm2-16gb, or the node's]
    world_size : [1] Accelerators in the job.
    node : Machine, e.g. dgx-1v.  [default: the accelerator's usual]
    accelerators_per_node : [1] Accelerators of a node that the job uses.  [default: all]
    host_memory : [B] Memory of each machine's host, e.g. 128GB: what lies there must fit, and samples are
        cached there.  [default: the machine's, where it is known]
    intra_link : Link between the accelerators of a node.  [default: the node's]
    inter_link : Link between nodes, e.g. ethernet-25g-tcp.  [default: the node's]
    transport : What carries bytes between nodes: plug-in, the link's own way, with its plug-in where it needs
        one; tcp, the kernel's sockets over the same adapters, as where a library finds no plug-in.
    nics : [1] Network adapters per node that carry gradients.
        [default: the node's; if the job uses a part of its accelerators, the same part of them]
    connections : [1] TCP connections between two nodes, often 1 in containers.  [default: 16; 1 to servers]
    network_cap : Whether the network limit of a rented machine applies, over its own link or another.
    oversubscription : [1] Bandwidth of a rack's nodes over bandwidth of its uplinks, e.g. 4.
    rack_nodes : [1] Nodes under one switch, with oversubscription or --algorithm multi-ring.
    placement : Order of the job's ring over the racks.
    """

    accelerator: Annotated[str | None, OptionInfo(offers="accelerators", axis="computation", basic=True)] = (
        None
    )
    world_size: Annotated[Count, OptionInfo(label="GPUs", name="gpus", axis="size", basic=True)] = 1
    node: Annotated[str | None, OptionInfo(label="Machine", offers="nodes", basic=True)] = None
    accelerators_per_node: Annotated[Count | None, OptionInfo(label="GPUs of a machine that take part")] = (
        None
    )
    host_memory: Annotated[
        _HostMemory | None, OptionInfo(label="Host memory of a machine", unit="B", axis="place")
    ] = None
    intra_link: Annotated[
        str | None, OptionInfo(label="Link inside a machine", offers="links in a node", axis="place")
    ] = None
    inter_link: Annotated[
        str | None,
        OptionInfo(label="Network between machines", offers="links between nodes", axis="place", basic=True),
    ] = None
    transport: Annotated[
        Transport, OptionInfo(label="Transport", synonyms=SYNONYMS["transport"], axis="place")
    ] = "plug-in"
    nics: Annotated[Count | None, OptionInfo(label="Network adapters per machine", axis="place")] = None
    connections: Annotated[Count | None, OptionInfo(label="TCP connections", axis="place")] = None
    network_cap: Annotated[bool, OptionInfo(label="Network limit of a machine holds", axis="place")] = True
    oversubscription: Annotated[float, OptionInfo(label="Oversubscription of racks", axis="place")] = 1.0
    rack_nodes: Annotated[Count | None, OptionInfo(label="Machines of a rack", axis="place")] = None
    placement: Annotated[Placement, OptionInfo(label="Order on the racks", axis="place")] = "contiguous"


class Layout(Described, heading="The layout of a transformer"):
    """How a network is partitioned over the accelerators.

    Parameters
    ----------
    tensor_parallel : [1] Accelerators that split every matrix product of a transformer.
    pipeline_parallel : [1] Pipeline stages that a transformer's layers are split into.
    virtual_stages : [1] Chunks of layers on each stage, interleaved.
    schedule : Order in which stages run forward and backward passes; zb, v and dualpipe compute gradients of
        weights later than those of inputs.  [default: 1f1b, interleaved where stages have several chunks]
    embedding_slots : Whether embedding and output head each count as a layer when layers are partitioned over
        stages.  [default: as the software does]
    context_parallel : [1] Accelerators that split the positions of a sequence.
    context_method : How they exchange keys and values: round a ring, during attention; gathered before it; by
        all-to-alls that leave each rank whole sequences of some heads (ulysses); or all-to-alls between
        neighbours, and a ring over these groups (nested).  [default: the software's]
    context_inner : [1] Neighbours that exchange heads in a nested exchange.
        [default: the most that key-value heads allow]
    expert_parallel : [1] Accelerators that experts are distributed over.
    expert_tensor_parallel : [1] Accelerators that split every product of an expert; expert x expert tensor
        parallelism divides a stage's accelerators.  [default: 1 or tensor parallel, as the software has it]
    sharding : What replicas shard instead of copying: optimizer states (zero1), gradients (zero2), weights
        (zero3).  [default: none, or the stack's own]
    shard_group : [1] Replicas that share one copy of sharded states, neighbours; the groups sum their
        gradients (HSDP).  [default: all replicas]
    recompute : Activations that the backward pass computes again instead of storing them.
        [default: none, or as the software does]
    micro_batch_size : [samples] Samples of one replica in one pass; a global batch size then implies the
        passes.
    """

    tensor_parallel: Annotated[Count, OptionInfo(label="Tensor parallel", axis="layout")] = 1
    pipeline_parallel: Annotated[Count, OptionInfo(label="Pipeline stages", axis="layout")] = 1
    virtual_stages: Annotated[Count, OptionInfo(label="Chunks of layers on a stage", axis="layout")] = 1
    schedule: Annotated[Schedule | None, OptionInfo(label="Schedule of the pipeline")] = None
    embedding_slots: Annotated[
        bool | None, OptionInfo(label="Embedding and head count as layers of a pipeline")
    ] = None
    context_parallel: Annotated[Count, OptionInfo(label="Context parallel", axis="layout")] = 1
    context_method: Annotated[
        ContextMethod | None, OptionInfo(label="Exchange of keys and values", axis="layout")
    ] = None
    context_inner: Annotated[
        Count | None, OptionInfo(label="Neighbours that exchange heads", axis="layout")
    ] = None
    expert_parallel: Annotated[Count, OptionInfo(label="Expert parallel", axis="layout")] = 1
    expert_tensor_parallel: Annotated[
        Count | None, OptionInfo(label="Expert tensor parallel", axis="layout")
    ] = None
    sharding: Annotated[Sharding | None, OptionInfo(synonyms=SYNONYMS["sharding"], axis="layout")] = None
    shard_group: Annotated[Count | None, OptionInfo(label="Replicas of a copy", axis="layout")] = None
    recompute: Annotated[Recompute | None, OptionInfo(synonyms=SYNONYMS["recompute"], axis="layout")] = None
    micro_batch_size: Annotated[
        Samples | None, OptionInfo(label="Micro-batch of a replica", axis="layout")
    ] = None


class Kept(Described, heading="Kernels and memory of a transformer"):
    """Kernels of a transformer, and what its memory keeps.

    Parameters
    ----------
    attention_kernel : Kernel of attention; unfused stores the scores of all pairs of positions.
        [default: the framework's]
    sequence_parallel : Whether tensor-parallel ranks share the tokens between products.
        [default: as the framework does]
    recompute_modules : Modules that selective recomputation computes again: core_attn, moe_act, layernorm,
        mla_up_proj, mlp, moe; several separated by commas.  [default: core_attn]
    loss : How logits become a loss: with copies in fp32, a part of the tokens at a time, or without storing
        them.  [default: the framework's]
    gradient_precision : Precision of gradients that are summed and sent.  [default: the framework's]
    offload : What lies in the host's memory: optimizer states, which the host then updates, activations, or
        both; weights with their gradients and optimizer states, which replicas shard by zero3 (FSDP's
        offload_params, DeepSpeed's offload_param), or all of these.  [default: nothing]
    """

    attention_kernel: Annotated[
        AttentionKernel | None,
        OptionInfo(synonyms=SYNONYMS["attention_kernel"], axis="computation"),
    ] = None
    sequence_parallel: Annotated[bool | None, OptionInfo(axis="computation")] = None
    recompute_modules: Annotated[
        str | None, OptionInfo(label="Modules computed again", commas=True, axis="computation")
    ] = None
    loss: Annotated[Loss | None, OptionInfo(synonyms=SYNONYMS["loss"], axis="computation")] = None
    gradient_precision: Annotated[GradientPrecision | None, OptionInfo(axis="computation")] = None
    offload: Annotated[Offload | None, OptionInfo(label="In the host's memory", axis="computation")] = None


class Exchange(Described, heading="The exchange of gradients"):
    """How the gradients of replicas become one update.

    Parameters
    ----------
    strategy : How gradients are combined; also ddp, dp, horovod, ps; fsdp is all-reduce with zero3.
    k : [1] Gradients that an update waits for: k-sync, k-async, k-batch-sync, k-batch-async.
        [default: half the workers]
    local_steps : [1] Steps between two averages (local-sgd), or between exchanges with the centre (elastic).
        [default: 10]
    backups : [1] Workers whose gradients an update does not wait for: backup.  [default: 1]
    servers : [1] Parameter servers, on machines of their own.  [default: 1]
    server_shards : How gradients are distributed over servers: split evenly, whole tensors in turn, whole
        tensors to the server that holds least, or only large ones split.  [default: as the framework does]
    server_node : Machine of a parameter server.  [default: that of the workers]
    local_aggregation : Whether a node sums its gradients before it sends them to a parameter server; not
        possible with asynchronous or backup workers.  [default: it does]
    algorithm : All-reduce algorithm; auto is the choice of NCCL or RCCL, or a ring without either.
    torus_dimensions : Ranks in a row x ranks in a column of the torus, e.g. 4x8, with --algorithm torus.
        [default: a node a row, or the most square]
    overlap : How gradients are exchanged during the backward pass.  [default: the framework's]
    compression : Compression of gradients: fp16, topk:0.01, randomk:0.01, qsgd:4bit, signsgd, terngrad,
        powersgd:4, onebit.
    """

    strategy: Annotated[Strategy, OptionInfo(synonyms=SYNONYMS["strategy"], basic=True)] = "all-reduce"
    k: Annotated[Count | None, OptionInfo(label="K, gradients an update waits for")] = None
    local_steps: Annotated[Count | None, OptionInfo(label="Local steps between averages")] = None
    backups: Annotated[CountFromZero | None, OptionInfo(label="Backup workers")] = None
    servers: Annotated[Count | None, OptionInfo("Parameter servers", axis="place", basic=True)] = None
    server_shards: Annotated[
        ServerShards | None, OptionInfo(label="Distribution of gradients over servers")
    ] = None
    server_node: Annotated[str | None, OptionInfo(label="Machine of a parameter server", offers="nodes")] = (
        None
    )
    local_aggregation: Annotated[
        bool, OptionInfo(label="Gradients summed in a machine before servers see them")
    ] = True
    algorithm: Annotated[Algorithm, OptionInfo(synonyms=SYNONYMS["algorithm"])] = "auto"
    torus_dimensions: Annotated[str | None, OptionInfo(label="Dimensions of the torus")] = None
    overlap: Annotated[Overlap | None, OptionInfo(synonyms=SYNONYMS["overlap"])] = None
    compression: Annotated[str | None, OptionInfo(label="Compression of gradients")] = None


class Batch(Described, heading="Batch and software"):
    """Batch size, precision, optimizer and software of a step.

    Parameters
    ----------
    precision : Arithmetic of training; of accelerators without fp16 fp32 by default.
        [default: amp; bf16 with a layout]
    local_batch_size : [samples] Samples per accelerator and micro-batch: weak scaling.
        [default: the usual one of the workload]
    global_batch_size : [samples] Samples per iteration over all accelerators: strong scaling.
    accumulation_steps : [1] Micro-batches per iteration.  [default: 1, or what the batch sizes imply]
    optimizer : Optimizer.  [default: the usual one of the workload]
    framework : Software, optionally with its year, e.g. tensorflow-xla@2020.
        [default: pytorch, or usual with a layout]
    """

    precision: Annotated[
        Precision | None, OptionInfo(synonyms=SYNONYMS["precision"], axis="computation", basic=True)
    ] = None
    local_batch_size: Annotated[
        Samples | None, OptionInfo(label="Batch per GPU (weak scaling)", axis="batch", basic=True)
    ] = None
    global_batch_size: Annotated[
        Samples | None, OptionInfo(label="Batch of the whole job (strong scaling)", axis="batch")
    ] = None
    accumulation_steps: Annotated[Count | None, OptionInfo(axis="batch")] = None
    optimizer: Annotated[Optimizer | None, OptionInfo(synonyms=SYNONYMS["optimizer"], axis="computation")] = (
        None
    )
    framework: Annotated[str | None, OptionInfo(axis="computation")] = None


class Data(Described, heading="The data"):
    """The data set, and how its samples are loaded.

    Parameters
    ----------
    input : Where samples come from.
    loader_workers : [1] Decoding workers per node.  [default: the node's cores]
    storage : Storage of the samples: local-ssd, ebs-gp2, ebs-gp3, s3, ram.  [default: local-ssd]
    dataset : Data set: imagenet, cifar10, coco, wikipedia, ...  [default: the network's own]
    dataset_samples : [samples] Samples of the training set, instead of the data set's own number.
    sample_bytes : [B] Size of a stored sample, e.g. 115kB.  [default: the data set's]
    decode_rate : [1/s] Samples per second that one loader worker decodes.
    decoder : Software that decodes images, on the processor or the accelerator.  [default: the framework's]
    prefetch_depth : [1] Batches fetched ahead of a step; 0: the training process loads each before its step.
        [default: 2]
    pinned_memory : Whether batches lie in pinned memory; copies of others are slower and block.
    non_blocking : Whether the host continues while a pinned batch is copied.
    persistent_workers : Whether loader workers outlive an epoch.
    cache : Where samples are kept after the first epoch; ram: what fits in the host's memory.
    """

    input: Annotated[Input, OptionInfo("Source of samples")] = "synthetic"
    loader_workers: Annotated[Count | None, OptionInfo(axis="place")] = None
    storage: Annotated[str | None, OptionInfo("Storage of samples")] = None
    dataset: Annotated[str | None, OptionInfo("Data set", offers="data sets", axis="data")] = None
    dataset_samples: Annotated[_Most | None, OptionInfo("Size of a data set", axis="data")] = None
    sample_bytes: Annotated[_Bytes | None, OptionInfo("Sample size", unit="B", axis="data")] = None
    decode_rate: Annotated[_Rate | None, OptionInfo(unit="1/s", axis="data")] = None
    decoder: Annotated[DecoderName | None, OptionInfo(synonyms=SYNONYMS["decoder"])] = None
    prefetch_depth: Annotated[CountFromZero | None, OptionInfo(label="Batches fetched ahead")] = None
    pinned_memory: bool = True
    non_blocking: Annotated[bool, OptionInfo(label="Copies that do not block")] = True
    persistent_workers: bool = False
    cache: Annotated[Cache, OptionInfo(synonyms=SYNONYMS["cache"])] = "none"


class Measured(Described, heading="What was measured"):
    """Measurements of this job or of its machines.

    Parameters
    ----------
    jitter : Distribution of a worker's step time: lognormal:cv=0.05, empirical:FILE, none.
    anchor : Measured time on one GPU with its share of the batch, iteration_time=0.145s@1, or on several, @8;
        of a transformer in the job's layout, except for options that follow: @512,tensor_parallel=8.
    profile : Measured profile, a file of perfmodel calibrate --trace.
    calibration : Your own runs: a CSV of them, or what perfmodel calibrate --data learned from one.
    """

    jitter: Annotated[str | None, OptionInfo("Jitter of steps", commas=True, law=True)] = None
    anchor: Annotated[str | None, OptionInfo("Measured time (anchor)", commas=True)] = None
    profile: Annotated[str | None, OptionInfo(commas=True, file=True)] = None
    calibration: Annotated[str | None, OptionInfo(commas=True, file=True)] = None
