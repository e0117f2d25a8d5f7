"""What a person asks: a workload on some hardware, under a plan.  What is not said stays None."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any, Literal, get_args

from pydantic import BaseModel, BeforeValidator, Field, model_validator

from perfmodel.errors import InputError
from perfmodel.specs.names import NONE, word_of
from perfmodel.units import parse

Strategy = Literal["all-reduce", "parameter-server", "parameter-server-local", "data-parallel-single-process"]
Precision = Literal["fp32", "tf32", "fp16", "amp", "bf16"]
Overlap = Literal["none", "wfbp", "bucketed", "fused", "priority", "optimal"]
Algorithm = Literal[
    "auto",
    "best",
    "ring",
    "hierarchical",
    "tree",
    "leader",
    "recursive-doubling",
    "halving-doubling",
    "reduce-broadcast",
    "exchange",
    "hub",
    "nvls",
    "nvls-tree",
    "switch-tree",
]
ServerShards = Literal["even", "round-robin", "greedy", "large-split"]
Placement = Literal["contiguous", "random"]
Optimizer = Literal["none", "sgd", "adam", "lamb"]
Input = Literal["synthetic", "real"]

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
    },
    "precision": {
        "float32": "fp32",
        "single": "fp32",
        "float16": "fp16",
        "half": "fp16",
        "bfloat16": "bf16",
        "mixed": "amp",
        "mixed-precision": "amp",
    },
    "overlap": {"ddp": "bucketed", "horovod": "fused", "wait-free": "wfbp"},
    "algorithm": {"nccl": "auto", "rabenseifner": "halving-doubling", "sharp": "switch-tree"},
    "optimizer": {"adamw": "adam", "momentum": "sgd"},
}
"""Words of frameworks and libraries for values of an option; PyTorch's DP is one process, its DDP many."""
SHORT = {"gpus": "world_size"}
"""What a field is called where people write."""

LARGEST_WORLD_SIZE = 1_000_000

LARGEST_BATCH_SIZE = 1_000_000_000

LARGEST_DATA_SET = 100_000_000_000
LARGEST_SAMPLE = 1e12
"""[B]"""
LARGEST_RATE = 1e9
"""[samples/s]"""

_Count = Annotated[int, Field(ge=1, le=LARGEST_WORLD_SIZE, strict=True)]
_Samples = Annotated[int, Field(ge=1, le=LARGEST_BATCH_SIZE, strict=True)]
_Most = Annotated[int, Field(ge=1, le=LARGEST_DATA_SET, strict=True)]


def _in_unit(unit: str) -> BeforeValidator:
    """A check that reads a text such as ``115kB`` as the number it means."""
    return BeforeValidator(lambda value: parse(value, unit) if isinstance(value, str) else value)


def _words(field: str, literal: Any) -> BeforeValidator:
    """A check that takes a word of the field in any spelling, or a synonym, as the field has it."""
    known, synonyms = get_args(literal), SYNONYMS.get(field, NONE)
    return BeforeValidator(lambda value: word_of(value, known, synonyms) if isinstance(value, str) else value)


