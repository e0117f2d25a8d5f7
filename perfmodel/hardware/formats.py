"""Bytes of an element in each precision, and of a parameter's states under each optimizer."""

from __future__ import annotations

from typing import NamedTuple


class Format(NamedTuple):
    """Bytes per element of what training stores in a precision [B]."""

    activation_bytes: int
    gradient_bytes: int
    """Gradients as they are sent; mixed precision keeps fp32 weights and so fp32 gradients."""
    weight_copy_bytes: int
    """The second, half-precision copy of the weights."""
    lookup_bytes: int
    """Rows read from an embedding table; autocast leaves look-ups in the type of the table, fp32."""


FORMATS: dict[str, Format] = {
    "fp32": Format(4, 4, 0, 4),
    "tf32": Format(4, 4, 0, 4),
    "fp16": Format(2, 2, 2, 2),
    "amp": Format(2, 4, 2, 4),
    "bf16": Format(2, 4, 2, 4),
    # products alone take 8 or 4 bits
    "fp8": Format(2, 4, 2, 4),
    "mxfp8": Format(2, 4, 2, 4),
    "nvfp4": Format(2, 4, 2, 4),
    "mxfp4": Format(2, 4, 2, 4),
}


class Operands(NamedTuple):
    """Operands of products in a format of less than 16 bits, and how they are cast from 16 bits."""

    value_bytes: float
    """Bytes of one value [B]."""
    block: int
    """Values that share one scale; 0: those of a whole tensor."""
    scale_bytes: int
    """Bytes of the scale of a block [B]."""
    reads: int
    """Passes over the values in 16 bits: the cast, and before it a search for the largest value where a scale
    spans the tensor and is not taken from earlier steps."""
    since: int
    """Year of the first released software that trains in it."""
    wide_share: float = 0.0
    """Share of the layers whose products recipes leave in 16 bits."""

    @property
    def scale_bytes_of_value(self) -> float:
        """Bytes of scales for each value [B]."""
        return self.scale_bytes / self.block if self.block else 0.0


OPERANDS: dict[str, Operands] = {
    "fp8": Operands(1.0, 0, 4, 1, 2022),
    "mxfp8": Operands(1.0, 32, 1, 1, 2025),  # E8M0 scales
    "nvfp4": Operands(0.5, 16, 1, 2, 2025, 0.15),  # E4M3 scales of blocks, and one in fp32 of the tensor
    "mxfp4": Operands(0.5, 32, 1, 1, 2025, 0.15),
}
"""Formats of 8 and 4 bits (OCP Microscaling 1.0; Transformer Engine 2.18, low-precision training; NVIDIA,
Pretraining Large Language Models with NVFP4, arXiv:2509.25149): one-dimensional blocks along the depth of a
product; of 4 bits, the last 15 % of the network and the output head stay in 16 (sections 4.1 and 5).  Years:
Transformer Engine 0.1.0 (2022) has fp8 on H100; blocks came to it with Blackwell (2.0 and 2.8, 2025)."""


class OptimizerStates(NamedTuple):
    """Bytes per parameter that an optimizer keeps in memory, and that an update moves [B]."""

    moment_bytes: float
    """Moments of gradients kept in memory, in fp32."""
    update_bytes: int
    """Traffic of one update, clearing and summing of gradients included."""
    weight_bytes: int = 4
    """Weights kept in memory: fp32, whatever the precision of the arithmetic."""
    gradient_bytes: int = 4
    """Gradients kept in memory, in fp32."""
    row_moment_bytes: int = 0
    """``moment_bytes`` of embedding tables, where an update touches single rows."""
    row_update_bytes: int = 0
    """``update_bytes`` of a parameter of such a row."""


OPTIMIZERS: dict[str, OptimizerStates] = {
    "none": OptimizerStates(0, 0),  # forward and backward alone, as many benchmarks time them
    # with momentum, but rows of tables without, since momentum would move untouched rows too
    "sgd": OptimizerStates(4, 20, row_update_bytes=12),
    "adam": OptimizerStates(8, 28, row_moment_bytes=8, row_update_bytes=28),
    # SGD with momentum, after norms of weight and gradient, which are read once more
    "lars": OptimizerStates(4, 28, row_update_bytes=20),
    # Adam, then norms of weight and update, then the step
    # two moments of 8 bits, with a scale in fp32 for each block of 256 (Dettmers et al. 2022)
    "adam-8bit": OptimizerStates(2.03125, 17, row_moment_bytes=2, row_update_bytes=17),
    "adam-bf16": OptimizerStates(4, 20, row_moment_bytes=4, row_update_bytes=20),
    # each gradient is used and freed as soon as it is there
    "adam-in-backward": OptimizerStates(8, 20, row_moment_bytes=8, row_update_bytes=20),
    # sums over rows and over columns of second moments, without momentum (Shazeer and Stern 2018)
    "adafactor": OptimizerStates(0, 24, row_update_bytes=24),
    # one moment (Jordan et al. 2024)
    "muon": OptimizerStates(4, 20, row_moment_bytes=8, row_update_bytes=28),
    "lamb": OptimizerStates(8, 40, row_moment_bytes=8, row_update_bytes=40),
}
ADAM_MOMENTS = 2
"""Moments of Adam, in the precision of a framework's states; other optimizers keep fewer."""
SIZED = ("adam-8bit", "adam-bf16")
"""Optimizers whose moments have bytes of their own."""
GRADIENT_PASSES = 4
"""Passes over a gradient that is added to a cleared buffer: write zeros, read both, write the sum."""


def states_of(optimizer: str, form: Format, adds_gradients: bool) -> OptimizerStates:
    """Return the bytes per parameter that an optimizer keeps and moves.

    Parameters
    ----------
    optimizer : a key of ``OPTIMIZERS``
    form : format of the training precision
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
