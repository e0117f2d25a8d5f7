"""Memory of a job, data-parallel or with a layout, and whether it fits."""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING, Any

from perfmodel.core import ops
from perfmodel.model.fitted.calibration import Calibration
from perfmodel.model.prediction.intervals.absurd import checked
from perfmodel.model.prediction.memory_odds import odds_of, stated_odds, sure_need
from perfmodel.model.prediction.open_options import not_stated
from perfmodel.model.prediction.result import DeviceMemory, Memory
from perfmodel.model.setting.resolve import Setting
from perfmodel.model.step.memory import Need, memory_of, other_accelerators_rows

if TYPE_CHECKING:
    from perfmodel.model.transformers.job import Job

MANY = 2.0**16
"""A micro-batch so large that activations exceed gradients [samples]."""


def need_of(setting: Setting, constants: Calibration, job: Job | None = None) -> Need:
    """Return the memory need of the fullest accelerator, numbers or arrays.

    Parameters
    ----------
    setting, constants : of the job
    job : of its layout, or of many as arrays, if already computed
    """
    if setting.layout is None:
        return memory_of(setting, constants)
    from perfmodel.model.transformers.evaluate import case_of_setting
    from perfmodel.model.transformers.job import job_of
    from perfmodel.model.transformers.memory import host_bytes_of, host_known_of, known_of
    from perfmodel.model.transformers.memory import memory_of as memory_of_job

    job = job_of(case_of_setting(setting)) if job is None else job
    memory, capacity = memory_of_job(job), setting.accelerator.memory_capacity
    within = partial(largest_micro_batch, job)
    return Need(
        memory._asdict(),
        memory.total,
        capacity,
        partial(within, capacity),
        within,
        partial(known_of, job),
        host_bytes_of(job) * setting.accelerators_per_node,
        setting.node.host_memory_bytes.value if setting.node.host_memory_bytes else None,
        host_known_of(job) * setting.accelerators_per_node,
    )


def memory_needed(setting: Setting, constants: Calibration, need: Need | None = None) -> Memory:
    """Return the memory of the fullest accelerator of one job, and the probability that it fits.

    Parameters
    ----------
    setting, constants : of the job
    need : result of ``need_of``, if already computed
    """
    need = need_of(setting, constants) if need is None else need
    needed, capacity, there = need.bytes, need.capacity, need.host_capacity
    largest, batch = need.largest_local_batch_size, setting.local_batch_size
    rows, unknown = {name: float(size) for name, size in need.rows.items()}, not_stated(setting)
    known = float(need.known(unknown))
    odds = odds_of(float(needed), known, capacity, unknown)
    sure = partial(need.largest_within, sure_need(capacity, unknown))
    sure_there = None if there is None else sure_need(there, ())
    odds = odds._replace(fits_probability=float(odds.fits_probability * host_chance(need)))
    return Memory.model_construct(
        bytes=float(needed),
        capacity=capacity,
        fits=bool(need.fits),
        known_bytes=known,
        host_bytes=float(need.host_bytes),
        host_capacity=there if need.host_bytes else None,
        **odds._asdict(),
        not_stated=unknown,
        largest_local_batch_size=partial(checked, _whole, largest, _within_host(need, batch, there))
        if callable(largest)
        else int(largest),
        largest_sure_batch_size=partial(checked, _whole, sure, _within_host(need, batch, sure_there)),
        rows=rows,
        devices=_devices(setting, rows),
    )


def host_chance(need: Need) -> Any:
    """Return the probability that the hosts have the memory that a job needs there; 1 where it is not known.

    The law is that of an accelerator's memory where all options are stated: no peaks of hosts were measured.
    """
    if need.host_capacity is None or (isinstance(need.host_bytes, float) and not need.host_bytes):
        return 1.0
    return stated_odds(need.host_bytes, need.host_known, need.host_capacity).fits_probability


def _within_host(need: Need, batch: float, capacity: float | None) -> float:
    """Return the largest batch whose states and activations find room in the hosts' memory.

    Parameters
    ----------
    need : of a job with a batch
    batch : that batch
    capacity : of a host, as far as it is to be used [B]; None: not known
    """
    if capacity is None or not need.host_bytes:
        return math.inf
    if need.host_bytes <= need.host_known:
        return math.inf if need.host_bytes <= capacity else 0.0
    return float(batch * max(0.0, capacity - need.host_known) / (need.host_bytes - need.host_known))


def _whole(number: Callable[[], Any], most: float) -> int:
    """Call a function and return its result as a whole number, at most as many."""
    return int(min(number(), most))


def unfit(setting: Setting, constants: Calibration) -> str | None:
    """Return the warning for a setting that does not fit into memory; None if it fits."""
    memory = memory_needed(setting, constants)
    return None if memory.fits else does_not_fit(setting, memory)


def _devices(setting: Setting, rows: dict[str, float]) -> list[DeviceMemory]:
    """Return the memory of the first accelerator and of the others, if they differ."""
    others = other_accelerators_rows(setting, rows)
    if others is None:
        return []
    return [
        DeviceMemory.model_construct(first=first, count=count, bytes=float(sum(each.values())), rows=each)
        for first, count, each in ((0, 1, rows), (1, setting.world_size - 1, others))
    ]


def does_not_fit(setting: Setting, memory: Memory) -> str:
    """Return a warning with the memory needed, the memory available, and the largest batch that fits."""
    if memory.lacks_host:
        return f"{memory.verdict}: {memory.host_words}"
    gib, batch = 2**30, "batch" if setting.layout is None else "micro-batch"
    needed = f"{memory.verdict}: {memory.bytes / gib:.1f} GiB needed, {memory.capacity / gib:.1f} GiB there"
    if memory.states_exceed is not None:
        needed += f", and {memory.states_exceed}"
    if memory.largest_local_batch_size:
        return f"{needed}; {largest_words(memory, batch)}"
    others = "" if setting.layout is None else "; perfmodel layouts lists what would"
    return f"{needed}; not even a {batch} of 1 does{others}"


def largest_words(memory: Memory, batch: str) -> str:
    """Return in words the largest batch that fits: that which surely does or, if none does, with its odds.

    Parameters
    ----------
    memory : of a job of which a batch of 1 fits with even odds
    batch : ``batch`` or ``micro-batch``
    """
    if memory.largest_sure_batch_size:
        return f"the largest {batch} that surely does is {memory.largest_sure_batch_size}"
    return f"the largest {batch} that does, with even odds, is {memory.largest_local_batch_size}"


def largest_micro_batch(job: Job, capacity: float) -> Any:
    """Return the largest micro-batch that fits with the same number of passes; 0 if none does.

    Memory of each stage of a pipeline is linear in the micro-batch, with a smaller slope while activations
    are smaller than the gradients that replace them.

    Parameters
    ----------
    job : one job, or many as arrays
    capacity : of an accelerator [B]
    """
    from perfmodel.model.transformers.memory import memory_of_stages

    def most(micro: float) -> list[Any]:
        layouts = (job.layout._replace(micro_batch_size=each) for each in (micro, micro + 1))
        sizes = (memory_of_stages(job._replace(layout=layout)) for layout in layouts)
        ends = ((now.total, larger.total) for now, larger in zip(*sizes, strict=True))
        return [micro + (capacity - now) / ops.maximum(larger - now, 1.0) for now, larger in ends]

    *before, last = (
        ops.maximum(0.0, ops.floor(ops.minimum(*each))) for each in zip(most(1.0), most(MANY), strict=True)
    )
    fewest = last
    for each in before:
        fewest = ops.minimum(fewest, each)
    return ops.where(job.layout.pipeline_parallel > 1, fewest, last)
