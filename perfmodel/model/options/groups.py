"""The options of a training job, in groups: what every command that takes some of them shares."""

from typing import Annotated

from perfmodel.core.choices import (
    LARGEST_DATA_SET,
    LARGEST_RATE,
    LARGEST_SAMPLE,
    SYNONYMS,
    Algorithm,
    Cache,
    Count,
    CountFromZero,
    DecoderName,
    Embedding,
    Input,
    Optimizer,
    Overlap,
    Placement,
    Precision,
    Samples,
    ServerShards,
    Strategy,
)
from perfmodel.core.records.options import Described, OptionInfo
from perfmodel.core.records.record import Within
from perfmodel.model.options.layout import Recompute, Sharding

_Most = Annotated[int, Within(ge=1, le=LARGEST_DATA_SET, strict=True)]
_Bytes = Annotated[float, Within(gt=0, le=LARGEST_SAMPLE)]
_Rate = Annotated[float, Within(gt=0, le=LARGEST_RATE)]


class Network(Described, heading="The network"):
    """What is trained.

    Parameters
    ----------
    workload : Network, or a file: .onnx, .csv, config.json.
    sequence_length : [tokens] Tokens of one sample.
    embedding : Embedding tables of a recommender: replicated, with gradients of every row summed; sharded,
        whole tables on different accelerators, which exchange and update the rows that a batch looks up.
        [default: as the network is usually trained]
    lora : [1] Rank of adapters on all products of attention, trained instead of a transformer's own weights.
    """

    workload: Annotated[
        str, OptionInfo(label="Network", offers="workloads", axis="computation", basic=True)
    ] = "resnet50"
    sequence_length: Annotated[Count | None, OptionInfo(axis="computation", plan=True)] = None
    embedding: Annotated[
        Embedding | None, OptionInfo(label="Embedding tables", axis="computation", plan=True)
    ] = None
    lora: Annotated[Count | None, OptionInfo(label="Rank of LoRA adapters")] = None


class Machines(Described, heading="The machines"):
    """What it is trained on.

    Parameters
    ----------
    accelerator : Accelerator, e.g. k80, v100-sxm2-16gb, h100-sxm5-80gb.
        [default: v100-sxm2-16gb, or the node's]
    world_size : [1] Accelerators in the job.
    node : Machine, e.g. dgx-1v.  [default: the accelerator's usual]
    accelerators_per_node : [1] Accelerators of a node that take part.  [default: all]
    intra_link : Link between accelerators of a node.  [default: the node's]
    inter_link : Link between nodes, e.g. ethernet-25g-tcp.  [default: the node's]
    nics : [1] Network adapters per node that carry gradients.  [default: the node's]
    connections : [1] TCP connections between two nodes, often 1 in containers.  [default: 16; 1 to servers]
    network_cap : Whether the network limit of a rented machine holds, over its own link or another.
    oversubscription : [1] Bandwidth into a rack over bandwidth out of it, e.g. 4.
    rack_nodes : [1] Nodes under one switch, with oversubscription or --algorithm multi-ring.
    placement : How the job's ring lies on the racks.
    """

    accelerator: Annotated[str | None, OptionInfo(offers="accelerators", axis="computation", basic=True)] = (
        None
    )
    world_size: Annotated[Count, OptionInfo(label="GPUs", name="gpus", axis="size", basic=True)] = 1
    node: Annotated[str | None, OptionInfo(label="Machine", offers="nodes", basic=True)] = None
    accelerators_per_node: Annotated[Count | None, OptionInfo(label="GPUs of a machine that take part")] = (
        None
    )
    intra_link: Annotated[
        str | None, OptionInfo(label="Link inside a machine", offers="links in a node", axis="place")
    ] = None
    inter_link: Annotated[
        str | None,
        OptionInfo(label="Network between machines", offers="links between nodes", axis="place", basic=True),
    ] = None
    nics: Annotated[Count | None, OptionInfo(label="Network adapters per machine", axis="place")] = None
    connections: Annotated[Count | None, OptionInfo(label="TCP connections", axis="place")] = None
    network_cap: Annotated[bool, OptionInfo(label="Network limit of a machine holds", axis="place")] = True
    oversubscription: Annotated[float, OptionInfo(label="Oversubscription of racks", axis="place")] = 1.0
    rack_nodes: Annotated[Count | None, OptionInfo(label="Machines of a rack", axis="place")] = None
    placement: Annotated[Placement, OptionInfo(label="Order on the racks", axis="place")] = "contiguous"


