"""Memory of one accelerator in training, as one table of rows that every listing and chart reads.

A new use of memory is one entry here: its name, its label, and the function that returns its bytes, once or
for each sample of a micro-batch.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from typing import Any, NamedTuple

import numpy as np

from perfmodel.core import ops
from perfmodel.core.choices import ONE_PROCESS
from perfmodel.equations.memory import (
    activation_memory_bytes,
    allocator_bytes,
    largest_local_batch_size,
    parameter_memory_bytes,
    training_memory_bytes,
)
from perfmodel.model.fitted.calibration import Calibration
from perfmodel.model.setting.resolve import Setting
from perfmodel.model.setting.sharing import predicts_tokens


class Row(NamedTuple):
    """One use of memory."""

    name: str
    """Key of ``Memory.rows``."""
    label: str
    """Label in listings and charts."""
    bytes: Callable[[Setting, Calibration], Any]
    """Size [B]; of a row that ``grows``, for one sample."""
    grows: bool = False
    """Whether the size is proportional to the samples of a micro-batch."""
    known: bool = False
    """Whether it is a state that options imply: kept between steps, or there before every update."""


def _weights(setting: Setting, _: Calibration) -> Any:
    return parameter_memory_bytes(setting.workload.parameters, setting.states.weight_bytes)


def _weight_copy(setting: Setting, _: Calibration) -> Any:
    return parameter_memory_bytes(setting.workload.parameters, setting.format.weight_copy_bytes)


def _gradients(setting: Setting, _: Calibration) -> Any:
    return parameter_memory_bytes(setting.workload.parameters, setting.states.gradient_bytes)


def _optimizer(setting: Setting, _: Calibration) -> Any:
    return parameter_memory_bytes(setting.workload.parameters, setting.states.moment_bytes)


def _tables(setting: Setting, _: Calibration) -> Any:
    """Return the bytes of sharded embedding tables with their moments."""
    if setting.workload.tables is None:
        return 0.0
    from perfmodel.model.step.tables import memory_bytes

    return memory_bytes(setting, setting.workload.tables)


def _activations(setting: Setting, _: Calibration) -> Any:
    """Return the bytes of the stored activations of one sample."""
    if not predicts_tokens(setting.workload):
        return setting.format.activation_bytes * setting.workload.saved_elements
    from perfmodel.model.transformers.computation import job_of_whole
    from perfmodel.model.transformers.memory import memory_of as memory_of_job

    # its software may keep no attention scores, as with a layout
    memory = memory_of_job(job_of_whole(setting, 1.0, setting.accumulation_steps))
    return memory.activations + memory.logits


def _compression_error(setting: Setting, _: Calibration) -> Any:
    """Return the bytes of the compression error, kept in fp32 for the next gradient."""
    scheme = setting.compression
    kept = scheme is not None and scheme.kind.error_feedback
    return parameter_memory_bytes(setting.workload.parameters, 4 if kept else 0)


def _whole_batch(setting: Setting, _: Calibration) -> Any:
    """Return the bytes of the others' samples on GPU 0, for one of its own."""
    if setting.strategy != ONE_PROCESS:
        return 0.0
    from perfmodel.model.step.one_process import whole_batch_bytes

    return whole_batch_bytes(setting)


def _summed_gradients(setting: Setting, _: Calibration) -> Any:
    """Return the bytes of the sum of all gradients on GPU 0."""
    if setting.strategy != ONE_PROCESS:
        return 0
    from perfmodel.model.step.one_process import summed_gradients_bytes

    return summed_gradients_bytes(setting)


def _reserved(_: Setting, constants: Calibration) -> Any:
    return constants.reserved_bytes


ROWS: dict[str, Row] = {
    row.name: row
    for row in (
        Row("weights", "weights", _weights, known=True),
        Row("weight_copy", "16-bit weights", _weight_copy),
        Row("gradients", "gradients", _gradients, known=True),
        Row("optimizer", "optimizer's moments", _optimizer, known=True),
        Row("tables", "sharded tables", _tables, known=True),
        Row("activations", "activations", _activations, grows=True),
        Row("left_out", "compression error", _compression_error, known=True),
        Row("whole_batch", "others' samples and outputs", _whole_batch, grows=True),
        Row("summed_gradients", "sum of all gradients", _summed_gradients),
        Row("reserved", "context and libraries", _reserved),
    )
}
"""Every use of memory by name; they sum to what training needs."""
FIRST_ACCELERATOR_ROWS = ("optimizer", "whole_batch", "summed_gradients")
"""Rows that only GPU 0 has if one process distributes the batch and updates the parameters there."""
ALLOCATOR = "allocator"
"""Row of the allocator's rounding and fragmentation, a share of all rows but ``reserved``."""
MORE_LABELS = {
    "logits": "logits",
    "other": "gathered layers",
    "placeholders": "placeholders of gradients",
    ALLOCATOR: "allocator's rounding and fragments",
}
"""Labels of further rows: of a transformer with a layout, and of the allocator."""


