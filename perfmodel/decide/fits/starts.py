"""Options and settings that start a transformer's job, by software."""

from __future__ import annotations

from perfmodel.model.options.adapters import targets_of
from perfmodel.model.options.kept import OFFLOADED
from perfmodel.model.options.layout import FULL, SELECTIVE, ZERO_3, Layout
from perfmodel.model.setting.resolve import Setting
from perfmodel.model.transformers.evaluate import network_of
from perfmodel.model.transformers.flags import flags, with_chosen
from perfmodel.model.transformers.start_files import is_data_parallel, start_lines

_OPTIMIZERS = {"adam": "adamw_torch", "adam-8bit": "adamw_bnb_8bit", "adafactor": "adafactor", "muon": "muon"}
"""Optimizers by their names in transformers and Axolotl."""
_UNSTATED = (
    "attention_kernel", "recompute_modules", "loss", "gradient_precision", "schedule", "shard_group",
)  # fmt: skip
"""Options that the file of Axolotl has no setting for here."""
_TARGETS = {name: f"{name}_proj" for name in ("q", "k", "v", "o", "gate", "up", "down")}


def starts_of(setting: Setting) -> dict[str, list[str]]:
    """Return the lines that start a job of a transformer with a layout, by software that can run it.

    Parameters
    ----------
    setting : the job; of a network without a layout the answer is empty
    """
    layout = setting.layout
    if layout is None:
        return {}
    model, length = network_of(setting.workload)
    result = {}
    if setting.scenario.lora is None:
        for name in ("megatron-core", "torchtitan"):
            lines = flags(name, layout, model, length, setting.precision)
            result[name] = with_chosen(lines, layout, setting.scenario)
    for name in ("deepspeed", "fsdp"):
        result[name] = start_lines(name, setting, layout, length)
    if is_data_parallel(layout) and not any(getattr(setting.scenario, name) for name in _UNSTATED):
        result["axolotl"] = _axolotl(setting, layout, length)
    return {name: lines for name, lines in result.items() if lines}


def _axolotl(setting: Setting, layout: Layout, length: int) -> list[str]:
    """Return the settings of Axolotl's file, YAML; none for what it has no setting for.

    Activations move to the host as its docs/gradient_checkpointing.qmd says (read 2026-11-28): with full
    recomputation the input of each layer, else all that the backward pass needs; its README has the command.
    """
    scenario = setting.scenario
    optimizer = _OPTIMIZERS.get(setting.scenario.optimizer or "adam")
    if layout.sharding == ZERO_3 and setting.world_size > 1 and optimizer == _OPTIMIZERS["adam-8bit"]:
        optimizer = "adamw_torch_8bit"  # FSDP2 refuses that of bitsandbytes
    host = OFFLOADED[scenario.offload]
    # what is updated on the host moves with the weights alone, and not the 8-bit optimizers, which need a GPU
    able = host.weights and scenario.optimizer != "adam-8bit" if host.optimizer else True
    if optimizer is None or layout.recompute == SELECTIVE or layout.sharding not in (0, ZERO_3) or not able:
        return []
    is_full = layout.recompute == FULL
    lines = [
        "# axolotl train FILE.yml, with base_model and datasets in it too",
        f"sequence_len: {length}",
        f"micro_batch_size: {int(layout.micro_batch_size)}",
        f"gradient_accumulation_steps: {int(layout.accumulation_steps)}",
        f"gradient_checkpointing: {'true' if is_full or host.activations else 'false'}",
        *([f"activation_offloading: {'hidden_states' if is_full else 'true'}"] if host.activations else []),
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
    if layout.sharding == ZERO_3 and (setting.world_size > 1 or host.weights):
        lines += ["fsdp_version: 2", "fsdp_config:", "  reshard_after_forward: true"]
        lines += ["  offload_params: true"] if host.weights else []
    return lines


def _adapted(setting: Setting) -> list[str]:
    """Return the products with adapters, in the words of ``--lora-targets``."""
    model, _ = network_of(setting.workload)
    adapted = targets_of(setting.scenario.lora_targets, setting.framework.lora_targets, model)
    return [name for name in adapted if name in _TARGETS]
