"""A scenario: a workload on some hardware under a plan.  What is left open stays None."""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Annotated, Any, ClassVar, Literal, TypeAlias

from perfmodel.errors import InputError
from perfmodel.specs.choices import (
    Algorithm,
    Cache,
    DecoderName,
    Embedding,
    Input,
    Optimizer,
    Overlap,
    Placement,
    Precision,
    ServerShards,
    Strategy,
)
from perfmodel.specs.layout import Recompute, Sharding
from perfmodel.specs.options import Described, OptionInfo, declared
from perfmodel.specs.record import Within

SYNONYMS: dict[str, dict[str, str]] = {
    "strategy": {
        "ddp": "all-reduce",
        "distributed-data-parallel": "all-reduce",
        "horovod": "all-reduce",
        "dp": "data-parallel-single-process",
        "data-parallel": "data-parallel-single-process",
        "single-process": "data-parallel-single-process",
        "ps": "parameter-server",
        "parameter-servers": "parameter-server",
        "ps-local": "parameter-server-local",
        "fully-sharded": "fsdp",
        "asynchronous": "async",
        "easgd": "elastic",
        "backup-workers": "backup",
    },
    "precision": {
        "float32": "fp32",
        "single": "fp32",
        "float16": "fp16",
        "half": "fp16",
        "bfloat16": "bf16",
        "mixed": "amp",
        "mixed-precision": "amp",
        "float8": "fp8",
    },
    "overlap": {"ddp": "bucketed", "horovod": "fused", "wait-free": "wfbp"},
    "algorithm": {
        "nccl": "auto",
        "rabenseifner": "halving-doubling",
        "sharp": "switch-tree",
        "ddl": "multi-ring",
        "gloo": "ring-chunked",
    },
    "optimizer": {"adamw": "adam", "momentum": "sgd"},
    "decoder": {"pillow": "pil", "dali": "dali-gpu", "nvjpeg": "torchvision-gpu"},
    "cache": {"memory": "ram", "page-cache": "ram"},
    "sharding": {"ddp": "none", "zero-1": "zero1", "zero-2": "zero2", "zero-3": "zero3", "fsdp": "zero3"},
    "recompute": {"full-recomputation": "full"},
}
"""Other names of values, as frameworks call them; PyTorch's DP is one process, its DDP several."""

_BATCH = {"local_batch_size", "global_batch_size"}

LARGEST_WORLD_SIZE = 1_000_000
LARGEST_BATCH_SIZE = 1_000_000_000
LARGEST_DATA_SET = 100_000_000_000
LARGEST_SAMPLE = 1e12
"""[B]"""
LARGEST_RATE = 1e9
"""[samples/s]"""

_Count = Annotated[int, Within(ge=1, le=LARGEST_WORLD_SIZE, strict=True)]
_Workers = Annotated[int, Within(ge=0, le=LARGEST_WORLD_SIZE, strict=True)]
_Samples = Annotated[int, Within(ge=1, le=LARGEST_BATCH_SIZE, strict=True)]
_Most = Annotated[int, Within(ge=1, le=LARGEST_DATA_SET, strict=True)]
_Bytes = Annotated[float, Within(gt=0, le=LARGEST_SAMPLE)]
_Rate = Annotated[float, Within(gt=0, le=LARGEST_RATE)]


