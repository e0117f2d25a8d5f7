"""Changes that make a layout fit into memory, the fastest result first."""

from __future__ import annotations

from itertools import combinations
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from perfmodel.model.options.layout import Layout
from perfmodel.model.transformers.layout_words import one_word

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Array = NDArray[np.float64]
    Flags = NDArray[np.bool_]

_OF_REPLICAS = ("data_parallel", "accumulation_steps", "shard_group")
COMPENSATES = {
    "recompute": ("recompute", "recomputed_layers"),
    "sharding": ("sharding", "shard_group"),
    "micro_batch_size": ("micro_batch_size", "accumulation_steps"),
    "expert_parallel": ("expert_parallel",),
    "expert_tensor_parallel": ("expert_tensor_parallel",),
    "context_parallel": ("context_parallel", "context_inner", *_OF_REPLICAS),
    "tensor_parallel": ("tensor_parallel", "context_inner", *_OF_REPLICAS),
    "pipeline_parallel": ("pipeline_parallel", "virtual_stages", *_OF_REPLICAS),
}
"""Option to change -> options that change with it, for the same batch on the same accelerators."""


class Remedy(NamedTuple):
    """A change that makes a layout fit."""

    words: str
    """``recompute full``, ``zero1``, ``pipeline 2``, or several joined by ``+``."""
    row: int
    """Row of the changed layout."""


def remedies_of(layouts: Layout, times: Array, fits: Flags, row: int) -> list[Remedy]:
    """Return the single changes that make one layout fit, or pairs if none does, the fastest first.

    Parameters
    ----------
    layouts : shape (layouts,) each
    times : of a step of each [s]
    fits : whether each fits
    row : of the layout that does not fit
    """
    own = layouts._asdict()
    same = {name: column == column[row] for name, column in own.items()}
    for count in (1, 2):
        remedies = [
            remedy
            for changes in combinations(COMPENSATES, count)
            if (remedy := _fastest(layouts, times, fits, same, changes, row)) is not None
        ]
        if remedies:
            return sorted(remedies, key=lambda each: float(times[each.row]))
    return []


def _fastest(
    layouts: Layout,
    times: Array,
    fits: Flags,
    same: dict[str, Flags],
    changes: tuple[str, ...],
    row: int,
) -> Remedy | None:
    """Return the fastest layout that fits and differs from ``row`` in exactly the given changes."""
    free = {name for change in changes for name in COMPENSATES[change]}
    able = fits.copy()
    for name, alike in same.items():
        if name not in free:
            able &= alike
    for change in changes:
        able &= ~same[change]
    if not able.any():
        return None
    best = int(np.argmin(np.where(able, times, np.inf)))
    return Remedy(" + ".join(one_word(change, getattr(layouts, change)[best]) for change in changes), best)
