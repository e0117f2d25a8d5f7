"""Options and settings that start a transformer's job, by software."""

from __future__ import annotations

from typing import Any

from perfmodel.model.options.adapters import targets_of
from perfmodel.model.options.layout import FULL, SELECTIVE, ZERO_3, Layout
from perfmodel.model.setting.resolve import Setting
from perfmodel.model.transformers.evaluate import network_of
from perfmodel.model.transformers.flags import flags, with_chosen

_OPTIMIZERS = {"adam": "adamw_torch", "adam-8bit": "adamw_bnb_8bit", "adafactor": "adafactor", "muon": "muon"}
"""Optimizers by their names in transformers and Axolotl."""
_UNSTATED = (
    "attention_kernel", "recompute_modules", "loss", "gradient_precision", "schedule", "shard_group"
)  # fmt: skip
"""Options that the files of DeepSpeed, Accelerate and Axolotl have no setting for here."""
_TARGETS = {name: f"{name}_proj" for name in ("q", "k", "v", "o", "gate", "up", "down")}


def starts_of(setting: Setting) -> dict[str, list[str]]:
    """Return the lines that start a job of a transformer with a layout, by software that can run it.

    Parameters
    ----------
    setting : the job; of a network without a layout the answer is empty
    """
    layout = setting.layout
    if layout is None or setting.scenario.offload in ("activations", "both"):
        return {}
    model, length = network_of(setting.workload)
    result = {}
    if setting.scenario.lora is None:
        for name in ("megatron-core", "torchtitan"):
            lines = flags(name, layout, model, length, setting.precision)
            result[name] = with_chosen(lines, layout, setting.scenario)
    if _is_data_parallel(layout) and not any(getattr(setting.scenario, name) for name in _UNSTATED):
        if setting.scenario.lora is None and setting.optimizer == "adam":
            result |= {"deepspeed": _deepspeed(setting, layout), "fsdp": _fsdp(setting, layout)}
        result["axolotl"] = _axolotl(setting, layout, length)
    return {name: lines for name, lines in result.items() if lines}


def _is_data_parallel(layout: Layout) -> bool:
    """Return whether nothing but replicas shares the network."""
    degrees = layout.tensor_parallel, layout.pipeline_parallel, layout.expert_parallel
    return all(degree == 1 for degree in degrees) and layout.context_parallel == 1


def _deepspeed(setting: Setting, layout: Layout) -> list[str]:
    """Return the settings of DeepSpeed's file, JSON."""
    import json

    scenario = setting.scenario
    zero: dict[str, Any] = {"stage": int(layout.sharding)}
    if scenario.offload == "optimizer":
        zero["offload_optimizer"] = {"device": "cpu", "pin_memory": True}
    settings: dict[str, Any] = {
        "train_micro_batch_size_per_gpu": int(layout.micro_batch_size),
        "gradient_accumulation_steps": int(layout.accumulation_steps),
        "bf16": {"enabled": setting.precision != "fp16"},
        "zero_optimization": zero,
    }
    if setting.precision == "fp16":
        settings["fp16"] = {"enabled": True}
    return json.dumps(settings, indent=2).splitlines()


def _fsdp(setting: Setting, layout: Layout) -> list[str]:
    """Return the settings of Accelerate's file for FSDP2, YAML; none where gradients alone are sharded."""
    if layout.sharding != ZERO_3 or layout.recompute == SELECTIVE:
        return []
    yes = "true" if layout.recompute == FULL else "false"
    offloads = "true" if setting.scenario.offload == "optimizer" else "false"
    return [
        "distributed_type: FSDP",
        f"mixed_precision: {'fp16' if setting.precision == 'fp16' else 'bf16'}",
        f"num_processes: {setting.world_size}",
        f"num_machines: {setting.nodes}",
        "fsdp_config:",
        "  fsdp_version: 2",
        "  fsdp_reshard_after_forward: true",
        "  fsdp_auto_wrap_policy: TRANSFORMER_BASED_WRAP",
        f"  fsdp_activation_checkpointing: {yes}",
        f"  fsdp_offload_params: {offloads}",
    ]


def _axolotl(setting: Setting, layout: Layout, length: int) -> list[str]:
    """Return the settings of Axolotl's file, YAML; none for what it has no setting for."""
    scenario = setting.scenario
    optimizer = _OPTIMIZERS.get(setting.scenario.optimizer or "adam")
    if optimizer is None or layout.recompute == SELECTIVE or layout.sharding not in (0, ZERO_3):
        return []
    lines = [
        f"sequence_len: {length}",
        f"micro_batch_size: {int(layout.micro_batch_size)}",
        f"gradient_accumulation_steps: {int(layout.accumulation_steps)}",
        f"gradient_checkpointing: {'true' if layout.recompute == FULL else 'false'}",
        f"optimizer: {optimizer}",
        "bf16: true" if setting.precision != "fp16" else "fp16: true",
        "flash_attention: true",
    ]
    if scenario.document_length is not None:
        lines.append("sample_packing: true")
    if scenario.lora is not None:
        four = scenario.frozen_weights is not None
        lines += [f"adapter: {'qlora' if four else 'lora'}", f"lora_r: {scenario.lora}"]
        lines += ["load_in_4bit: true"] if four else []
        lines += ["lora_target_modules:", *(f"  - {_TARGETS[name]}" for name in _adapted(setting))]
    if layout.sharding == ZERO_3 and setting.world_size > 1:
        lines += ["fsdp_version: 2", "fsdp_config:", "  reshard_after_forward: true"]
        lines += ["  offload_params: true"] if scenario.offload == "optimizer" else []
    return lines


def _adapted(setting: Setting) -> list[str]:
    """Return the products with adapters, in the words of ``--lora-targets``."""
    model, _ = network_of(setting.workload)
    adapted = targets_of(setting.scenario.lora_targets, setting.framework.lora_targets, model)
    return [name for name in adapted if name in _TARGETS]
