"""The words that options of a scenario take, as types."""

from typing import Literal

from perfmodel.specs.updates import UpdateStrategy

StrategyOfCopies = Literal[
    "all-reduce", "parameter-server", "parameter-server-local", "data-parallel-single-process"
]
"""How copies of a whole network combine gradients."""
ONE_PROCESS = "data-parallel-single-process"
WITHIN_A_NODE = ("parameter-server-local", ONE_PROCESS)
"""Strategies whose accelerators share one host."""
Strategy = Literal[StrategyOfCopies, "fsdp", UpdateStrategy]
PrecisionOfCopies = Literal["fp32", "tf32", "fp16", "amp", "bf16"]
Precision = Literal[PrecisionOfCopies, "fp8"]
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
ServerShards = Literal["even", "round-robin", "greedy", "large-split"]
Placement = Literal["contiguous", "random"]
Optimizer = Literal["none", "sgd", "adam", "lamb", "lars"]
Input = Literal["synthetic", "real"]
Embedding = Literal["replicated", "sharded"]
DecoderName = Literal["pil", "pillow-simd", "torchvision", "torchvision-gpu", "dali-cpu", "dali-gpu"]
"""Entries of ``hardware_specs/decoders.toml``."""
Cache = Literal["none", "ram"]