class Scenario(Described):
    """A training job to predict; options are named as on the command line.

    What is left out the model takes as usual and names; ``gpus`` is another word for ``world_size``.

    It also takes ``Prediction.scenario``, which has every default filled in and gives the same answer: of
    that, ``nodes``, ``scaling`` and the batch size that the other one implies are left out.

    Parameters
    ----------
    workload : Network, or a file: .onnx, .csv, config.json.
    sequence_length : [tokens] Tokens of one sample.
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
    strategy : How gradients are combined; ddp, dp, horovod, ps are understood; fsdp is all-reduce with zero3.
    k : [1] Gradients that an update waits for: k-sync, k-async, k-batch-sync, k-batch-async.
        [default: half the workers]
    local_steps : [1] Steps between two averages, of local-sgd, or visits to the centre, of elastic.
        [default: 10]
    backups : [1] Workers whose gradients an update does without: backup.  [default: 1]
    tensor_parallel : [1] Accelerators that share every product of a transformer.
    pipeline_parallel : [1] Stages that a transformer's layers are dealt out to.
    virtual_stages : [1] Chunks of layers on each stage, interleaved.
    context_parallel : [1] Accelerators that share the positions of a sequence.
    expert_parallel : [1] Accelerators that experts are dealt out to; they divide data x context.
    sharding : What replicas share instead of copying: optimizer states (zero1), gradients (zero2), weights
        (zero3).  [default: none, or the stack's own]
    recompute : What the backward pass computes again instead of keeping it.  [default: none]
    lora : [1] Rank of adapters on all products of attention, trained instead of a transformer's own weights.
    micro_batch_size : [samples] Of one replica in one pass; with a global batch the number of passes follows.
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
    embedding : Embedding tables of a recommender: replicated, with gradients of every row summed; sharded,
        whole tables on different accelerators, which exchange and update the rows that a batch looks up.
        [default: as the network is usually trained]
    compression : How gradients are made smaller: fp16, topk:0.01, randomk:0.01, qsgd:4bit, signsgd, terngrad,
        powersgd:4, onebit.
    precision : Arithmetic of training.  [default: amp, or fp32 without fp16]
    local_batch_size : [samples] Samples per accelerator and micro-batch: weak scaling.
        [default: the network's usual]
    global_batch_size : [samples] Samples per iteration over all accelerators: strong scaling.
    accumulation_steps : [1] Micro-batches per iteration.  [default: 1, or as the batches say]
    optimizer : Optimizer.  [default: the network's usual]
    framework : Software, with its year, or the accelerator's: tensorflow-xla@2020.  [default: pytorch]
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
    jitter : Spread of a worker's time: lognormal:cv=0.05, empirical:FILE, none.
    anchor : Measured with that share of the batch on one GPU, iteration_time=0.145s@1, or on several, @8;
        of a transformer that is shared out as the job is, but for what follows: @512,tensor_parallel=8.
    profile : Your own measurement, a file of perfmodel calibrate --trace.
    calibration : What your own runs taught, a file of perfmodel calibrate --data.

    Raises
    ------
    InputError : an unknown option, or a value that does not fit it

    Examples
    --------
    >>> Scenario(workload="vgg16", gpus=8).world_size
    8
    >>> Scenario(world=8)
    Traceback (most recent call last):
    ...
    perfmodel.errors.InputError: unknown option 'world'; nearest: world_size
    """

    answered_by: ClassVar[Literal["data-parallel", "transformer"] | None] = None  # sharing.model_of decides
    workload: Annotated[
        str, OptionInfo(label="Network", offers="workloads", axis="computation", basic=True)
    ] = "resnet50"
    sequence_length: Annotated[_Count | None, OptionInfo(axis="computation", plan=True)] = None
    accelerator: Annotated[str | None, OptionInfo(offers="accelerators", axis="computation", basic=True)] = (
        None
    )
    world_size: Annotated[_Count, OptionInfo(label="GPUs", name="gpus", axis="size", basic=True)] = 1
    node: Annotated[str | None, OptionInfo(label="Machine", offers="nodes", basic=True)] = None
    accelerators_per_node: Annotated[_Count | None, OptionInfo(label="GPUs of a machine that take part")] = (
        None
    )
    intra_link: Annotated[
        str | None, OptionInfo(label="Link inside a machine", offers="links in a node", axis="place")
    ] = None
    inter_link: Annotated[
        str | None,
        OptionInfo(label="Network between machines", offers="links between nodes", axis="place", basic=True),
    ] = None
    nics: Annotated[_Count | None, OptionInfo(label="Network adapters per machine", axis="place")] = None
    connections: Annotated[_Count | None, OptionInfo(label="TCP connections", axis="place")] = None
    network_cap: Annotated[bool, OptionInfo(label="Network limit of a machine holds", axis="place")] = True
    oversubscription: Annotated[float, OptionInfo(label="Oversubscription of racks", axis="place")] = 1.0
    rack_nodes: Annotated[_Count | None, OptionInfo(label="Machines of a rack", axis="place")] = None
    placement: Annotated[Placement, OptionInfo(label="Order on the racks", axis="place")] = "contiguous"
    strategy: Annotated[Strategy, OptionInfo(synonyms=SYNONYMS["strategy"], basic=True)] = "all-reduce"
    k: Annotated[_Count | None, OptionInfo(label="K, gradients an update waits for")] = None
    local_steps: Annotated[_Count | None, OptionInfo(label="Local steps between averages")] = None
    backups: Annotated[_Workers | None, OptionInfo(label="Backup workers")] = None
    tensor_parallel: Annotated[_Count, OptionInfo(label="Tensor parallel", axis="layout")] = 1
    pipeline_parallel: Annotated[_Count, OptionInfo(label="Pipeline stages", axis="layout")] = 1
    virtual_stages: Annotated[_Count, OptionInfo(label="Chunks of layers on a stage", axis="layout")] = 1
    context_parallel: Annotated[_Count, OptionInfo(label="Context parallel", axis="layout")] = 1
    expert_parallel: Annotated[_Count, OptionInfo(label="Expert parallel", axis="layout")] = 1
    sharding: Annotated[Sharding | None, OptionInfo(synonyms=SYNONYMS["sharding"], axis="layout")] = None
    recompute: Annotated[Recompute | None, OptionInfo(synonyms=SYNONYMS["recompute"], axis="layout")] = None
    lora: Annotated[_Count | None, OptionInfo(label="Rank of LoRA adapters")] = None
    micro_batch_size: Annotated[
        _Samples | None, OptionInfo(label="Micro-batch of a replica", axis="layout")
    ] = None
    servers: Annotated[_Count | None, OptionInfo("Parameter servers", axis="place", basic=True)] = None
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
    embedding: Annotated[
        Embedding | None, OptionInfo(label="Embedding tables", axis="computation", plan=True)
    ] = None
    compression: Annotated[str | None, OptionInfo(label="Compression of gradients")] = None
    precision: Annotated[
        Precision | None, OptionInfo(synonyms=SYNONYMS["precision"], axis="computation", basic=True)
    ] = None
    local_batch_size: Annotated[
        _Samples | None, OptionInfo(label="Batch per GPU (weak scaling)", axis="batch", basic=True)
    ] = None
    global_batch_size: Annotated[
        _Samples | None, OptionInfo(label="Batch of the whole job (strong scaling)", axis="batch")
    ] = None
    accumulation_steps: Annotated[_Count | None, OptionInfo(axis="batch")] = None
    optimizer: Annotated[
        Optimizer | None, OptionInfo(synonyms=SYNONYMS["optimizer"], axis="computation", plan=True)
    ] = None
    framework: Annotated[str | None, OptionInfo(axis="computation", plan=True)] = None
    input: Annotated[Input, OptionInfo("Source of samples", plan=True)] = "synthetic"
    loader_workers: Annotated[_Count | None, OptionInfo(axis="place", plan=True)] = None
    storage: Annotated[str | None, OptionInfo("Storage of samples", plan=True)] = None
    dataset: Annotated[str | None, OptionInfo("Data set", offers="data sets", axis="data", plan=True)] = None
    dataset_samples: Annotated[_Most | None, OptionInfo("Size of a data set", axis="data", plan=True)] = None
    sample_bytes: Annotated[_Bytes | None, OptionInfo("Sample size", unit="B", axis="data", plan=True)] = None
    decode_rate: Annotated[_Rate | None, OptionInfo(unit="1/s", axis="data", plan=True)] = None
    decoder: Annotated[DecoderName | None, OptionInfo(synonyms=SYNONYMS["decoder"], plan=True)] = None
    prefetch_depth: Annotated[_Workers | None, OptionInfo(label="Batches fetched ahead", plan=True)] = None
    pinned_memory: Annotated[bool, OptionInfo(plan=True)] = True
    non_blocking: Annotated[bool, OptionInfo(label="Copies that do not block", plan=True)] = True
    persistent_workers: Annotated[bool, OptionInfo(plan=True)] = False
    cache: Annotated[Cache, OptionInfo(synonyms=SYNONYMS["cache"], plan=True)] = "none"
    jitter: Annotated[str | None, OptionInfo("Jitter of steps", commas=True, law=True, plan=True)] = None
    anchor: Annotated[str | None, OptionInfo("Measured time (anchor)", commas=True)] = None
    profile: Annotated[str | None, OptionInfo(commas=True, file=True)] = None
    calibration: Annotated[str | None, OptionInfo(commas=True, file=True, plan=True)] = None

    if TYPE_CHECKING:
        gpus: int = 1
        """Another name of ``world_size`` where a scenario is written."""
    else:

        @property
        def gpus(self):
            """Return ``world_size``."""
            return self.world_size

    def alone(self) -> "Scenario":
        """Return the scenario of a record that adds to one."""
        given = self.model_fields_set & Scenario.model_fields.keys()
        return Scenario.model_construct(**{name: self.__dict__[name] for name in given})

    @classmethod
    def below(cls, scenario: Mapping[str, Any]) -> dict[str, Any]:
        """Return what of a whole scenario, or of its file, lies below options that are given one by one."""
        return dict(scenario)

    @classmethod
    def as_written(cls, given: Mapping[str, Any]) -> dict[str, Any]:
        """Return options under the names of the fields: ``world_size`` of ``gpus``."""
        return by_field(given)

    @classmethod
    def mistake(cls, error: Any, options: Mapping[str, Any]) -> str:
        """Return what is wrong with options, the one as it was written."""
        from perfmodel.specs.mistakes import mistake

        keys = {field_of(key): key for key in options}

        def written(place: Sequence[str]) -> str:
            return ".".join(keys.get(key, key) for key in place)

        return mistake(error, cls, known=OPTIONS, kind="option", written=written)