class Layout(Described, heading="The layout of a transformer"):
    """Which accelerator holds which part of a network.

    Parameters
    ----------
    tensor_parallel : [1] Accelerators that share every product of a transformer.
    pipeline_parallel : [1] Stages that a transformer's layers are dealt out to.
    virtual_stages : [1] Chunks of layers on each stage, interleaved.
    context_parallel : [1] Accelerators that share the positions of a sequence.
    expert_parallel : [1] Accelerators that experts are dealt out to; they divide data x context.
    sharding : What replicas share instead of copying: optimizer states (zero1), gradients (zero2), weights
        (zero3).  [default: none, or the stack's own]
    recompute : What the backward pass computes again instead of keeping it.  [default: none]
    micro_batch_size : [samples] Of one replica in one pass; with a global batch the number of passes follows.
    """

    tensor_parallel: Annotated[Count, OptionInfo(label="Tensor parallel", axis="layout")] = 1
    pipeline_parallel: Annotated[Count, OptionInfo(label="Pipeline stages", axis="layout")] = 1
    virtual_stages: Annotated[Count, OptionInfo(label="Chunks of layers on a stage", axis="layout")] = 1
    context_parallel: Annotated[Count, OptionInfo(label="Context parallel", axis="layout")] = 1
    expert_parallel: Annotated[Count, OptionInfo(label="Expert parallel", axis="layout")] = 1
    sharding: Annotated[Sharding | None, OptionInfo(synonyms=SYNONYMS["sharding"], axis="layout")] = None
    recompute: Annotated[Recompute | None, OptionInfo(synonyms=SYNONYMS["recompute"], axis="layout")] = None
    micro_batch_size: Annotated[
        Samples | None, OptionInfo(label="Micro-batch of a replica", axis="layout")
    ] = None


