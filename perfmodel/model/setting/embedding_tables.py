"""Sharded embedding tables of recommenders: separated from the layers that every accelerator computes."""

from __future__ import annotations

from dataclasses import replace
from functools import lru_cache

import numpy as np

from perfmodel.core.choices import Embedding
from perfmodel.core.errors import refusal
from perfmodel.core.problem import Note, default
from perfmodel.model.options.scenario import Scenario
from perfmodel.workloads.workload import Layer, Tables, Workload

FAMILIES = ("recommender", "custom")
"""Families of networks whose embedding tables can be sharded; word embeddings of transformers cannot."""
LOOKUPS = "tables"
"""Name of the one layer of all look-ups."""
TRAFFIC = 2
"""Elements moved over elements looked up: each is read and written."""


def _is_table(layer: Layer) -> bool:
    """Return whether a layer is an embedding table."""
    return layer.kind == "embedding" and layer.parameters > 0


def usual_embedding(workload: Workload, strategy: str) -> Embedding:
    """Return the default of ``embedding``: sharded for recommenders that usually are, with all-reduce."""
    return "sharded" if workload.shares_tables and strategy == "all-reduce" else "replicated"


def has_tables(workload: Workload) -> bool:
    """Whether a network has tables that can be sharded."""
    return workload.family in FAMILIES and any(_is_table(layer) for layer in workload.layers)


def with_embedding(
    workload: Workload, scenario: Scenario, defaults: list[Note], warnings: list[str]
) -> Workload:
    """Return a workload with sharded tables separated from its layers; unchanged if tables are replicated.

    Parameters
    ----------
    workload : with its tables among its layers
    scenario : with the options ``embedding``, ``strategy`` and ``world_size``
    defaults, warnings : lists to which the default taken, and a warning of accelerators without tables, are
        added

    Raises
    ------
    InputError : sharded tables of a network without any, or with a strategy other than all-reduce
    """
    embedding = scenario.embedding
    if embedding is None:
        embedding = usual_embedding(workload, scenario.strategy)
        if has_tables(workload):
            defaults.append(default("embedding", embedding))
    if embedding == "replicated":
        return workload
    if not has_tables(workload):
        raise refusal("tables.none", workload=workload.id)
    if scenario.strategy != "all-reduce":
        raise refusal("tables.strategy", strategy=scenario.strategy)
    apart = tables_apart(workload)
    if apart.tables is not None and scenario.world_size > (count := int(apart.tables.number)):
        warnings.append(
            f"{count} tables stay whole, so {scenario.world_size - count} of {scenario.world_size} GPUs "
            f"hold none, and the others look them up for all"
        )
    return apart


def _looked_up_at_once(lookups: list[Layer]) -> Layer:
    """Return one layer for the look-ups of all tables, since trainers fuse those of one device.

    So do NVIDIA's DLRM (``joint_sparse``) and TorchRec (batched tables of FBGEMM).
    """
    sums = {
        name: sum(getattr(layer, name) for layer in lookups)
        for name in ("forward_elements", "backward_elements", "saved_elements")
    }
    return lookups[0]._replace(name=LOOKUPS, tensors=(), **sums)


@lru_cache(maxsize=64)
def tables_apart(workload: Workload) -> Workload:
    """Return a workload whose tables are separate from its layers and looked up by one kernel.

    Raises
    ------
    InputError : the network has no parameters besides its tables
    """
    lookups = [layer for layer in workload.layers if _is_table(layer)]
    first = workload.layers.index(lookups[0])
    before, after = (
        tuple(layer for layer in part if not _is_table(layer))
        for part in (workload.layers[:first], workload.layers[first:])
    )
    layers = (*before, _looked_up_at_once(lookups), *after)
    if not any(layer.tensors for layer in layers):
        raise refusal("tables.alone", workload=workload.id)
    tables = Tables(
        np.array([layer.parameters for layer in lookups], dtype=np.float64),
        np.array([layer.forward_elements / TRAFFIC for layer in lookups]),
    )
    return replace(workload, layers=layers, tables=tables)