SHORT = {one.name: one.field for one in declared(Scenario).values() if one.info.name}
"""Fields with another name in files and on the command line."""
OPTIONS = (*SHORT, *Scenario.model_fields)
"""Keys of a scenario; files may write dashes for underscores."""
AnyScenario: TypeAlias = Scenario | Mapping[str, Any]
"""A scenario, or its options by name: a table of one's own, or ``Prediction.scenario``."""


def field_of(key: str) -> str:
    """Return the field of a ``Scenario`` that a key means, if there is one of that name.

    >>> field_of("gpus"), field_of("inter-link")
    ('world_size', 'inter_link')
    """
    return SHORT.get(key) or key.replace("-", "_")


def scenario_of(asked: object) -> Scenario:
    """Return a scenario, or the one that a mapping of its options says.

    Raises
    ------
    InputError : neither of them; an unknown option, or a value that does not fit it
    """
    return asked if isinstance(asked, Scenario) else Scenario(**options_of(asked))


def options_of(asked: object) -> dict[str, Any]:
    """Return a mapping of options as it is.

    Raises
    ------
    InputError : no mapping, or one with other keys than texts
    """
    if isinstance(asked, Mapping) and all(isinstance(key, str) for key in asked):
        return dict(asked)
    raise InputError(
        f"expected a Scenario or a mapping of its options, e.g. {{'workload': 'resnet50'}}, not {asked!r:.60}"
    )