class Exchange(Described, heading="The exchange of gradients"):
    """How gradients of replicas become one update.

    Parameters
    ----------
    strategy : How gradients are combined; ddp, dp, horovod, ps are understood; fsdp is all-reduce with zero3.
    k : [1] Gradients that an update waits for: k-sync, k-async, k-batch-sync, k-batch-async.
        [default: half the workers]
    local_steps : [1] Steps between two averages, of local-sgd, or visits to the centre, of elastic.
        [default: 10]
    backups : [1] Workers whose gradients an update does without: backup.  [default: 1]
    servers : [1] Parameter servers, on machines of their own.  [default: 1]
    server_shards : How gradients are dealt out to servers: split evenly, whole tensors in turn, whole tensors
        to the server that holds least, or only large ones split.  [default: as the framework does]
    server_node : Machine of a parameter server.  [default: as those that train]
    local_aggregation : Whether a node sums its gradients before a parameter server sees them; never where
        workers are out of step, or some come to nothing.  [default: it does]
    algorithm : All-reduce algorithm; auto is what NCCL or RCCL chooses, and a ring where neither runs.
    torus_dimensions : Ranks in a row x ranks in a column of the torus, e.g. 4x8, with --algorithm torus.
        [default: a node a row, or the most square]
    overlap : How gradients travel during the backward pass.  [default: as the framework does]
    compression : How gradients are made smaller: fp16, topk:0.01, randomk:0.01, qsgd:4bit, signsgd, terngrad,
        powersgd:4, onebit.
    """

    strategy: Annotated[Strategy, OptionInfo(synonyms=SYNONYMS["strategy"], basic=True)] = "all-reduce"
    k: Annotated[Count | None, OptionInfo(label="K, gradients an update waits for")] = None
    local_steps: Annotated[Count | None, OptionInfo(label="Local steps between averages")] = None
    backups: Annotated[CountFromZero | None, OptionInfo(label="Backup workers")] = None
    servers: Annotated[Count | None, OptionInfo("Parameter servers", axis="place", basic=True)] = None
    server_shards: Annotated[
        ServerShards | None, OptionInfo(label="How gradients are dealt out to servers")
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
    """How many samples a step takes, in which arithmetic, by which software.

    Parameters
    ----------
    precision : Arithmetic of training.  [default: amp, or fp32 without fp16]
    local_batch_size : [samples] Samples per accelerator and micro-batch: weak scaling.
        [default: the network's usual]
    global_batch_size : [samples] Samples per iteration over all accelerators: strong scaling.
    accumulation_steps : [1] Micro-batches per iteration.  [default: 1, or as the batches say]
    optimizer : Optimizer.  [default: the network's usual]
    framework : Software, with its year, or the accelerator's: tensorflow-xla@2020.  [default: pytorch]
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
    optimizer: Annotated[
        Optimizer | None, OptionInfo(synonyms=SYNONYMS["optimizer"], axis="computation", plan=True)
    ] = None
    framework: Annotated[str | None, OptionInfo(axis="computation", plan=True)] = None


class Data(Described, heading="The data"):
    """Where samples come from.

    Parameters
    ----------
    input : Where samples come from.
    loader_workers : [1] Decoding workers per node.  [default: the node's cores]
    storage : Where samples lie: local-ssd, ebs-gp2, ebs-gp3, s3, ram.  [default: local-ssd]
    dataset : Trained on: imagenet, cifar10, coco, wikipedia, ...  [default: the network's own]
    dataset_samples : [samples] Of a training set of your own.
    sample_bytes : [B] Of a stored sample, e.g. 115kB.  [default: as the data set has it]
    decode_rate : [1/s] Samples/s one loader worker decodes.
    decoder : What decodes images, on the processor or the accelerator.  [default: as the framework does]
    prefetch_depth : [1] Batches fetched ahead of a step; 0: the training process loads them itself, in turn.
        [default: 2]
    pinned_memory : Whether batches wait in pinned memory; the copy of others is slower, and waited for.
    non_blocking : Whether the host goes on while a pinned batch is copied.
    persistent_workers : Whether loader workers outlive an epoch.
    cache : Where samples stay once read: ram is what fits in the host's memory, epochs after the first.
    """

    input: Annotated[Input, OptionInfo("Source of samples", plan=True)] = "synthetic"
    loader_workers: Annotated[Count | None, OptionInfo(axis="place", plan=True)] = None
    storage: Annotated[str | None, OptionInfo("Storage of samples", plan=True)] = None
    dataset: Annotated[str | None, OptionInfo("Data set", offers="data sets", axis="data", plan=True)] = None
    dataset_samples: Annotated[_Most | None, OptionInfo("Size of a data set", axis="data", plan=True)] = None
    sample_bytes: Annotated[_Bytes | None, OptionInfo("Sample size", unit="B", axis="data", plan=True)] = None
    decode_rate: Annotated[_Rate | None, OptionInfo(unit="1/s", axis="data", plan=True)] = None
    decoder: Annotated[DecoderName | None, OptionInfo(synonyms=SYNONYMS["decoder"], plan=True)] = None
    prefetch_depth: Annotated[CountFromZero | None, OptionInfo(label="Batches fetched ahead", plan=True)] = (
        None
    )
    pinned_memory: Annotated[bool, OptionInfo(plan=True)] = True
    non_blocking: Annotated[bool, OptionInfo(label="Copies that do not block", plan=True)] = True
    persistent_workers: Annotated[bool, OptionInfo(plan=True)] = False
    cache: Annotated[Cache, OptionInfo(synonyms=SYNONYMS["cache"], plan=True)] = "none"


class Measured(Described, heading="What was measured"):
    """What is known of this job or of its machines.

    Parameters
    ----------
    jitter : Spread of a worker's time: lognormal:cv=0.05, empirical:FILE, none.
    anchor : Measured with that share of the batch on one GPU, iteration_time=0.145s@1, or on several, @8;
        of a transformer that is shared out as the job is, but for what follows: @512,tensor_parallel=8.
    profile : Your own measurement, a file of `perfmodel calibrate --trace`.
    calibration : What your own runs taught, a file of `perfmodel calibrate --data`.
    """

    jitter: Annotated[str | None, OptionInfo("Jitter of steps", commas=True, law=True, plan=True)] = None
    anchor: Annotated[str | None, OptionInfo("Measured time (anchor)", commas=True)] = None
    profile: Annotated[str | None, OptionInfo(commas=True, file=True)] = None
    calibration: Annotated[str | None, OptionInfo(commas=True, file=True, plan=True)] = None