class Need(NamedTuple):
    """Memory that training needs on one accelerator; bytes are numbers, or arrays if batches are."""

    rows: dict[str, Any]
    """Bytes by the names of ``ROWS``."""
    bytes: Any
    """Sum of all rows [B]."""
    capacity: float
    """Memory that a program can use [B]."""
    largest_local_batch_size: Any
    """The largest batch that fits, a whole number; 0 if not even the model does.  With a layout a function
    that returns it."""
    largest_within: Callable[[float], Any]
    """Returns the largest batch that needs no more than so many bytes."""
    known: Callable[[Collection[str]], Any]
    """Returns the bytes of states that options imply, given the names of those left to their defaults."""
    host_bytes: Any = 0.0
    """Of the memory of each machine's host, which ``--offload`` uses [B]."""
    host_capacity: float | None = None
    """Of the host of a machine [B]; None: not known."""
    host_known: Any = 0.0
    """Of ``host_bytes`` states, which options imply [B]."""

    @property
    def lacks_host(self) -> Any:
        """Whether the host has less memory than is needed, as far as that is known."""
        return False if self.host_capacity is None else self.host_bytes > self.host_capacity

    @property
    def fits(self) -> Any:
        """Whether the need is at most the capacity, of the accelerator and of its host."""
        return ops.where(self.lacks_host, False, self.bytes <= self.capacity)


def known_bytes(rows: Mapping[str, Any]) -> Any:
    """Return the bytes of a data-parallel job's states, which its options imply [B].

    Parameters
    ----------
    rows : bytes by the names of ``ROWS``

    >>> known_bytes({"weights": 4.0, "optimizer": 8.0, "activations": 9.0})
    12.0
    """
    return sum(size for name, size in rows.items() if name in ROWS and ROWS[name].known)


def memory_of(setting: Setting, constants: Calibration) -> Need:
    """Return the memory that training needs on the fullest accelerator."""
    rows: dict[str, Any] = {}
    fixed: Any = 0.0
    each_sample: Any = 0.0
    for name, _, size_of, grows, _ in ROWS.values():
        size = size_of(setting, constants)
        if grows:
            each_sample += size
            size = activation_memory_bytes(setting.local_batch_size, size)
        else:
            fixed += size
        rows[name] = size
    share = constants.allocator_share
    rows[ALLOCATOR] = allocator_bytes(sum(rows.values()) - rows["reserved"], share)
    fixed += allocator_bytes(fixed - rows["reserved"], share)
    each_sample += allocator_bytes(each_sample, share)
    capacity = setting.accelerator.memory_capacity

    def largest_within(size: float) -> Any:
        # a table of layers may lack activations
        largest = largest_local_batch_size(size, fixed, ops.maximum(each_sample, 1.0))
        return largest if isinstance(largest, np.ndarray) else int(ops.plain(largest))

    largest, known = largest_within(capacity), known_bytes(rows)
    return Need(rows, training_memory_bytes(**rows), capacity, largest, largest_within, lambda _: known)


def other_accelerators_rows(setting: Setting, rows: Mapping[str, Any]) -> dict[str, Any] | None:
    """Return the rows of the accelerators other than the first; None if all have the same."""
    if setting.strategy != ONE_PROCESS or setting.world_size == 1 or not setting.framework.python_replicas:
        return None
    others = {name: 0.0 if name in FIRST_ACCELERATOR_ROWS else size for name, size in rows.items()}
    mine, theirs = (sum(each.values()) - each[ALLOCATOR] - each["reserved"] for each in (rows, others))
    return others | {ALLOCATOR: rows[ALLOCATOR] * theirs / mine}


def listed(rows: Mapping[str, float]) -> list[tuple[str, float]]:
    """Return label and bytes of the rows that are not empty, the largest first.

    >>> listed({"weights": 4.0, "weight_copy": 0.0, "activations": 9.0})
    [('activations', 9.0), ('weights', 4.0)]
    """
    labels = MORE_LABELS | {row.name: row.label for row in ROWS.values()}
    return sorted(((labels[name], size) for name, size in rows.items() if size), key=lambda row: -row[1])
