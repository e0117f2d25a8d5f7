"""Batches of the scenarios of a group, with the times of one accelerator as arrays."""

from __future__ import annotations

import itertools
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from perfmodel.core.errors import InputError
from perfmodel.decide.sweeps.axes import PLAN, Axes
from perfmodel.hardware.catalogue.store import Catalogue
from perfmodel.model.fitted.calibration import Calibration
from perfmodel.model.options.laid_out import DataParallel
from perfmodel.model.setting.link_caveats import GENERIC_NODE
from perfmodel.model.setting.resolve import Setting, resolve
from perfmodel.model.step.computation import NEED_FORWARD, Computation
from perfmodel.model.step.parts import computation_of, whole_batch

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Array = NDArray[np.float64]

MOST_KEPT = 4096
"""Sets of batches that are cached for later groups."""


class Batches(NamedTuple):
    """Columns of shape (batches, 1); times by layer of shape (batches, 1, layers)."""

    local_batch_size: Any
    accumulation_steps: Any
    work: Computation
    baseline_local_batch_size: Any
    """Batch of the one accelerator with which speed-up is measured."""
    baseline_accumulation_steps: Any
    baseline: Computation
    alone: Computation
    """Computation of one accelerator with the same batch by itself, which holds all embedding tables."""

    def at(self, rows: slice) -> Batches:
        """Return some of the batches."""
        return Batches(*(_rows(part, rows) for part in self))


def _rows(part: Any, rows: slice) -> Any:
    """Return some rows of a column, or of all columns of a computation."""
    if not isinstance(part, Computation):
        return part[rows]
    times: tuple[Any, ...] = part
    return Computation(*(time[rows] for time in times))


class Work:
    """Times of one accelerator, each computed once for all groups."""

    def __init__(self, catalogue: Catalogue, constants: Calibration) -> None:
        self._catalogue, self._constants = catalogue, constants
        self._known: dict[Any, tuple[Batches | None, list[tuple[int, str]]]] = {}

    def batches(
        self, fixed: Mapping[str, Any], axes: Axes, world_size: int
    ) -> tuple[Batches | None, list[tuple[int, str]]]:
        """Return the batches that ``predict`` accepts for a world size, and why it refuses others.

        Parameters
        ----------
        fixed : options that the computation depends on, except the batch, and a profile
        axes : options of batches and accumulation to cross
        world_size : divides a global batch
        """
        key = (*fixed.values(), world_size)
        if key not in self._known:
            if len(self._known) >= MOST_KEPT:
                self._known.clear()
            self._known[key] = self._batches(fixed, axes, world_size)
        return self._known[key]

    def _batches(
        self, fixed: Mapping[str, Any], axes: Axes, world_size: int
    ) -> tuple[Batches | None, list[tuple[int, str]]]:
        settings: list[Setting] = []
        refused: list[tuple[int, str]] = []
        for values in itertools.product(*(axes[name] for name in PLAN)):
            batch_options = dict(zip(PLAN, values, strict=True))
            if settings and batch_options["global_batch_size"] is None:
                # a local batch changes nothing else
                settings.append(_with_batch(settings[0], batch_options))
                continue
            anywhere = {"node": GENERIC_NODE, "world_size": world_size}  # what one computes is the same
            scenario = DataParallel.model_construct(**fixed, **batch_options, **anywhere)
            try:
                settings.append(resolve(scenario, self._catalogue))
            except InputError as error:
                refused.append((1, error.note()))
        if not settings:
            return None, refused
        one = settings[0]
        batches = [(setting.local_batch_size, float(setting.accumulation_steps)) for setting in settings]
        baseline_batches = batches
        if one.scaling == "strong":
            baseline_batches = [whole_batch(setting, self._constants) for setting in settings]
        by_layer = any(overlap in NEED_FORWARD for overlap in axes["overlap"])
        work = with_own_tables = self._computation(one, batches, by_layer)
        single = one._replace(world_size=1)
        if one.workload.tables is not None:
            with_own_tables = self._computation(single, batches, by_layer)
        baseline = (
            with_own_tables
            if baseline_batches is batches
            else self._computation(single, baseline_batches, by_layer)
        )
        return Batches(
            *_columns(batches), work, *_columns(baseline_batches), baseline, with_own_tables
        ), refused

    def _computation(self, setting: Setting, batches: list[tuple[int, float]], by_layer: bool) -> Computation:
        micro, steps = _columns(batches)
        work = computation_of(setting, micro, self._constants, steps[:, 0], by_layer)
        times: tuple[Any, ...] = work
        # what no batch changes is one number, and becomes a column as well
        rows = (t if np.ndim(t) else np.full(len(batches), t) for t in times)
        return Computation(*(t[:, None] for t in rows))


def _with_batch(setting: Setting, batch_options: Mapping[str, Any]) -> Setting:
    """Return a setting with another batch."""
    steps = batch_options["accumulation_steps"] or 1
    micro = batch_options["local_batch_size"] or setting.workload.default_local_batch_size
    return setting._replace(
        local_batch_size=micro, accumulation_steps=steps, global_batch_size=micro * steps * setting.world_size
    )


def _columns(batches: list[tuple[int, float]]) -> tuple[Array, Array]:
    """Return micro-batches and their number as arrays of shape (batches, 1)."""
    micro, steps = np.array(batches, dtype=np.float64).T[:, :, None]
    return micro, steps
