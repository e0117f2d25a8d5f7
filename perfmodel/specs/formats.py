"""Plain facts of a training plan: bytes of each precision, states of each optimizer."""

from __future__ import annotations

from typing import NamedTuple


class Format(NamedTuple):
    """How a precision stores what training keeps, in bytes an element."""

    activation_bytes: int
    gradient_bytes: int
    """As they are sent; mixed precision keeps fp32 weights and so fp32 gradients."""
    weight_copy_bytes: int
    """Of the second, half-precision copy of the weights."""


FORMATS: dict[str, Format] = {
    "fp32": Format(4, 4, 0),
    "tf32": Format(4, 4, 0),
    "fp16": Format(2, 2, 2),
    "amp": Format(2, 4, 2),
    "bf16": Format(2, 4, 2),
    "fp8": Format(2, 4, 2),  # products alone take 8 bits
}


class OptimizerStates(NamedTuple):
    """What an optimizer keeps and moves, in bytes a parameter."""

    moment_bytes: int
    """Averages of gradients kept in memory, in fp32."""
    update_bytes: int
    """Read and written by one update."""
    weight_bytes: int = 4
    """fp32, whatever the precision of the arithmetic."""
    gradient_bytes: int = 4
    """As they are kept, in fp32."""


OPTIMIZERS: dict[str, OptimizerStates] = {
    "none": OptimizerStates(0, 0),  # forward and backward alone, as many benchmarks time them
    "sgd": OptimizerStates(4, 20),  # with momentum, as these networks are trained
    "adam": OptimizerStates(8, 28),
    "lamb": OptimizerStates(8, 40),  # Adam, then norms of weight and update, then the step
}
