"""How frameworks that are known from data-parallel training run a transformer: as stacks."""

from __future__ import annotations

from functools import lru_cache

from perfmodel.specs.framework import Framework
from perfmodel.specs.stack import Stack

FUSED_ATTENTION_SINCE = 2023
"""PyTorch 2.0 has ``scaled_dot_product_attention``, with a kernel for every GPU."""


@lru_cache(maxsize=64)
def stack_of_framework(framework: Framework, year: int) -> Stack:
    """Return the facts of a framework's release as those of a stack."""
    in_python = framework.name.startswith("pytorch")
    if framework.name == "tensorflow-xla":
        return Stack("xla", "compiled", fused=True, activations_in_32=True)
    return Stack(
        "early" if framework.tuned_recipe else "eager",
        "eager" if in_python else "compiled",
        fused=framework.fused,
        unfused=framework.unfused_transformer,
        activations_in_32=framework.name == "tensorflow",
        flash_from=0.0 if in_python and year >= FUSED_ATTENTION_SINCE else float("inf"),
    )
