"""The columns of a sweep's table: names, types and units, and the columns of a block."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np

from perfmodel.core.records.options import declared
from perfmodel.core.vocabulary import QUANTITIES
from perfmodel.model.options.scenario import Scenario
from perfmodel.model.step.terms import Job, names_of, only_of

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from perfmodel.model.setting.resolve import Setting

Block: TypeAlias = Callable[[], dict[str, Any]]
"""Function that predicts some scenarios of a sweep: columns by name."""
Columns: TypeAlias = dict[str, "NDArray[Any]"]
"""A table as one array per column, all of the same length."""

ALWAYS = (
    "workload",
    "accelerator",
    "node",
    "world_size",
    "strategy",
    "precision",
    "local_batch_size",
    "global_batch_size",
)
"""Options that are always columns."""
WHOLE = ("world_size", "nodes", "local_batch_size", "global_batch_size", "accumulation_steps")
ANSWERS = (
    "model",
    "nodes",
    "scaling",
    "iteration_time",
    "low_80",
    "high_80",
    "low_95",
    "high_95",
    "clipped_at",
    "samples_per_second",
    "tokens_per_second",
    "speedup",
    "scaling_efficiency",
    "baseline_time",
    "communication_time",
    "communication_overhead",
    "epoch_time",
    "mfu",
    "mfu_nominal",
    "memory_bytes",
    "memory_capacity",
    "fits",
    "largest_local_batch_size",
)
"""Results of ``predict`` that are a number or a word, by the same names; without the terms."""
WHERE_NAMED = ("startup_time", "epoch_start_time", "memory_known")
"""Results that are columns only on request, as they are not part of an iteration, or
bytes of ``memory_bytes``."""
UPDATES = ("updates_per_second", "gradients_per_update", "mean_staleness", "fresh_fraction")
"""Results of strategies that do not update synchronously."""

_UNITS = {
    "_time": "s",
    "_80": "s",
    "_95": "s",
    "clipped_at": "s",
    "_overhead": "1",
    "_per_second": "1/s",
    "_capacity": "B",
    "_known": "B",
    "_batch_size": "samples",
}
"""Units of results that are not in the vocabulary, by the ending of their names."""


def answer_columns(shared: bool = False, updates: bool = False, one_process: bool = False) -> tuple[str, ...]:
    """Return the names of all results; the terms follow the iteration time they sum to.

    Parameters
    ----------
    shared : whether some scenarios have a layout, which has terms of its own
    updates : whether some strategies do not update synchronously
    one_process : whether one process drives all accelerators in some scenarios
    """
    first = ANSWERS.index("iteration_time") + 1
    jobs: dict[Job, bool] = {"replicas": True, "layout": shared, "one process": one_process}
    terms = names_of(*(job for job, is_there in jobs.items() if is_there))
    return (*ANSWERS[:first], *terms, *ANSWERS[first:], *(UPDATES if updates else ()))


def flat_columns(block: Block, columns: tuple[str, ...]) -> Columns:
    """Predict a block and return every column with one value per scenario."""
    report = block()
    shape = report["iteration_time"].shape
    # terms that another strategy has nothing of
    report = dict.fromkeys((*only_of("replicas"), *only_of("one process")), 0.0) | report
    return {name: _column(name, report.get(name), shape) for name in columns}


def _column(name: str, values: Any, shape: tuple[int, ...]) -> NDArray[Any]:
    """Return a column of a block with one value per scenario."""
    size = shape[0] * shape[1]
    if callable(values):
        values = values()
    if isinstance(values, np.ndarray):
        column = values if values.shape == shape else np.broadcast_to(values, shape)
        column = column.reshape(size)
        return column.astype(np.int64) if name in WHOLE else column
    if isinstance(values, (int, float)) and not isinstance(values, bool):
        return np.full(size, values)
    if values is None and name in answer_columns(shared=True, updates=True, one_process=True):
        return np.full(size, np.nan)
    texts = np.empty(size, dtype=object)
    texts.fill(values)
    return texts


def unit_of(column: str) -> str:
    """Return the unit of a column: of its option, its quantity, or the ending of its name; empty for a text.

    >>> unit_of("sample_bytes"), unit_of("low_80"), unit_of("speedup"), unit_of("workload")
    ('B', 's', '1', '')
    """
    if column in declared(Scenario):
        return declared(Scenario)[column].unit
    if column in QUANTITIES:
        return QUANTITIES[column].unit
    return next((unit for ending, unit in _UNITS.items() if column.endswith(ending)), "")


def words_of(setting: Setting) -> dict[str, str]:
    """Return the texts that all scenarios of a block share, by column."""
    return {
        "accelerator": setting.accelerator.id,
        "node": setting.node.id,
        "precision": setting.precision,
        "optimizer": setting.optimizer,
        "scaling": setting.scaling,
        "model": "data-parallel" if setting.layout is None else "transformer",
    }
