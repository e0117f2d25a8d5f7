"""The predictions of a block of scenarios: batches crossed with placements."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from perfmodel.core.choices import ONE_PROCESS
from perfmodel.core.errors import refusal
from perfmodel.decide.sweeps.batches import Batches
from perfmodel.decide.sweeps.placements import Placements
from perfmodel.model.fitted.calibration import Calibration
from perfmodel.model.prediction.numbers import Exchange, job_of_copies, numbers
from perfmodel.model.setting.resolve import Setting
from perfmodel.model.step.computation import Computation
from perfmodel.model.step.evaluate import step_of_parts
from perfmodel.model.step.fabric import Fabric
from perfmodel.model.step.parts import (
    Exchanged,
    alone_time,
    anchor_factor,
    exchange,
    scaled,
)

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Array = NDArray[np.float64]

ONE_BY_ONE = ("optimal", "fused")
"""Overlap options that merge messages differently in each scenario."""


def answers(
    setting: Setting, batches: Batches, placements: Placements, constants: Calibration
) -> dict[str, Any]:
    """Return every number of ``predict`` by its name; arrays of shape (batches, placements).

    Some have shape (batches, 1) or (placements,), or are one number that all scenarios share.  Numbers that
    are columns only on request are functions that return them.

    Parameters
    ----------
    setting : any setting of the group, for what all share
    batches, placements : to be crossed; with an anchor all placements have the same loader workers
    constants : as for ``predict``

    Raises
    ------
    InputError : numbers so large or small that the arithmetic fails
    """
    block = _with_arrays(setting, batches, placements)
    if setting.scenario.anchor is not None:
        block = block._replace(loader_workers=placements.loader_workers[0])
    factor = anchor_factor(block, batches.alone, constants)
    work = scaled(batches.work, factor)
    exchanged = _communication(block, work, placements, constants)
    step = step_of_parts(block, work, factor, placements.fabric, exchanged, constants)
    if not (np.all(np.isfinite(step.iteration_time)) and np.all(step.iteration_time > 0)):
        raise refusal("job.not_finite")
    baseline_time = alone_time(
        block,
        scaled(batches.baseline, factor),
        batches.baseline_local_batch_size,
        batches.baseline_accumulation_steps,
        factor,
        constants,
    )
    fabric = placements.fabric
    slowest = np.where(placements.domains > 1, fabric.inter_link_bandwidth, fabric.intra_link_bandwidth)
    link_use = Exchange(placements.unseen_link, placements.least_exchange_rate, slowest)
    predicted = numbers(job_of_copies(block, step, baseline_time, link_use, constants)[0], constants)
    if block.updates is not None:
        from perfmodel.model.step.updates import update_figures

        predicted |= update_figures(block, step.iteration_time, constants)
    return predicted


def _with_arrays(setting: Setting, batches: Batches, placements: Placements) -> Setting:
    """Return a setting whose batch and machine counts are the arrays of a block."""
    batch = batches.local_batch_size * batches.accumulation_steps
    return setting._replace(
        local_batch_size=batches.local_batch_size,
        accumulation_steps=batches.accumulation_steps,
        global_batch_size=batch * placements.world_size,
        world_size=placements.world_size,
        nodes=placements.nodes,
        accelerators_per_node=placements.accelerators_per_node,
        servers=placements.servers,
        loader_workers=placements.loader_workers,
    )


def _communication(
    setting: Setting, work: Computation, placements: Placements, constants: Calibration
) -> Exchanged:
    """Return the communication of every scenario; arrays of shape (batches, placements)."""
    rows, count = work.forward_time.shape[0], len(placements.world_size)
    if setting.strategy == ONE_PROCESS:
        from perfmodel.model.step.one_process import traffic

        travelling = traffic(setting, placements.fabric).values()
        whole = np.zeros((rows, count)) + sum(travelling)
        return Exchanged(whole, whole)
    times = np.zeros((len(Exchanged._fields), rows, count))
    for link, which in kinds(setting.strategy, placements):
        subset = placements.at(which)
        with_link = setting._replace(intra_link=link)
        if setting.overlap in ONE_BY_ONE:
            result = _each_scenario(with_link, work, subset, constants)
        else:
            result = _exchange(with_link, work, subset, constants)
        for time, part in zip(times, result, strict=True):
            time[:, which] = part
    return Exchanged(*times)


def kinds(strategy: str, placements: Placements) -> list[tuple[Any, Any]]:
    """Return the groups of placements with the same link in a node and the same use of adapters."""
    sends = (placements.world_size > 1) | (strategy == "parameter-server")
    kind = np.where(sends, 2 * placements.link + (placements.domains > 1), -1)
    return [(placements.links[k // 2], np.flatnonzero(kind == k)) for k in np.unique(kind).tolist() if k >= 0]


def _exchange(
    setting: Setting, work: Computation, placements: Placements, constants: Calibration
) -> Exchanged:
    """Return the communication of all placements at once; messages are a last axis of their own."""
    across = setting._replace(
        world_size=placements.world_size[:, None],
        nodes=placements.nodes[:, None],
        accelerators_per_node=placements.accelerators_per_node[:, None],
        servers=placements.servers[:, None],
    )
    on = Fabric(*(column[:, None] for column in placements.fabric))
    return exchange(across, work, on, on, constants)


def _each_scenario(
    setting: Setting, work: Computation, placements: Placements, constants: Calibration
) -> Exchanged:
    """Return the communication of every scenario, computed one by one."""
    rows, count = work.forward_time.shape[0], len(placements.world_size)
    result = np.zeros((len(Exchanged._fields), rows, count))
    for i in range(rows):
        of_row: dict[str, Any] = {
            name: float(getattr(setting, name)[i, 0]) for name in ("accumulation_steps", "local_batch_size")
        }
        row = setting._replace(**of_row)
        for j in range(count):
            at: dict[str, Any] = {
                name: int(getattr(placements, name)[j]) for name in ("world_size", "nodes", "servers")
            }
            one = row._replace(**at, accelerators_per_node=int(placements.accelerators_per_node[j]))
            on = Fabric(*(float(column[j]) for column in placements.fabric))
            result[:, i, j] = exchange(one, _row(work, i), on, on, constants)
    return Exchanged(*result)


def _row(work: Computation, index: int) -> Computation:
    """Return the computation of one batch."""
    times: tuple[Any, ...] = work
    return Computation(*(time[index, 0] for time in times))
