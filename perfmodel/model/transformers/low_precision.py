"""What operands of 8 or 4 bits change in the rates of products: traffic of casts, and depth at half rate."""

from __future__ import annotations

from typing import Any

from perfmodel.core import ops
from perfmodel.equations.low_precision import cast_traffic_bytes, half_depth_of_operands
from perfmodel.model.transformers.job import any_of
from perfmodel.model.transformers.parameters import Values
from perfmodel.model.transformers.software import Software


def cast_bytes(software: Software, p: Values) -> Any:
    """Return the traffic to cast, scale and transpose a value of an operand [B]; 0 in 16 bits.

    It is 0 as well where the kernel before writes two copies of 8 bits instead of one of 16.
    """
    if not any_of(software.narrow):
        return 0.0
    cast = cast_traffic_bytes(p["cast"], software.cast_reads, software.operand_bytes, software.scale_bytes)
    return ops.where(software.narrow, ops.where(software.fused_casts, 0.0, cast), 0.0)


def half_depth(software: Software, depth: Any) -> Any:
    """Return the depth at which a product reaches half of its rate, from that in 16 bits."""
    if not any_of(software.narrow):
        return depth
    return ops.where(software.narrow, half_depth_of_operands(depth, software.operand_bytes), depth)
