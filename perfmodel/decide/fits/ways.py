"""Options that may save memory, by which a job is changed."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

from perfmodel.core.choices import ONE_PROCESS
from perfmodel.model.options.layout import RECOMPUTE, SHARDING, Layout
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
    "none": ("optimizer", "activations", "both"),
    "optimizer": ("both",),
    "activations": ("both",),
}
"""What lies in the host's memory -> what else could."""
UNKNOWN = "is not known to"
"""Words of a warning that the software may lack what an option needs."""
_DEGREES = ("tensor_parallel", "pipeline_parallel", "context_parallel", "expert_parallel")
_OTHER_TRAINING = ("optimizer", "lora", "sequence_length", "global_batch_size")
"""Options that change what is trained, how, or on what, not only where it lies."""
SHORTEST = 512
"""Shortest sequence that is proposed [tokens]."""


class Way(NamedTuple):
    """One option that saves memory, with a value of it."""

    kind: str
    """Ways of one kind exclude each other."""
    options: Options

    @property
    def changes_training(self) -> bool:
        """Whether it changes what is trained, how, or on what."""
        return any(name in self.options for name in _OTHER_TRAINING)


def ways_of(setting: Setting) -> Iterator[Way]:
    """Yield the options that may save memory."""
    yield from _smaller_batches(setting)
    if setting.layout is None:
        yield from _ways_of_copies(setting)
        return
    yield from _shorter_sequences(setting.workload.sequence_length or 0, setting.layout)
    layout, scenario = setting.layout, setting.scenario
    model, _ = network_of(setting.workload)
    for recompute in RECOMPUTE[int(layout.recompute) + 1 :]:
        yield Way("recompute", {"recompute": recompute})
    if layout.replicas > 1:
        yield from (Way("sharding", {"sharding": name}) for name in SHARDING[int(layout.sharding) + 1 :])
    if scenario.lora is None:
        yield from (Way("loss", {"loss": loss}) for loss in ("chunked", "fused"))
        yield Way("lora", {"lora": USUAL_RANK})
        yield Way("lora", {"lora": USUAL_RANK, "frozen_weights": "nf4"})
    else:
        narrower = NARROWER.get(scenario.frozen_weights or "16-bit", ())
        yield from (Way("lora", {"frozen_weights": stored}) for stored in narrower)
    kept_there = scenario.offload or "none"
    yield from (Way("offload", {"offload": what}) for what in MORE_OFFLOADED.get(kept_there, ()))
    if setting.optimizer in ("adam", "adam-bf16"):
        names = ("adam-bf16", "adam-8bit")[setting.optimizer == "adam-bf16" :]
        yield from (Way("optimizer", {"optimizer": name}) for name in names)
    if setting.accelerator.year >= FLASH_YEAR:
        yield Way("attention", {"attention_kernel": "flash2"})
    for name in _DEGREES:
        if name == "expert_parallel" and not model.experts:
            continue
        degree = int(getattr(layout, name))
        larger = (degree * 2**doubled for doubled in range(1, 7))
        yield from (Way(name, {name: each}) for each in larger if each <= setting.world_size)
    shared = layout.tensor_parallel * layout.pipeline_parallel * layout.context_parallel
    for times in (2, 4, 8):
        more = {"world_size": setting.world_size * times}
        yield Way(GPUS, more)
        if layout.global_batch_size * shared < more["world_size"]:  # not a sample for each replica
            yield Way(GPUS, {**more, "global_batch_size": int(layout.global_batch_size) * times})


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