class Scenario(BaseModel, frozen=True, extra="forbid", defer_build=True):
    """One question; the words are the command line's.

    It also takes ``Prediction.scenario``, which has every default filled in and gives the same answer: of
    that, ``nodes``, ``scaling`` and the batch size that the other one implies are left out.
    """

    workload: str = "resnet50"
    """A built-in network, or a file that describes one."""
    accelerator: str | None = None
    world_size: _Count = 1
    """Accelerators in the job; ``--gpus`` on the command line."""
    node: str | None = None
    """The machine; by default the one the accelerator is usually sold in."""
    accelerators_per_node: _Count | None = None
    """Accelerators of a node that take part; by default all it has."""
    intra_link: str | None = None
    """Link between the accelerators of a node."""
    inter_link: str | None = None
    """Link between nodes, one adapter."""
    nics: _Count | None = None
    """Adapters per node that carry gradients."""
    connections: _Count | None = None
    """TCP connections between two machines, each of which a provider may limit; by default NCCL's 16 in the
    cloud, one for a parameter server."""
    oversubscription: float = 1.0
    """Bandwidth into a rack over bandwidth out of it; 1 is a full fat tree."""
    rack_nodes: _Count | None = None
    """Nodes under one switch; needed where the network is oversubscribed."""
    placement: Annotated[Placement, _words("placement", Placement)] = "contiguous"
    """How the job's ring lies on the racks."""
    strategy: Annotated[Strategy, _words("strategy", Strategy)] = "all-reduce"
    servers: _Count | None = None
    """Parameter servers, on machines of their own."""
    server_shards: ServerShards | None = None
    """How gradients are dealt out to the servers: split evenly; whole tensors in turn; whole tensors, each to
    the server that holds least; or only large tensors split.  By default as the framework does it."""
    server_node: str | None = None
    """The machine of a parameter server; by default one like those that train."""
    local_aggregation: bool = True
    """Whether a node sums its own gradients before it talks to a parameter server."""
    algorithm: Annotated[Algorithm, _words("algorithm", Algorithm)] = "auto"
    """Of an all-reduce; ``auto`` is what NCCL or RCCL chooses, and a ring where neither runs."""
    overlap: Annotated[Overlap, _words("overlap", Overlap)] | None = None
    """How gradients travel during the backward pass."""
    precision: Annotated[Precision, _words("precision", Precision)] | None = None
    local_batch_size: _Samples | None = None
    """Samples per accelerator and micro-batch; says weak scaling."""
    global_batch_size: _Samples | None = None
    """Samples per iteration over all accelerators; says strong scaling."""
    accumulation_steps: _Count = 1
    sequence_length: _Count | None = None
    optimizer: Annotated[Optimizer, _words("optimizer", Optimizer)] | None = None
    framework: str | None = None
    """The software, with its year: ``pytorch``, ``tensorflow-xla@2020``; without one, the year in which the
    accelerator is usually trained on."""
    input: Annotated[Input, _words("input", Input)] = "synthetic"
    loader_workers: _Count | None = None
    """Decoding workers per node."""
    storage: str | None = None
    """Where the samples lie: local-ssd, ebs-gp2, s3, ..."""
    dataset: str | None = None
    """What is trained on: imagenet, cifar10, coco, wikipedia, ...; by default the network's own."""
    dataset_samples: _Most | None = None
    """Of the training set, where it is nobody's but yours."""
    sample_bytes: Annotated[float, _in_unit("B"), Field(gt=0, le=LARGEST_SAMPLE)] | None = None
    """Of one sample as it is stored [B]."""
    decode_rate: Annotated[float, _in_unit("1/s"), Field(gt=0, le=LARGEST_RATE)] | None = None
    """Samples per second that one loader worker decodes."""
    jitter: str | None = None
    """How one worker's time spreads around its mean: ``lognormal:cv=0.05``, ``empirical:FILE``, ``none``."""
    anchor: str | None = None
    """A measurement to start from, e.g. ``iteration_time=0.145s@1``."""
    profile: str | None = None
    """A file of ``perfmodel calibrate --trace``: what was measured takes the place of the model's own."""

    @model_validator(mode="before")
    @classmethod
    def _as_written(cls, given: Any) -> Any:
        """Name each field, and leave out of an answer's scenario what follows from the rest of it."""
        if not isinstance(given, Mapping):
            return given
        if {"nodes", "scaling"} <= given.keys():
            implied = "local_batch_size" if given["scaling"] == "strong" else "global_batch_size"
            given = {key: value for key, value in given.items() if key not in ("nodes", "scaling", implied)}
        return by_field(given)


def field_of(key: str) -> str:
    """Return the field of a ``Scenario`` that a key means, if there is one of that name.

    >>> field_of("gpus"), field_of("inter-link")
    ('world_size', 'inter_link')
    """
    return SHORT.get(key) or key.replace("-", "_")


def by_field(table: Mapping[str, Any]) -> dict[str, Any]:
    """Return a table under the names of a ``Scenario``; its values are not checked.

    Raises
    ------
    InputError : two keys that mean the same
    """
    written: dict[str, str] = {}
    for key in table:
        if (field := field_of(key)) in written:
            raise InputError(f"{written[field]} and {key}: give one, they are the same")
        written[field] = key
    return {field: table[key] for field, key in written.items()}
