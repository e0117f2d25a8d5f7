"""Changes of a job's options that save memory, and what each costs in time."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from itertools import combinations
from typing import Any, NamedTuple

from perfmodel.core.choices import ONE_PROCESS
from perfmodel.core.errors import InputError
from perfmodel.hardware.catalogue.store import Catalogue
from perfmodel.model.fitted.calibration import Calibration
from perfmodel.model.options.layout import SHARDING, Layout
from perfmodel.model.options.scenario import Scenario
from perfmodel.model.prediction.assemble import settled, time_of
from perfmodel.model.prediction.memory import memory_needed
from perfmodel.model.prediction.result import Memory
from perfmodel.model.setting.resolve import Setting
from perfmodel.model.setting.sharing import has_layouts
from perfmodel.model.transformers.evaluate import network_of

Options = Mapping[str, Any]
USUAL_RANK = 16
"""Rank of adapters that is proposed: the default of Axolotl's and torchtune's examples."""
FLASH_YEAR = 2020
"""Year of the first accelerators with FlashAttention 2: Ampere's (Dao 2023)."""
MOST_TRIED = 3
"""Changes of so many options are tried only with the value of each that saves most."""
_DEGREES = ("tensor_parallel", "pipeline_parallel", "context_parallel", "expert_parallel")
_OTHER_TRAINING = ("optimizer", "lora", "sequence_length")
"""Options that change what is trained, how, or on what, not only where it lies."""
SHORTEST = 512
"""Shortest sequence that is proposed [tokens]."""


class Way(NamedTuple):
    """One option that saves memory, with a value of it."""

    kind: str
    """Ways of one kind exclude each other."""
    options: Options


class Changed(NamedTuple):
    """A changed job that fits."""

    options: Options
    """Changed options, by name."""
    setting: Setting
    """Of the changed job."""
    memory: Memory
    iteration_time: float
    """Of a step of the same batch, or of shorter sequences with as many tokens [s]."""
    same_training: bool
    """Whether optimizer, trained weights and samples are those of the job."""
    warnings: tuple[str, ...]
    """What is possible and poor of it, or not known of the software, that is not said of the job itself."""

    @property
    def spent(self) -> float:
        """Accelerator-seconds of a step."""
        return float(self.iteration_time * self.setting.world_size)


def changes_of(
    scenario: Scenario,
    setting: Setting,
    confidence: float,
    catalogue: Catalogue,
    constants: Calibration,
) -> list[Changed]:
    """Return the changes of single options by which a job comes to fit; if none does, pairs, then triples.

    If no triple does either, those that come closest are returned, the least memory first.
    The batch of a step stays, of shorter sequences its tokens.  Changes that leave the training itself as it
    is come first, of these those that nothing warns of, and of these the cheapest in accelerator-seconds a
    step.

    Parameters
    ----------
    scenario, setting : the job as stated, and with its defaults
    confidence : least probability with which a changed job fits
    catalogue, constants : as for ``predict``
    """
    job = _Job(scenario.model_copy(update=batch_of(setting)), setting, confidence, catalogue, constants)
    ways = list(_ways(setting))
    for count in range(1, MOST_TRIED):
        if fitting := _of_each(job, ways, count):
            return sorted(_least_of_each(fitting), key=_cost)
    smallest = _smallest(job, ways)
    if fitting := _of_each(job, smallest, MOST_TRIED):
        return sorted(_least_of_each(fitting), key=_cost)
    closest = _of_each(job._replace(confidence=0.0), smallest, MOST_TRIED)
    return sorted(closest, key=lambda changed: changed.memory.bytes)


def _of_each(job: _Job, ways: list[Way], count: int) -> list[Changed]:
    """Return the jobs that fit with so many ways, each of another kind."""
    return [
        changed
        for chosen in combinations(ways, count)
        if len({way.kind for way in chosen}) == count and (changed := _changed(job, chosen)) is not None
    ]


def _smallest(job: _Job, ways: list[Way]) -> list[Way]:
    """Return of each kind of way the one that leaves the least memory, if it saves any."""
    sizes: dict[str, tuple[float, Way]] = {}
    before = memory_needed(job.setting, job.constants).bytes
    for way in ways:
        try:
            size = memory_needed(*settled(job.changed(way.options), job.catalogue, job.constants)).bytes
        except (InputError, FloatingPointError, OverflowError):
            continue
        if size < min(before, sizes[way.kind][0] if way.kind in sizes else before):
            sizes[way.kind] = size, way
    return [way for _, way in sizes.values()]


def _cost(changed: Changed) -> tuple[bool, bool, float]:
    return (
        not changed.same_training,
        bool(changed.warnings),
        changed.spent,
    )


def _least_of_each(changes: list[Changed]) -> list[Changed]:
    """Return of the changes of the same options only the cheapest."""
    result: dict[frozenset[str], Changed] = {}
    for one in sorted(changes, key=_cost):
        result.setdefault(frozenset(one.options), one)
    return list(result.values())


