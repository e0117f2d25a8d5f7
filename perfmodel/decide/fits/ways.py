"""Options that may save memory, by which a job is changed."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple, Protocol

from perfmodel.core.choices import ONE_PROCESS
from perfmodel.hardware.software import default_for_layouts, parts
from perfmodel.model.options.kept import OFFLOADED
from perfmodel.model.options.layout import RECOMPUTE, SHARDING, ZERO_3, Layout
from perfmodel.model.setting.resolve import Setting
from perfmodel.model.setting.sharing import has_layouts
from perfmodel.model.transformers.evaluate import network_of

Options = Mapping[str, Any]
USUAL_RANK = 16
"""Rank of adapters that is proposed: the default of Axolotl's and torchtune's examples."""
FLASH_YEAR = 2020
"""Year of the first accelerators with FlashAttention 2: Ampere's (Dao 2023)."""
GPUS = "gpus"
"""Kind of the ways that take more accelerators."""
NARROWER = {"16-bit": ("nf4", "nf4-double"), "nf4": ("nf4-double",)}
"""Storage of frozen weights -> those that take less."""
MORE_OFFLOADED = {
    "none": ("optimizer", "activations", "both", "weights", "all"),
    "optimizer": ("both", "weights", "all"),
    "activations": ("both", "all"),
    "both": ("all",),
    "weights": ("all",),
}
"""What lies in the host's memory -> what else could."""
_UNKNOWN = "is not known to"
"""Words of a warning that the software may lack what an option needs."""
_DEGREES = ("tensor_parallel", "pipeline_parallel", "context_parallel", "expert_parallel")
_OTHER_TRAINING = ("optimizer", "lora", "sequence_length", "global_batch_size")
"""Options that change what is trained, how, or on what, not only where it lies."""
SHORTEST = 512
"""Shortest sequence that is proposed [tokens]."""


def unknown_of(warnings: Iterable[str]) -> list[str]:
    """Return the warnings that the software is not known to do what a job asks."""
    return [line for line in warnings if _UNKNOWN in line]


class Warned(Protocol):
    """A change of options with its warnings."""

    @property
    def warnings(self) -> Sequence[str]:
        """What is possible and poor of it, or not known of the software."""


def is_known(change: Warned) -> bool:
    """Return whether a job's software is known to do a change."""
    return not unknown_of(change.warnings)


class Way(NamedTuple):
    """One option that saves memory, with a value of it."""

    kind: str
    """Ways of one kind exclude each other."""
    options: Options
    keeps_samples: bool = True
    """Whether a step has as many samples, by what its options do not say themselves."""

    @property
    def changes_training(self) -> bool:
        """Whether it changes what is trained, how, or on what."""
        return not self.keeps_samples or any(name in self.options for name in _OTHER_TRAINING)


def ways_of(setting: Setting, sure_batch: int) -> Iterator[Way]:
    """Yield the options that may save memory on the accelerators of a job.

    Parameters
    ----------
    setting : of the job
    sure_batch : largest batch of a pass that surely fits [samples]; 0: none does
    """
    yield from _smaller_batches(setting, sure_batch)
    if setting.layout is None:
        yield from _ways_of_copies(setting)
        return
    yield from _shorter_sequences(setting.workload.sequence_length or 0, setting.layout)
    layout, scenario = setting.layout, setting.scenario
    for recompute in RECOMPUTE[int(layout.recompute) + 1 :]:
        yield Way("recompute", {"recompute": recompute})
    is_open = scenario.framework is None and scenario.strategy != "fsdp"
    usual = default_for_layouts("nf4", setting.accelerator.is_tpu)
    software: Options = {"framework": usual} if is_open and parts(setting.software_name)[0] != usual else {}
    if scenario.lora is None:
        yield from (Way("loss", {"loss": loss}) for loss in ("chunked", "fused"))
        yield Way("lora", {"lora": USUAL_RANK})
        yield Way("lora", {"lora": USUAL_RANK, "frozen_weights": "nf4", **software})
    else:
        narrower = NARROWER.get(scenario.frozen_weights or "16-bit", ())
        yield from (Way("lora", {"frozen_weights": stored, **software}) for stored in narrower)
    yield from _offloads(setting)
    if setting.optimizer in ("adam", "adam-bf16"):
        names = ("adam-bf16", "adam-8bit")[setting.optimizer == "adam-bf16" :]
        yield from (Way("optimizer", {"optimizer": name}) for name in names)
    if setting.accelerator.year >= FLASH_YEAR:
        yield Way("attention", {"attention_kernel": "flash2"})
    yield from sharing_ways(setting, setting.world_size)


