"""Options of a transformer's kernels and memory: what they mean, and where they cannot be."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from perfmodel.core.errors import refusal
from perfmodel.model.options.layout import ZERO_3

if TYPE_CHECKING:
    from collections.abc import Callable

    from perfmodel.hardware.accelerator import Accelerator
    from perfmodel.hardware.software import Release
    from perfmodel.model.options.layout import Layout
    from perfmodel.model.options.scenario import Scenario
    from perfmodel.workloads.architecture import Architecture


class Modules(NamedTuple):
    """Modules of a layer that selective recomputation computes again, by Megatron-Core's names."""

    core_attn: bool = False
    moe_act: bool = False
    layernorm: bool = False
    mla_up_proj: bool = False
    mlp: bool = False
    moe: bool = False


class Offloaded(NamedTuple):
    """What lies in the host's memory."""

    optimizer: bool = False
    """Optimizer states, which the host then updates."""
    activations: bool = False
    weights: bool = False
    """Shards of weights, with their gradients."""


OFFLOADED: dict[str | None, Offloaded] = {
    None: Offloaded(),
    "optimizer": Offloaded(optimizer=True),
    "activations": Offloaded(activations=True),
    "both": Offloaded(optimizer=True, activations=True),
    "weights": Offloaded(optimizer=True, weights=True),
    "all": Offloaded(optimizer=True, activations=True, weights=True),
}
"""Values of ``--offload`` -> what they move; FSDP and DeepSpeed move weights with all that is updated."""
OF_EXPERTS = ("moe_act", "moe")
HOPPER = 9.0
"""CUDA compute capability that FlashAttention 3 needs."""
IN_BACKWARD = "adam-in-backward"


def modules_of(text: str | None) -> Modules | None:
    """Return the modules that a text names, separated by commas; None for no text.

    Raises
    ------
    InputError : an unknown module

    >>> modules_of("moe_act, layernorm").layernorm
    True
    """
    if text is None:
        return None
    names = [name.strip() for name in text.split(",") if name.strip()]
    for name in names:
        if name not in Modules._fields:
            raise refusal("kept.module", "recompute_modules", name=name, known=", ".join(Modules._fields))
    return Modules(**dict.fromkeys(names, True))


def recompute_of(scenario: Scenario, facts: Release) -> str:
    """Return the recomputation of a job: selective where modules are named, else by default the software's.

    Raises
    ------
    InputError : modules together with full recomputation, or with none
    """
    if scenario.recompute_modules is None:
        return scenario.recompute or facts.usual_recompute
    if scenario.recompute not in (None, "selective"):
        raise refusal("kept.recompute", "recompute_modules", "recompute", recompute=scenario.recompute)
    return "selective"


def options_of_software(scenario: Scenario, optimizer: str = "adam") -> dict[str, Any]:
    """Return the options of a job's software that a scenario states, by their names there."""
    host = OFFLOADED[scenario.offload]
    return {
        "attention_kernel": scenario.attention_kernel or "",
        "sequence_parallel": scenario.sequence_parallel,
        "modules": modules_of(scenario.recompute_modules),
        "loss": scenario.loss or "",
        "gradient_bytes": {"bf16": 2, "fp32": 4}.get(scenario.gradient_precision or ""),
        "host_update": host.optimizer,
        "host_activations": host.activations,
        "host_weights": host.weights,
        "optimizer": optimizer,
    }


def check_kept(
    scenario: Scenario,
    layout: Layout,
    model: Architecture,
    accelerator: Accelerator,
    software: tuple[str, Release],
    remark: Callable[[str], None],
) -> None:
    """Refuse options that cannot be, and warn of those that change nothing.

    Parameters
    ----------
    scenario, layout, model, accelerator : of the job
    software : its name and facts
    remark : called with each warning

    Raises
    ------
    InputError : a kernel that the accelerator lacks, modules that the network or the software lacks, or
        updates in the backward pass of gradients that are summed, or weights in the host's memory that
        replicas do not shard
    """
    name, facts = software
    capability = accelerator.compute_capability or 0.0
    if scenario.attention_kernel == "flash3" and capability < HOPPER:
        raise refusal("kept.flash3", "attention_kernel", accelerator=accelerator.id)
    if scenario.sequence_parallel is not None and layout.tensor_parallel == 1:
        word = "sequence-parallel" if scenario.sequence_parallel else "no-sequence-parallel"
        remark(f"--{word} changes nothing without --tensor-parallel of 2 or more")
    modules = modules_of(scenario.recompute_modules)
    if modules is not None:
        if facts.checkpoints_operations:
            raise refusal("kept.operations", "recompute_modules", software=name)
        if not model.experts and any(getattr(modules, each) for each in OF_EXPERTS):
            raise refusal("kept.experts", "recompute_modules")
        if modules.mlp and model.moe_layers == model.layers:
            remark("--recompute-modules mlp changes nothing: every layer has experts")
        if modules.mla_up_proj and not model.kv_rank:
            raise refusal("kept.latent", "recompute_modules")
    passes = layout.pipeline_parallel * layout.accumulation_steps
    if scenario.optimizer == IN_BACKWARD and passes > 1:
        raise refusal("kept.in_backward", "optimizer", optimizer=scenario.optimizer, passes=passes)
    if scenario.optimizer == "muon":
        remark("--optimizer muon: its products of gradients (Newton-Schulz) are left out of the time")
    host = OFFLOADED[scenario.offload]
    if host.activations:
        of_them = " of activations" if host.weights else ""
        remark(
            f"--offload {scenario.offload}: copies{of_them} to the host are taken as hidden by computation"
        )
    if host.weights and layout.sharding != ZERO_3:
        raise refusal("kept.host_weights", "offload", "sharding", offload=scenario.offload)
    if host.weights and not facts.offloads_weights:
        remark(f"{name} is not known to keep weights in the host's memory")