def batch_of(setting: Setting) -> dict[str, Any]:
    """Return the options that hold the batch of a job as it is."""
    layout = setting.layout
    if layout is None:
        return {
            "local_batch_size": int(setting.local_batch_size),
            "accumulation_steps": int(setting.accumulation_steps),
            "global_batch_size": None,
        }
    return {
        "micro_batch_size": int(layout.micro_batch_size),
        "global_batch_size": int(layout.global_batch_size),
        "local_batch_size": None,
        "accumulation_steps": None,
    }


def _ways(setting: Setting) -> Iterator[Way]:
    """Yield the options that may save memory."""
    yield from _smaller_batches(setting)
    if setting.layout is None:
        yield from _ways_of_copies(setting)
        return
    yield from _shorter_sequences(setting.workload.sequence_length or 0, setting.layout)
    layout, scenario = setting.layout, setting.scenario
    model, _ = network_of(setting.workload)
    for recompute in ("selective", "full"):
        yield Way("recompute", {"recompute": recompute})
    if layout.replicas > 1:
        yield from (Way("sharding", {"sharding": name}) for name in SHARDING[int(layout.sharding) + 1 :])
    if scenario.lora is None:
        yield from (Way("loss", {"loss": loss}) for loss in ("chunked", "fused"))
        yield from (Way("offload", {"offload": what}) for what in ("optimizer", "activations", "both"))
        yield from (Way("optimizer", {"optimizer": name}) for name in ("adam-bf16", "adam-8bit"))
        yield Way("lora", {"lora": USUAL_RANK})
        yield Way("lora", {"lora": USUAL_RANK, "frozen_weights": "nf4"})
    elif scenario.frozen_weights is None:
        yield Way("lora", {"frozen_weights": "nf4"})
    if setting.accelerator.year >= FLASH_YEAR:
        yield Way("attention", {"attention_kernel": "flash2"})
    for name in _DEGREES:
        if name == "expert_parallel" and not model.experts:
            continue
        degree = int(getattr(layout, name))
        larger = (degree * 2**doubled for doubled in range(1, 7))
        yield from (Way(name, {name: each}) for each in larger if each <= setting.world_size)
    yield from (Way("gpus", {"world_size": setting.world_size * times}) for times in (2, 4, 8))


def _ways_of_copies(setting: Setting) -> Iterator[Way]:
    """Yield the options of a data-parallel job that may save memory."""
    if has_layouts(setting.workload):
        yield Way("sharding", {"sharding": "zero3"})
        yield Way("recompute", {"recompute": "full"})
    if setting.precision in ("fp32", "tf32") and "fp16" in setting.accelerator.peak_flops:
        yield Way("precision", {"precision": "amp"})
    if setting.strategy == ONE_PROCESS:
        yield Way("strategy", {"strategy": "all-reduce"})


def _smaller_batches(setting: Setting) -> Iterator[Way]:
    """Yield micro-batches of half as many samples, a quarter and so on, with as many more passes."""
    size = "local_batch_size" if setting.layout is None else "micro_batch_size"
    now, times = int(setting.local_batch_size), 2
    while now % times == 0:
        options: dict[str, Any] = {size: now // times}
        if setting.layout is None:
            options["accumulation_steps"] = int(setting.accumulation_steps) * times
        yield Way("batch", options)
        times *= 2


def _shorter_sequences(length: int, layout: Layout) -> Iterator[Way]:
    """Yield sequences of half the length, a quarter and an eighth, with as many tokens in a step."""
    for times in (2, 4, 8):
        if length % times == 0 and length // times >= SHORTEST:
            batch = int(layout.global_batch_size) * times
            yield Way("sequence", {"sequence_length": length // times, "global_batch_size": batch})


class _Job(NamedTuple):
    """A job to change, and what its changes are predicted with."""

    scenario: Scenario
    """With its batch stated."""
    setting: Setting
    confidence: float
    catalogue: Catalogue
    constants: Calibration

    def changed(self, options: Options) -> Scenario:
        """Return the job with other values of some options."""
        return self.scenario.model_copy(update=dict(options))


def _changed(job: _Job, ways: tuple[Way, ...]) -> Changed | None:
    """Return a changed job with its time; None if it is refused or does not fit."""
    options = {name: value for way in ways for name, value in way.options.items()}
    try:
        setting, constants = settled(job.changed(options), job.catalogue, job.constants)
        memory = memory_needed(setting, constants)
        if memory.probability < job.confidence:
            return None
        time = time_of(setting, constants)
    except (InputError, FloatingPointError, OverflowError):
        return None
    same = not any(name in options for name in _OTHER_TRAINING)
    new = tuple(line for line in setting.warnings if line not in job.setting.warnings)
    return Changed(options, setting, memory, time, same, new)