def by_field(table: Mapping[str, Any]) -> dict[str, Any]:
    """Return a table under the names of a ``Scenario``; its values are not checked.

    Of an answer's scenario, what follows from the rest of it is left out.

    Raises
    ------
    InputError : two keys that mean the same
    """
    if {"nodes", "scaling"} <= table.keys():
        implied = "local_batch_size" if table["scaling"] == "strong" else "global_batch_size"
        table = {key: value for key, value in table.items() if key not in ("nodes", "scaling", implied)}
    written: dict[str, str] = {}
    for key in table:
        if (field := field_of(key)) in written:
            raise InputError(f"{written[field]} and {key}: give one, they are the same")
        written[field] = key
    return {field: table[key] for field, key in written.items()}


def laid_over(table: Mapping[str, Any], changed: Mapping[str, Any]) -> dict[str, Any]:
    """Return the options of a table with others laid over it, each under its key as written.

    Either batch size takes the place of the other, which follows from it.

    Raises
    ------
    InputError : two keys of one table that mean the same

    >>> laid_over({"gpus": 8, "local-batch-size": 32}, {"world_size": 16, "global_batch_size": 512})
    {'world_size': 16, 'global_batch_size': 512}
    """
    replaced = set(by_field(changed))
    if replaced & _BATCH:
        replaced |= _BATCH
    kept = {field for field in by_field(table) if field not in replaced}
    return {key: value for key, value in table.items() if field_of(key) in kept} | dict(changed)
