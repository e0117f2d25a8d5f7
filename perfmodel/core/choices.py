"""Types of a scenario's options: the words that each takes, their synonyms, and the limits of numbers."""

from typing import Annotated, Any, Literal

from perfmodel.core.errors import refusal
from perfmodel.core.records.options import OptionInfo
from perfmodel.core.records.record import Within
from perfmodel.core.updates import UpdateStrategy

StrategyOfCopies = Literal[
    "all-reduce", "parameter-server", "parameter-server-local", "data-parallel-single-process"
]
"""How data-parallel replicas combine gradients."""
ONE_PROCESS = "data-parallel-single-process"
WITHIN_A_NODE = ("parameter-server-local", ONE_PROCESS)
"""Strategies whose accelerators share one host."""
Strategy = Literal[StrategyOfCopies, "fsdp", UpdateStrategy]
PrecisionOfCopies = Literal["fp32", "tf32", "fp16", "amp", "bf16"]
LowPrecision = Literal["fp8", "mxfp8", "nvfp4", "mxfp4"]
"""Formats of products below 16 bits, in which only transformers under a layout are known to be trained."""
Precision = Literal[PrecisionOfCopies, LowPrecision]
Overlap = Literal["none", "wfbp", "bucketed", "fused", "priority", "optimal"]
Algorithm = Literal[
    "auto",
    "best",
    "ring",
    "ring-chunked",
    "hierarchical",
    "multi-ring",
    "torus",
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
Schedule = Literal["1f1b", "interleaved", "zb-h1", "zb-h2", "zb-v", "v-half", "v-min", "dualpipe"]
ContextMethod = Literal["ring", "all-gather", "ulysses", "nested"]
ServerShards = Literal["even", "round-robin", "greedy", "large-split"]
Placement = Literal["contiguous", "random"]
Transport = Literal["plug-in", "tcp"]
"""What carries bytes over a network adapter: the link's own transport, or the kernel's TCP."""
Optimizer = Literal[
    "none",
    "sgd",
    "adam",
    "lamb",
    "lars",
    "adam-8bit",
    "adam-bf16",
    "adam-in-backward",
    "adafactor",
    "muon",
]
AttentionKernel = Literal["unfused", "flash1", "flash2", "flash3", "sdpa"]
"""Kernel of attention: one for each operation; FlashAttention 1 to 3; PyTorch's fused one."""
Loss = Literal["plain", "chunked", "fused"]
"""How logits become a loss: from copies in fp32; a part of the tokens at a time; without storing logits."""
Offload = Literal["optimizer", "activations", "both", "weights", "all"]
"""What lies in the host's memory: ``weights`` with their gradients and optimizer states, ``all`` these and
activations."""
GradientPrecision = Literal["bf16", "fp32"]
Input = Literal["synthetic", "real"]
Embedding = Literal["replicated", "sharded"]
FrozenWeights = Literal["16-bit", "nf4", "nf4-double"]
"""Storage of the weights that adapters leave as they are; ``double``: the scales are quantized too."""
DecoderName = Literal["pil", "pillow-simd", "torchvision", "torchvision-gpu", "dali-cpu", "dali-gpu"]
"""Entries of ``hardware_specs/decoders.toml``."""
Recipe = Literal["stock", "mlperf", "lars", "lamb", "tokens"]
Cache = Literal["none", "ram"]
Varied = Literal["servers", "inter-link", "nics", "gpus"]
"""Values of ``--vary``: resources of which ``enough`` reports how much a job needs."""

LARGEST_WORLD_SIZE = 1_000_000
LARGEST_BATCH_SIZE = 1_000_000_000
LARGEST_DATA_SET = 100_000_000_000
LARGEST_SAMPLE = 1e12
"""Bytes of one sample [B]."""
LARGEST_HOST = 1e15
"""Bytes of one machine's host memory [B]."""
LARGEST_IMBALANCE = 1000.0
"""Largest ratio of the fullest expert's tokens to the mean: more than the experts of any layer."""
LARGEST_SPREAD = 100.0
"""Standard deviation of lengths over their mean."""
LARGEST_RATE = 1e9
"""Samples of all workers [samples/s]."""

Count = Annotated[int, Within(ge=1, le=LARGEST_WORLD_SIZE, strict=True)]
"""A count of machines, accelerators, workers and the like, from 1."""
CountFromZero = Annotated[int, Within(ge=0, le=LARGEST_WORLD_SIZE, strict=True)]
Samples = Annotated[int, Within(ge=1, le=LARGEST_BATCH_SIZE, strict=True)]
"""Samples of a batch, from 1."""
Names = Annotated[tuple[str, ...], Within(strict=False)]
"""One or several names; pydantic also takes a list."""

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
    "optimizer": {
        "adamw": "adam",
        "momentum": "sgd",
        "adamw-8bit": "adam-8bit",
        "adam8bit": "adam-8bit",
        "adamw-bf16": "adam-bf16",
        "optimizer-in-backward": "adam-in-backward",
    },
    "attention_kernel": {"eager": "unfused", "flash": "flash2", "flash-attn": "flash2"},
    "transport": {"socket": "tcp", "sockets": "tcp", "native": "plug-in", "plugin": "plug-in"},
    "loss": {"liger": "fused"},
    "decoder": {"pillow": "pil", "dali": "dali-gpu", "nvjpeg": "torchvision-gpu"},
    "cache": {"memory": "ram", "page-cache": "ram"},
    "sharding": {"ddp": "none", "zero-1": "zero1", "zero-2": "zero2", "zero-3": "zero3", "fsdp": "zero3"},
    "recompute": {"full-recomputation": "full"},
    "pricing": {
        "ondemand": "on-demand",
        "preemptible": "spot",
        "committed-1y": "reserved-1y",
        "committed-3y": "reserved-3y",
        "cud-1y": "reserved-1y",
        "cud-3y": "reserved-3y",
        "purchase": "owned",
    },
    "frozen_weights": {"bf16": "16-bit", "fp16": "16-bit", "4-bit": "nf4", "qlora": "nf4-double"},
}
"""Option -> synonym -> the option's word, as frameworks call it; PyTorch's DP is one process, DDP several."""

RentKind = Literal["on-demand", "spot", "reserved-1y", "reserved-3y"]
"""Kinds of price at which machines are rented: by the hour, by the hour until taken back, for a term."""
PriceKind = Literal[RentKind, "owned"]
"""Kinds of price; ``owned`` is a purchase written off over the machine's life."""

MOST_JOBS = 4096
"""More processes than any machine has cores are a slip."""


def jobs_of(given: Any) -> int:
    """Return a number of processes, which for ``all`` is that of the cores.

    Raises
    ------
    InputError : neither ``all`` nor a whole number in its range

    >>> jobs_of("4")
    4
    """
    if given == "all":
        from perfmodel.core.processes import cores

        return cores()
    text = str(given)
    if not (text.isascii() and text.isdigit() and 1 <= int(text) <= MOST_JOBS):
        raise refusal("value.jobs", "jobs", given=text, most=MOST_JOBS)
    return int(text)


Jobs = Annotated[Annotated[int, Within(ge=1, le=MOST_JOBS)] | None, OptionInfo(read=jobs_of, form="N|all")]
"""Of processes that a command starts; None leaves their number to it."""
