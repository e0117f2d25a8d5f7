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
    lookup_bytes: int
    """Of what a table's rows are read as; autocast leaves look-ups in the type of the table, fp32."""


FORMATS: dict[str, Format] = {
    "fp32": Format(4, 4, 0, 4),
    "tf32": Format(4, 4, 0, 4),
    "fp16": Format(2, 2, 2, 2),
    "amp": Format(2, 4, 2, 4),
    "bf16": Format(2, 4, 2, 4),
    "fp8": Format(2, 4, 2, 4),  # products alone take 8 bits
}


class OptimizerStates(NamedTuple):
    """What an optimizer keeps and moves, in bytes a parameter."""

    moment_bytes: int
    """Averages of gradients kept in memory, in fp32."""
    update_bytes: int
    """Read and written by one update, gradients cleared for it and added up included."""
    weight_bytes: int = 4
    """fp32, whatever the precision of the arithmetic."""
    gradient_bytes: int = 4
    """As they are kept, in fp32."""
    row_moment_bytes: int = 0
    """``moment_bytes`` of tables of which an update touches single rows."""
    row_update_bytes: int = 0
    """``update_bytes`` of such a row."""


OPTIMIZERS: dict[str, OptimizerStates] = {
    "none": OptimizerStates(0, 0),  # forward and backward alone, as many benchmarks time them
    # with momentum, as these networks are trained; rows of a table without, which would move the others too
    "sgd": OptimizerStates(4, 20, row_update_bytes=12),
    "adam": OptimizerStates(8, 28, row_moment_bytes=8, row_update_bytes=28),
    # SGD with momentum, after norms of weight and gradient, which are read once more
    "lars": OptimizerStates(4, 28, row_update_bytes=20),
    # Adam, then norms of weight and update, then the step
    "lamb": OptimizerStates(8, 40, row_moment_bytes=8, row_update_bytes=40),
}
GRADIENT_PASSES = 4
"""Over a gradient that is added to a cleared buffer: zeros written, both read, their sum written."""


def states_of(optimizer: str, form: Format, adds_gradients: bool) -> OptimizerStates:
    """Return what an optimizer keeps and moves.

    Parameters
    ----------
    optimizer : a key of ``OPTIMIZERS``
    form : of the training's numbers
    adds_gradients : whether the framework adds each gradient to a buffer that it clears

    Examples
    --------
    SGD moves 20 B a parameter, and an fp32 gradient that is cleared and added up 4 times 4 B:

    >>> states_of("sgd", FORMATS["fp32"], True).update_bytes
    36
    """
    states = OPTIMIZERS[optimizer]
    added = GRADIENT_PASSES * form.gradient_bytes if adds_gradients else 0
    return states._replace(update_bytes=states.update_bytes + added)