def _offloads(setting: Setting) -> Iterator[Way]:
    """Yield what more may lie in the host's memory; weights where the software is known to move them."""
    for what in MORE_OFFLOADED.get(setting.scenario.offload or "none", ()):
        if not OFFLOADED[what].weights:
            yield Way("offload", {"offload": what})
        elif setting.framework.offloads_weights:
            shards = setting.layout is not None and setting.layout.sharding == ZERO_3
            yield Way("offload", {"offload": what} if shards else {"offload": what, "sharding": "zero3"})


def sharing_ways(setting: Setting, world_size: int) -> Iterator[Way]:
    """Yield the options that share a network among accelerators; none without a layout.

    Parameters
    ----------
    setting : of the job
    world_size : accelerators that it then has
    """
    layout = setting.layout
    if layout is None:
        return
    if world_size > _shared(layout):
        yield from (Way("sharding", {"sharding": name}) for name in SHARDING[int(layout.sharding) + 1 :])
    model, _ = network_of(setting.workload)
    for name in _DEGREES:
        if name == "expert_parallel" and not model.experts:
            continue
        degree = int(getattr(layout, name))
        larger = (degree * 2**doubled for doubled in range(1, 7))
        yield from (Way(name, {name: each}) for each in larger if each <= world_size)


def more_gpus(setting: Setting) -> Iterator[list[Way]]:
    """Yield the ways to take 2, 4 and 8 times as many accelerators; none without a layout.

    The batch of a step stays as it is.  Where it has no sample for each replica, a second way has as many
    times the samples.
    """
    layout = setting.layout
    if layout is None:
        return
    for times in (2, 4, 8):
        more = {"world_size": setting.world_size * times}
        ways = [Way(GPUS, more)]
        if layout.global_batch_size * _shared(layout) < more["world_size"]:
            ways.append(Way(GPUS, {**more, "global_batch_size": int(layout.global_batch_size) * times}))
        yield ways


def _shared(layout: Layout) -> int:
    """Return the accelerators of one replica."""
    return int(layout.tensor_parallel * layout.pipeline_parallel * layout.context_parallel)


def _ways_of_copies(setting: Setting) -> Iterator[Way]:
    """Yield the options of a data-parallel job that may save memory."""
    if has_layouts(setting.workload):
        yield Way("sharding", {"sharding": "zero3"})
        yield Way("recompute", {"recompute": "full"})
    if setting.precision in ("fp32", "tf32") and "fp16" in setting.accelerator.peak_flops:
        yield Way("precision", {"precision": "amp"})
    if setting.strategy == ONE_PROCESS:
        yield Way("strategy", {"strategy": "all-reduce"})


def _smaller_batches(setting: Setting, sure: int) -> Iterator[Way]:
    """Yield smaller batches of a pass, with as many more passes.

    Those are half the samples, a quarter and so on, the most that surely fit and divide the batch, and 1;
    and the fewest passes of batches that surely fit, with a few samples more where they do not divide it.
    """
    now = int(setting.local_batch_size)
    sizes, half = {1: now}, 2
    while now % half == 0:
        sizes[now // half] = half
        half *= 2
    if 0 < sure < now:
        largest = next(size for size in range(sure, 0, -1) if now % size == 0)
        sizes[largest] = now // largest
        passes = -(-now // sure)
        sizes.setdefault(-(-now // passes), passes)
    for size, times in sorted(sizes.items(), reverse=True):
        if size < now:
            yield _passes(setting, size, times, size * times == now)


def _passes(setting: Setting, size: int, times: int, divides: bool) -> Way:
    """Return batches of a pass of another size, with some times the passes."""
    layout = setting.layout
    if layout is None:
        passes = int(setting.accumulation_steps) * times
        return Way("batch", {"local_batch_size": size, "accumulation_steps": passes}, divides)
    options = {"micro_batch_size": size}
    if not divides:
        options["global_batch_size"] = int(layout.global_batch_size / layout.micro_batch_size) * size * times
    return Way("batch", options)


def _shorter_sequences(length: int, layout: Layout) -> Iterator[Way]:
    """Yield sequences of half the length, a quarter and an eighth, with as many tokens in a step."""
    for times in (2, 4, 8):
        if length % times == 0 and length // times >= SHORTEST:
            batch = int(layout.global_batch_size) * times
            yield Way("sequence", {"sequence_length": length // times, "global_batch_size": batch})
