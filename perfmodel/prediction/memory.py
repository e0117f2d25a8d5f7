"""Whether a job fits into the memory of its accelerators."""

from __future__ import annotations

from perfmodel.calibration import Calibration
from perfmodel.prediction.memory_odds import odds_of
from perfmodel.prediction.result import DeviceMemory, Memory
from perfmodel.resolve import Setting
from perfmodel.step.memory import memory_of, of_the_others


def memory_needed(setting: Setting, constants: Calibration) -> Memory:
    """Return what the fullest accelerator keeps of a network that each trains whole."""
    rows, needed, capacity, largest = memory_of(setting, constants)
    return Memory.model_construct(
        bytes=float(needed),
        capacity=capacity,
        fits=needed <= capacity,
        **odds_of(float(needed), capacity, [])._asdict(),
        largest_local_batch_size=largest,
        rows=rows,
        devices=_devices(setting, rows),
    )


def unfit(setting: Setting, constants: Calibration) -> str | None:
    """Return what ``predict`` says of a setting that does not fit into memory; None where it does."""
    if setting.layout is not None:
        from perfmodel.prediction.shared import unfit_layout

        return unfit_layout(setting)
    memory = memory_needed(setting, constants)
    return None if memory.fits else does_not_fit(memory)


def _devices(setting: Setting, rows: dict[str, float]) -> list[DeviceMemory]:
    """The memory of the first accelerator and of the others, where they differ."""
    others = of_the_others(setting, rows)
    if others is None:
        return []
    return [
        DeviceMemory.model_construct(first=first, count=count, bytes=float(sum(each.values())), rows=each)
        for first, count, each in ((0, 1, rows), (1, setting.world_size - 1, others))
    ]


def does_not_fit(memory: Memory) -> str:
    """Return what is needed, what there is, and the largest batch that fits."""
    gib = 2**30
    needed = f"{memory.verdict}: {memory.bytes / gib:.1f} GiB needed, {memory.capacity / gib:.1f} GiB there"
    if memory.largest_local_batch_size:
        return f"{needed}; the largest batch that does is {memory.largest_local_batch_size}"
    return f"{needed}; not even a batch of 1 does"
