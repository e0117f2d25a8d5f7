"""Many layouts of one network on one fabric; equal groups and layers are computed once."""

from __future__ import annotations

from typing import Any

import numpy as np

from perfmodel.model.options.layout import ZERO_3, Layout
from perfmodel.model.transformers.job import Case, Job, bare_job, job_of, rows
from perfmodel.model.transformers.layer import Layer, layer_alone, rates_of
from perfmodel.model.transformers.machine import groups_of_many
from perfmodel.model.transformers.paired import layer_of, with_overlap
from perfmodel.model.transformers.parameters import Values, fitted
from perfmodel.model.transformers.step import Step, step_of

MOST_KEYS = 2**62
"""Largest number of distinct rows that one whole number can encode."""


def distinct(*columns: Any) -> tuple[Any, Any]:
    """Return the index of the first of each distinct row, and for every row the index of its distinct row.

    Parameters
    ----------
    columns : whole numbers, shape (rows,), or a scalar that all rows share

    >>> first, which = distinct(np.array([8, 4, 8]), 1, np.array([2, 2, 2]))
    >>> first.tolist(), which.tolist()
    ([1, 0], [1, 0, 1])
    """
    arrays = [np.asarray(column).astype(np.int64) for column in columns if np.ndim(column)]
    if any(not len(column) for column in arrays):  # no layouts
        return np.zeros(0, np.intp), np.zeros(0, np.intp)
    key, count = np.zeros(1, np.int64), 1
    for column in arrays:
        least = int(column.min())
        span = int(column.max()) - least + 1
        count *= span
        if count > MOST_KEYS:
            every = np.arange(len(column))
            return every, every
        key = key * span + (column - least)
    _, first, which = np.unique(key, return_index=True, return_inverse=True)
    return first, which.reshape(-1)


def job_of_many(case: Case) -> Job:
    """Return the job of many layouts; costs of equal groups are computed once."""
    at: Layout = case.layout
    first, which = distinct(
        at.tensor_parallel,
        at.pipeline_parallel,
        at.context_parallel,
        at.expert_parallel,
        at.expert_tensor_parallel,
        at.data_parallel,
        at.context_inner,
        at.shard_group,
    )
    few = groups_of_many(case.fabric, rows(at, first))
    return bare_job(case, rows(few, which))


def layers_of_many(job: Job, p: Values) -> Layer:
    """Return the layers of many jobs; equal ones are timed once.

    Assumes that full recomputation applies to all layers or to none.
    """
    at: Layout = job.layout
    first, which = distinct(
        at.tensor_parallel,
        at.context_parallel,
        at.expert_parallel,
        at.expert_tensor_parallel,
        at.virtual_stages > 1,
        at.sharding == ZERO_3,
        at.recompute,
        at.micro_batch_size,
        at.context_method,
        at.context_inner,
    )
    few: Job = rows(job, first)
    layers = rows(layer_alone(few, p, rates_of(few, p)), which)
    return with_overlap(job, p, layers)


def step_of_many(job: Job, p: Values) -> Step:
    """Return the terms of many steps; equal layers are timed once, as by ``layers_of_many``."""
    return step_of(job, p, layers_of_many(job, p))


def evaluated(case: Case, layer: Layer | None = None) -> tuple[Job, Step, Layer | None]:
    """Return job, step and layer of a layout; for many layouts arrays, and None for the layer.

    Parameters
    ----------
    case : with one layout, or many as arrays
    layer : of the single layout, if already computed
    """
    p = fitted().parameters
    if any(isinstance(column, np.ndarray) for column in case.layout):
        many = job_of_many(case)
        return many, step_of_many(many, p), None
    job = job_of(case)
    layer = layer_of(job, p, rates_of(job, p)) if layer is None else layer
    return job, step_of(job, p, layer), layer
