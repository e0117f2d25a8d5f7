"""A change of options in words, for the advice and for pages."""

from collections.abc import Iterable, Mapping
from typing import Any

from perfmodel.core.units import per_cent
from perfmodel.decide.comparison.option_words import COUNTED, option_words

IN_HOST = "in host memory"
WORDS: dict[tuple[str, Any], str] = {
    ("offload", "optimizer"): f"optimizer {IN_HOST}",
    ("offload", "activations"): f"activations {IN_HOST}",
    ("offload", "both"): f"optimizer and activations {IN_HOST}",
    ("offload", "weights"): f"weights and optimizer {IN_HOST} (FSDP's offload_params)",
    ("offload", "all"): f"weights, optimizer (FSDP's offload_params) and activations {IN_HOST}",
    ("frozen_weights", "nf4"): "NF4 weights",
    ("frozen_weights", "nf4-double"): "double-quantized NF4 weights",
    ("recompute", "selective"): "selective recomputation",
    ("recompute", "full"): "full recomputation",
}
"""Options with a value -> words that say more than both names."""


def change_words(options: Mapping[str, Any]) -> str:
    """Return changed options in words, the number of GPUs first.

    >>> change_words({"tensor_parallel": 2, "world_size": 4, "local_batch_size": None})
    '4 GPUs, tensor parallel 2'
    >>> change_words({"frozen_weights": "nf4", "lora": 16})
    'NF4 weights, LoRA of rank 16'
    """
    given = {name: value for name, value in options.items() if value is not None}
    order = sorted(given, key=lambda name: name not in COUNTED)
    words = {name: WORDS.get((name, given[name])) or option_words(name, given[name]) for name in order}
    return ", ".join(f"LoRA of rank {given[name]}" if name == "lora" else words[name] for name in order)


def other_training(options: Mapping[str, Any]) -> str:
    """Return what changed options train otherwise, as a clause.

    >>> other_training({"lora": 16}), other_training({"world_size": 4, "global_batch_size": 4})
    ('it trains adapters alone', 'the batch grows')
    """
    kinds = {"lora": "it trains adapters alone", "optimizer": "it takes another optimizer"}
    kinds["sequence_length"] = "it trains on shorter sequences"
    return next((words for name, words in kinds.items() if name in options), "the batch grows")


def cost_words(slowdown: float) -> str:
    """Return GPU time for as many tokens over that of the job as it is, in words.

    >>> cost_words(0.234), cost_words(4.03), cost_words(-0.1), cost_words(-1e-16)
    ('23 % more', '5.0 x as much', '10 % less', 'as much')
    """
    if slowdown >= 1:
        return f"{1 + slowdown:.1f} x as much"
    words = per_cent(abs(slowdown), 0)
    if words == per_cent(0.0, 0):
        return "as much"
    return f"{words} {'more' if slowdown >= 0 else 'less'}"


def gpu_time_words(slowdown: float) -> str:
    """Return GPU time with a change over that without, to go before what the change is called.

    >>> gpu_time_words(0.234), gpu_time_words(4.03)
    ('23 % more GPU time than without', '5.0 x as much GPU time as without')
    """
    words = cost_words(slowdown)
    return f"{words} GPU time {'as' if words.endswith('as much') else 'than'} without"


def assumed_length(defaults: Iterable[str], trains_adapters: bool) -> str:
    """Return that the length of sequences was assumed, as a sentence; empty where it was stated.

    Published runs of QLoRA of 70 B parameters on cards of 24 GB have 512 tokens (Axolotl's
    examples/llama-3/qlora-fsdp-70b.yaml; Answer.AI, 2024-03-06: to 1,024) to 2,048 (ms-swift's
    llama2_70b_chat/qlora_fsdp), all read 2026-11-28.

    Parameters
    ----------
    defaults : options that were left to their defaults, with values
    trains_adapters : whether adapters alone are trained

    >>> assumed_length(["--precision bf16", "--sequence-length 8192"], False)
    'Samples of 8,192 tokens are assumed: state yours with --sequence-length.'
    >>> assumed_length(["--precision bf16"], True)
    ''
    """
    option = "--sequence-length "
    length = next((line.removeprefix(option) for line in defaults if line.startswith(option)), "")
    if not length:
        return ""
    usual = ", while adapters are often trained on 512 to 2,048" if trains_adapters else ""
    return f"Samples of {int(length):,} tokens are assumed{usual}: state yours with {option.strip()}."
